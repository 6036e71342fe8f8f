//! What has to be done about one Task.

use serde_json::{Value, json};

use crate::cluster::is_newer;
use crate::ownership;

/// What a migration brings all Tasks to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The version.
    pub version: &'static str,
    /// What was not written after this resource version may be stored at another version; `None`: nothing is.
    pub since: Option<String>,
    /// Whether managedFields are brought to the version as well. On the way back they are not: the controller writes v1.
    pub owners: bool,
}

/// What has to be done about one Task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Need {
    /// It may be stored at another version.
    pub storage: bool,
    /// Its managedFields name another version.
    pub owners: bool,
}

impl Goal {
    /// What has to be done about a Task that was read at the goal's version.
    #[must_use]
    pub fn need(&self, task: &Value) -> Need {
        let version = task["metadata"]["resourceVersion"].as_str();
        let version = version.unwrap_or_default();
        Need {
            storage: self
                .since
                .as_ref()
                .is_some_and(|since| !is_newer(version, since)),
            owners: self.owners && ownership::is_stale(task, self.version),
        }
    }

    /// The merge patch that does it to this Task as it was read and to no other: neither to a later state of it nor to one that was
    /// created under the same name. It changes no field; the API server writes the object because its stored form changes.
    #[must_use]
    pub fn patch(&self, task: &Value) -> Value {
        let metadata = &task["metadata"];
        let mut patch = json!({"metadata": {
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        }});
        if self.owners
            && let Some(entries) = ownership::rewritten(task, self.version)
        {
            patch["metadata"]["managedFields"] = entries.into();
        }
        patch
    }
}

impl Need {
    /// Whether anything has to be done.
    #[must_use]
    pub fn any(&self) -> bool {
        self.storage || self.owners
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(resource_version: &str, owner: &str) -> Value {
        json!({
            "apiVersion": "task.example.io/v1", "kind": "Task",
            "metadata": {
                "name": "a", "uid": "u", "resourceVersion": resource_version,
                "managedFields": [{"manager": "m", "operation": "Update", "apiVersion": owner, "fieldsV1": {"f:spec": {"f:image": {}}}}],
            },
            "spec": {"image": "a:1"},
        })
    }

    fn goal(since: Option<&str>) -> Goal {
        Goal {
            version: "v1",
            since: since.map(str::to_owned),
            owners: true,
        }
    }

    #[test]
    fn what_was_written_before_the_mark_is_rewritten_and_what_came_after_is_not() {
        let need = |version| goal(Some("100")).need(&task(version, "task.example.io/v1"));
        assert!(need("99").storage);
        assert!(need("100").storage);
        assert!(!need("101").any());
        assert!(!goal(None).need(&task("1", "task.example.io/v1")).any());
    }

    #[test]
    fn an_entry_of_the_old_version_is_rewritten_whenever_it_was_written() {
        let need = goal(Some("100")).need(&task("101", "task.example.io/v1alpha1"));
        assert_eq!(
            need,
            Need {
                storage: false,
                owners: true
            }
        );
    }

    #[test]
    fn a_patch_is_for_this_object_in_this_state_only() {
        let patch = goal(None).patch(&task("7", "task.example.io/v1"));
        assert_eq!(
            patch,
            json!({"metadata": {"uid": "u", "resourceVersion": "7"}})
        );
    }
}
