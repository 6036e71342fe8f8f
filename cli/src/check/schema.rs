//! Whether objects that the installed schemas admit would still be admitted, and mean the same, by the new ones.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::report::{Report, Verdict};

/// Why the new definition cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its file cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// It is no definition.
    #[error("{} is no CustomResourceDefinition", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: Box<serde_saphyr::Error>,
    },
}

/// The definition of the file, or that of this program's version.
pub(super) fn new_definition(path: Option<&Path>) -> Result<CustomResourceDefinition, Error> {
    let Some(path) = path else {
        return Ok(task_crds::crd());
    };
    let text = fs::read_to_string(path).map_err(|source| Error::Io {
        path: path.to_owned(),
        source,
    })?;
    serde_saphyr::from_str(&text).map_err(|source| Error::Parse {
        path: path.to_owned(),
        source: Box::new(source),
    })
}

/// Compares the schemas of each version that both have.
pub(super) fn look(
    old: &CustomResourceDefinition,
    new: &CustomResourceDefinition,
    report: &mut Report,
) {
    let (old, new) = (schemas(old), schemas(new));
    for (version, old) in &old {
        let Some((_, new)) = new.iter().find(|(name, _)| name == version) else {
            report.add(
                Verdict::Note,
                "schema",
                version,
                "the new definition does not have this version",
            );
            continue;
        };
        let mut changes = Vec::new();
        compare(old, new, "", &mut changes);
        if changes.is_empty() {
            report.add(
                Verdict::Ok,
                "schema",
                version,
                "whatever was admitted is admitted, and means the same",
            );
        }
        for Change {
            path,
            verdict,
            what,
        } in changes
        {
            report.add(verdict, "schema", format!("{version} {path}"), what);
        }
    }
}

fn schemas(crd: &CustomResourceDefinition) -> Vec<(String, Value)> {
    let versions = crd.spec.versions.iter();
    versions
        .filter_map(|version| {
            let schema = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
            Some((version.name.clone(), serde_json::to_value(schema).ok()?))
        })
        .collect()
}

struct Change {
    path: String,
    verdict: Verdict,
    what: String,
}

/// Bounds that admit less where they are larger, and where they are smaller.
const LOWER: [&str; 4] = ["minimum", "minLength", "minItems", "minProperties"];
const UPPER: [&str; 4] = ["maximum", "maxLength", "maxItems", "maxProperties"];

/// The schema keeps what it does not know.
const OPEN: &str = "x-kubernetes-preserve-unknown-fields";

const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

/// How a list or map is merged, and what it is where nothing is said.
const KINDS: [(&str, Option<&str>); 3] = [
    ("x-kubernetes-list-type", Some("atomic")),
    ("x-kubernetes-list-map-keys", None),
    ("x-kubernetes-map-type", Some("granular")),
];

/// Whether it takes members of any name.
fn admits_any(schema: &Value) -> bool {
    let members = &schema["additionalProperties"];
    members.is_object() || *members == true
}

fn compare(old: &Value, new: &Value, path: &str, changes: &mut Vec<Change>) {
    let mut add = |verdict: Verdict, what: String| {
        changes.push(Change {
            path: path.to_owned(),
            verdict,
            what,
        });
    };
    let either =
        new[INT_OR_STRING] == true && (old["type"] == "integer" || old["type"] == "string");
    if old["type"] != new["type"] && !either {
        add(
            Verdict::Loss,
            format!("its type was {} and is {}", old["type"], new["type"]),
        );
    }
    if old["default"] != new["default"] {
        add(
            Verdict::Warn,
            format!(
                "its default was {} and is {}",
                old["default"], new["default"]
            ),
        );
    }
    for (bounds, narrower) in [(LOWER, f64::gt as fn(&f64, &f64) -> bool), (UPPER, f64::lt)] {
        for bound in bounds {
            let narrowed = match (old[bound].as_f64(), new[bound].as_f64()) {
                (None, Some(_)) => true,
                (Some(old), Some(new)) => narrower(&new, &old),
                _ => false,
            };
            if narrowed {
                add(
                    Verdict::Warn,
                    format!("its {bound} was {} and is {}", old[bound], new[bound]),
                );
            }
        }
    }
    if old[OPEN] == true && new[OPEN] != true {
        add(
            Verdict::Loss,
            "it does not keep unknown fields any more: the API server drops them".to_owned(),
        );
    }
    if admits_any(old) && !admits_any(new) && new[OPEN] != true {
        add(
            Verdict::Loss,
            "it takes no members of any name any more: the API server drops them".to_owned(),
        );
    }
    for flag in ["nullable", INT_OR_STRING] {
        if old[flag] == true && new[flag] != true {
            add(Verdict::Warn, format!("it is not {flag} any more"));
        }
    }
    for flag in ["exclusiveMinimum", "exclusiveMaximum", "uniqueItems"] {
        if old[flag] != true && new[flag] == true {
            add(Verdict::Warn, format!("it is {flag} now"));
        }
    }
    for (kind, default) in KINDS {
        let of = |schema: &Value| match &schema[kind] {
            Value::Null => default.map_or(Value::Null, Value::from),
            told => told.clone(),
        };
        if of(old) != of(new) {
            add(
                Verdict::Warn,
                format!("its {kind} was {} and is {}", of(old), of(new)),
            );
        }
    }
    for rule in [
        "pattern",
        "format",
        "multipleOf",
        "allOf",
        "anyOf",
        "oneOf",
        "not",
    ] {
        if !new[rule].is_null() && old[rule] != new[rule] {
            add(
                Verdict::Warn,
                format!("its {rule} was {} and is {}", old[rule], new[rule]),
            );
        }
    }
    let missing = |list: &str, from: &Value, to: &Value| -> Vec<String> {
        let of = |value: &Value| value[list].as_array().cloned().unwrap_or_default();
        let to = of(to);
        of(from)
            .iter()
            .filter(|item| !to.contains(item))
            .map(Value::to_string)
            .collect()
    };
    let gone = missing("enum", old, new);
    if !new["enum"].is_null() && (!gone.is_empty() || old["enum"].is_null()) {
        add(
            Verdict::Warn,
            format!("it takes one of {} only", new["enum"]),
        );
    }
    for name in missing("required", new, old) {
        add(Verdict::Warn, format!("{name} is required now"));
    }
    let rules = |schema: &Value| -> Vec<Value> {
        let rules = schema["x-kubernetes-validations"].as_array().cloned();
        rules
            .unwrap_or_default()
            .iter()
            .map(|rule| rule["rule"].clone())
            .collect()
    };
    let known = rules(old);
    for rule in rules(new).iter().filter(|rule| !known.contains(rule)) {
        add(Verdict::Warn, format!("it has the new rule {rule}"));
    }

    let empty = serde_json::Map::new();
    let properties = new["properties"].as_object().unwrap_or(&empty);
    for (name, old) in old["properties"].as_object().unwrap_or(&empty) {
        let below = format!("{path}.{name}");
        match properties.get(name) {
            Some(new) => compare(old, new, &below, changes),
            None if new[OPEN] == true || new["additionalProperties"] == true => {}
            None if new["additionalProperties"].is_object() => {
                compare(old, &new["additionalProperties"], &below, changes);
            }
            None => changes.push(Change {
                path: below,
                verdict: Verdict::Loss,
                what: "the field is gone: the API server drops it".to_owned(),
            }),
        }
    }
    for (member, suffix) in [("items", "[]"), ("additionalProperties", ".*")] {
        if old[member].is_object() && new[member].is_object() {
            compare(
                &old[member],
                &new[member],
                &format!("{path}{suffix}"),
                changes,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(old: Value, new: Value) -> Vec<(String, Verdict)> {
        let wrap = |schema| json!({"type": "object", "properties": {"a": schema}});
        let mut changes = Vec::new();
        compare(&wrap(old), &wrap(new), "", &mut changes);
        changes
            .into_iter()
            .map(|change| (change.path, change.verdict))
            .collect()
    }

    #[test]
    fn what_admits_less_or_means_something_else_is_told() {
        for (old, new, verdict) in [
            (
                json!({"type": "integer"}),
                json!({"type": "string"}),
                Verdict::Loss,
            ),
            (json!({"default": 1}), json!({"default": 2}), Verdict::Warn),
            (json!({}), json!({"maximum": 5}), Verdict::Warn),
            (json!({"minimum": 0}), json!({"minimum": 1}), Verdict::Warn),
            (json!({}), json!({"pattern": "a"}), Verdict::Warn),
            (
                json!({"additionalProperties": {"type": "string"}}),
                json!({}),
                Verdict::Loss,
            ),
            (
                json!({"x-kubernetes-preserve-unknown-fields": true}),
                json!({}),
                Verdict::Loss,
            ),
            (json!({"nullable": true}), json!({}), Verdict::Warn),
            (
                json!({"x-kubernetes-int-or-string": true}),
                json!({}),
                Verdict::Warn,
            ),
            (json!({}), json!({"exclusiveMinimum": true}), Verdict::Warn),
            (json!({}), json!({"multipleOf": 2}), Verdict::Warn),
            (json!({}), json!({"uniqueItems": true}), Verdict::Warn),
            (
                json!({}),
                json!({"x-kubernetes-list-type": "set"}),
                Verdict::Warn,
            ),
            (
                json!({"x-kubernetes-list-map-keys": ["a"]}),
                json!({"x-kubernetes-list-map-keys": ["b"]}),
                Verdict::Warn,
            ),
            (
                json!({}),
                json!({"not": {"required": ["a"]}}),
                Verdict::Warn,
            ),
            (
                json!({"enum": ["a", "b"]}),
                json!({"enum": ["a"]}),
                Verdict::Warn,
            ),
            (json!({}), json!({"required": ["b"]}), Verdict::Warn),
            (
                json!({}),
                json!({"x-kubernetes-validations": [{"rule": "r"}]}),
                Verdict::Warn,
            ),
        ] {
            assert_eq!(
                changes(old.clone(), new),
                [(".a".to_owned(), verdict)],
                "{old}"
            );
        }
    }

    #[test]
    fn what_admits_more_is_nothing_to_tell() {
        for (old, new) in [
            (json!({"maximum": 5}), json!({"maximum": 6})),
            (
                json!({"properties": {"b": {"type": "string"}}}),
                json!({"additionalProperties": {"type": "string"}}),
            ),
            (
                json!({"type": "integer"}),
                json!({"x-kubernetes-int-or-string": true}),
            ),
            (json!({"anyOf": [{"required": ["a"]}]}), json!({})),
            (json!({}), json!({"x-kubernetes-list-type": "atomic"})),
            (json!({"minLength": 5}), json!({})),
            (json!({"enum": ["a"]}), json!({"enum": ["a", "b"]})),
            (json!({"required": ["b"]}), json!({})),
            (
                json!({}),
                json!({"properties": {"new": {"type": "string"}}}),
            ),
        ] {
            assert_eq!(changes(old.clone(), new), [], "{old}");
        }
    }

    #[test]
    fn a_field_that_is_gone_is_a_loss_at_any_depth() {
        let field = json!({"items": {"properties": {"b": {"type": "string"}}}});
        assert_eq!(
            changes(field, json!({"items": {"properties": {}}})),
            [(".a[].b".to_owned(), Verdict::Loss)]
        );
    }

    #[test]
    fn this_programs_definition_is_compatible_with_itself() {
        let mut report = Report::of("check");
        look(&task_crds::crd(), &task_crds::crd(), &mut report);
        assert_eq!(report.findings.len(), 2);
        assert_eq!(report.verdict(), Verdict::Ok);
    }
}
