//! The defaults of a Task, as a JSON Patch.
//!
//! They are those of the schema, which the API server fills in too, but not in an object that has come from another version: there
//! it leaves them to the next reader. Filled in at the door, what is stored is what everybody reads.

use json_patch::jsonptr::PointerBuf;
use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::{Value, json};
use task_api_v1::{Completion, TaskSpec, defaults};

use super::place::given;

/// What has to be added to a Task so that nothing is left to a default; empty when there is nothing.
///
/// A null counts as absent, as it does for the API server. What is of the wrong type is left for the rules to refuse.
pub(super) fn missing(task: &str) -> Patch {
    let Some(spec) = given(task, "spec") else {
        return Patch(vec![addition(&["spec"], json!(TaskSpec::default()))]);
    };
    let mut additions = Vec::new();
    let mut fill = |container: &str, path: &[&str], fields: &[(&str, Value)]| {
        let missing = fields
            .iter()
            .filter(|(name, _)| container.starts_with('{') && given(container, name).is_none());
        additions.extend(
            missing.map(|(name, value)| addition(&[path, &[*name]].concat(), value.clone())),
        );
    };
    fill(
        spec,
        &["spec"],
        &[
            ("replicas", json!(defaults::replicas())),
            ("image", json!(defaults::image())),
            ("port", json!(defaults::port())),
        ],
    );
    if let Some(operation) = given(spec, "operation") {
        fill(
            operation,
            &["spec", "operation"],
            &[
                ("completion", json!(Completion::default())),
                ("timeout", json!(defaults::timeout())),
            ],
        );
    }
    Patch(additions)
}

/// An addition, which by RFC 6902 also replaces what stands there.
fn addition(path: &[&str], value: Value) -> PatchOperation {
    PatchOperation::Add(AddOperation {
        path: PointerBuf::from_tokens(path.iter().copied()),
        value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Task with the patch applied, by the crate that wrote it.
    fn filled(task: Value) -> Value {
        let patch = missing(&task.to_string());
        let mut task = task;
        json_patch::patch(&mut task, &patch).unwrap();
        task
    }

    #[test]
    fn what_is_left_out_is_filled_in() {
        let whole = json!({"replicas": 1, "image": "nginx:alpine", "port": 8080});
        for spec in [
            json!({"spec": {}}),
            json!({"spec": null}),
            json!({}),
            json!({"spec": {"replicas": null, "port": null}}),
        ] {
            assert_eq!(filled(spec)["spec"], whole);
        }
        let operation = json!({"provider": "p", "completion": null});
        assert_eq!(
            filled(json!({"spec": {"operation": operation}}))["spec"]["operation"],
            json!({"provider": "p", "completion": "Poll", "timeout": "1h"})
        );
    }

    #[test]
    fn what_is_there_stays_and_nothing_else_comes_to_be() {
        for spec in [
            json!({"replicas": 0, "image": "", "port": 1}),
            json!({"replicas": 0, "image": "a", "port": 1, "env": null, "operation": null, "more": {}}),
            json!({"replicas": "x", "image": 1, "port": [], "operation": "x"}),
            json!({"replicas": 1, "image": "a", "port": 1, "operation": {"completion": "Queue", "timeout": "90s"}}),
            json!("no spec at all"),
        ] {
            assert_eq!(
                missing(&json!({"spec": spec}).to_string()),
                Patch(Vec::new()),
                "{spec}"
            );
        }
    }
}
