//! How the versions of Task stand to each other, field by field. To add a field to a version, add its line here.

mod env;
mod old_status;
mod parameters;
mod timeout;

use std::sync::LazyLock;

use crate::lens::Unchanged;
use crate::{Field, Kind, hub_only, mapped, old_name, same};

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
    hub_only("spec.operation.completion"),
    same("status.observedGeneration"),
    same("status.phase"),
    same("status.replicas"),
    same("status.availableReplicas"),
    same("status.selector"),
    same("status.lastUpdateTime"),
    same("status.conditions[type].type"),
    same("status.conditions[type].status"),
    same("status.conditions[type].reason"),
    same("status.conditions[type].message"),
    same("status.conditions[type].lastTransitionTime"),
    same("status.conditions[type].observedGeneration"),
    same("status.lastAsyncOperationID"),
    same("status.externalSystemURL"),
    same("status.failureDetails[code,message,timestamp].code"),
    same("status.failureDetails[code,message,timestamp].message"),
    same("status.failureDetails[code,message,timestamp].timestamp"),
    same("status.operation.phase"),
    same("status.operation.key"),
    same("status.operation.requestHash"),
    same("status.operation.attempts"),
    same("status.operation.startedAt"),
    same("status.operation.nextCheckAt"),
    same("status.operation.completedAt"),
    same("status.operation.result"),
    same("status.operation.lastEventID"),
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
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;

    /// The paths of a schema's leaves, as the table writes them.
    fn leaves(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
        let (schema, path) = match (
            schema["items"].as_object(),
            schema["x-kubernetes-list-map-keys"].as_array(),
        ) {
            (Some(_), Some(keys)) if !path.ends_with("env") => {
                let keys: Vec<_> = keys.iter().filter_map(Value::as_str).collect();
                (&schema["items"], format!("{path}[{}]", keys.join(",")))
            }
            (Some(items), None) if items.contains_key("properties") => {
                let members: Vec<_> = items["properties"]
                    .as_object()
                    .unwrap()
                    .keys()
                    .map(String::as_str)
                    .collect();
                (&schema["items"], format!("{path}[{}]", members.join(",")))
            }
            _ => (schema, path.to_owned()),
        };
        match schema["properties"].as_object() {
            Some(properties) => {
                for (name, property) in properties {
                    let below = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    leaves(property, &below, found);
                }
            }
            None => {
                found.insert(path);
            }
        }
    }

    fn schema_leaves(version: &str) -> BTreeSet<String> {
        let crd = serde_json::to_value(task_crds::crd()).unwrap();
        let versions = crd["spec"]["versions"].as_array().unwrap();
        let version = versions
            .iter()
            .find(|candidate| candidate["name"] == version)
            .unwrap();
        let mut found = BTreeSet::new();
        leaves(&version["schema"]["openAPIV3Schema"], "", &mut found);
        found.retain(|path| {
            !["apiVersion", "kind", "metadata"].contains(&path.as_str())
                && !path.starts_with("metadata.")
        });
        found
    }

    fn table_leaves(path: fn(&Field) -> &'static str) -> BTreeSet<String> {
        V1ALPHA1
            .iter()
            .map(path)
            .filter(|path| !path.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_table_has_every_leaf_of_both_schemas_and_no_other() {
        assert_eq!(table_leaves(|field| field.hub), schema_leaves("v1"));
        assert_eq!(table_leaves(|field| field.spoke), schema_leaves("v1alpha1"));
    }
}
