//! How the versions of Task stand to each other, field by field. To add a field to a version, add its line here.

mod completion;
mod env;
mod old_status;
mod parameters;
mod service;
mod timeout;

use std::sync::LazyLock;

use crate::lens::Unchanged;
use crate::{Field, Kind, hub_only, mapped, old_name, same};

pub use service::{MUTATE_PATH, VALIDATE_PATH, service};

/// Task, with v1 as its hub.
pub static TASK: LazyLock<Kind> =
    LazyLock::new(|| Kind::new("task.example.io", "Task", "v1", &[("v1alpha1", V1ALPHA1)]));

/// v1alpha1 beside v1.
pub const V1ALPHA1: &[Field] = &[
    same("spec.replicas"),
    same("spec.image"),
    same("spec.port"),
    mapped("spec.env", "spec.env", &env::Env),
    mapped("spec.operation.provider", "spec.provider", &Unchanged),
    mapped(
        "spec.operation.parameters",
        "spec.parameters",
        &parameters::Parameters,
    ),
    mapped(
        "spec.operation.timeout",
        "spec.timeoutSeconds",
        &timeout::TIMEOUT,
    ),
    hub_only("spec.operation.completion", completion::is_one),
    same("status"),
    old_name(
        "status.operation.phase",
        "status.taskStatus",
        &old_status::TaskStatus,
    ),
    old_name(
        "status.operation.result",
        "status.taskResult",
        &old_status::TaskResult,
    ),
    old_name(
        "status.operation.completedAt",
        "status.completedAt",
        &old_status::CompletedAt,
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::field::Role;

    type Paths = BTreeMap<String, Value>;

    /// The schemas of a version's fields by their paths, as far down as the table has lines.
    fn fields_of(version: &str, lines: &[&str]) -> Paths {
        let crd = serde_json::to_value(task_crds::crd()).unwrap();
        let versions = crd["spec"]["versions"].as_array().unwrap();
        let version = versions
            .iter()
            .find(|candidate| candidate["name"] == version)
            .unwrap();
        let mut found = Paths::new();
        collect(&version["schema"]["openAPIV3Schema"], "", lines, &mut found);
        found.retain(|path, _| !["apiVersion", "kind", "metadata"].contains(&path.as_str()));
        found
    }

    fn collect(schema: &Value, path: &str, lines: &[&str], found: &mut Paths) {
        let stop = lines.contains(&path) || path == "metadata";
        match schema["properties"].as_object() {
            Some(properties) if !stop => {
                for (name, property) in properties {
                    let below = [path, name].join(".").trim_matches('.').to_owned();
                    collect(property, &below, lines, found);
                }
            }
            _ => {
                found.insert(path.to_owned(), schema.clone());
            }
        }
    }

    /// The lines of the table that are fields of their own, by the path of one version.
    fn lines(path: fn(&Field) -> &'static str) -> Vec<&'static str> {
        V1ALPHA1
            .iter()
            .filter(|field| !matches!(field.role, Role::OldName(_)))
            .map(path)
            .filter(|path| !path.is_empty())
            .collect()
    }

    fn without_descriptions(schema: &Value) -> Value {
        match schema {
            Value::Object(members) => members
                .iter()
                // A property of that name has a schema, which is no string.
                .filter(|(key, value)| !(*key == "description" && value.is_string()))
                .map(|(key, value)| (key.clone(), without_descriptions(value)))
                .collect(),
            Value::Array(items) => items.iter().map(without_descriptions).collect(),
            scalar => scalar.clone(),
        }
    }

    /// Takes the schema of an old name out of those of its version.
    fn take_old_name(fields: &mut Paths, path: &str) -> Option<Value> {
        let (line, below) = fields.iter_mut().find_map(|(line, schema)| {
            Some((schema, path.strip_prefix(line)?.strip_prefix('.')?))
        })?;
        line["properties"].as_object_mut()?.remove(below)
    }

    #[test]
    fn the_table_has_every_leaf_of_both_schemas_and_no_other() {
        for (version, lines) in [
            ("v1", lines(|field| field.hub)),
            ("v1alpha1", lines(|field| field.spoke)),
        ] {
            let fields = fields_of(version, &lines);
            let mut lines = lines;
            lines.sort_unstable();
            assert_eq!(fields.keys().collect::<Vec<_>>(), lines, "{version}");
        }
    }

    #[test]
    fn what_the_table_calls_the_same_has_the_same_schema_in_both_versions() {
        let hub = fields_of("v1", &lines(|field| field.hub));
        let mut spoke = fields_of("v1alpha1", &lines(|field| field.spoke));
        for field in V1ALPHA1 {
            if matches!(field.role, Role::OldName(_)) {
                assert!(
                    take_old_name(&mut spoke, field.spoke).is_some(),
                    "{}",
                    field.spoke
                );
            }
        }
        for field in V1ALPHA1 {
            if matches!(field.role, Role::Same) {
                let (hub, spoke) = (&hub[field.hub], &spoke[field.spoke]);
                assert_eq!(
                    without_descriptions(hub),
                    without_descriptions(spoke),
                    "{}",
                    field.hub
                );
            }
        }
    }
}
