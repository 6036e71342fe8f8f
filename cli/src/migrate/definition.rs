//! What the CustomResourceDefinition says of the storage, and the two things that a migration writes into it.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::json;
use task_api_v1::names::{GROUP, PLURAL};

use crate::names::{FIELD_MANAGER, MARK};

/// What the definition says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The version that objects are stored at when they are written.
    pub storage: String,
    /// The versions that are served.
    pub served: Vec<String>,
    /// The versions that objects may be stored at.
    pub stored: Vec<String>,
    /// It grows with each change of the spec.
    pub generation: i64,
    /// That of the definition itself.
    pub resource_version: String,
    /// Of the migration that was begun last, whatever it says.
    pub mark: Option<Mark>,
    /// When its spec was changed for the last time, as far as it is known.
    pub changed: Option<Timestamp>,
}

/// Where a migration began: whatever was written after that is stored at the storage version of then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// The storage version.
    pub storage: String,
    /// The definition's generation.
    pub generation: i64,
    /// The resource version of the list of all Tasks.
    pub since: String,
}

impl Definition {
    fn of(crd: &CustomResourceDefinition) -> Option<Self> {
        let versions = &crd.spec.versions;
        let status = crd.status.as_ref();
        let mark = crd.annotations().get(MARK);
        let changes = crd.managed_fields().iter();
        let changes = changes.filter(|entry| entry.subresource.is_none());
        Some(Self {
            storage: versions
                .iter()
                .find(|version| version.storage)?
                .name
                .clone(),
            served: versions
                .iter()
                .filter(|version| version.served)
                .map(|version| version.name.clone())
                .collect(),
            stored: status
                .and_then(|status| status.stored_versions.clone())
                .unwrap_or_default(),
            generation: crd.metadata.generation.unwrap_or_default(),
            resource_version: crd.resource_version().unwrap_or_default(),
            mark: mark.and_then(|mark| serde_json::from_str(mark).ok()),
            changed: changes
                .filter(|entry| entry.manager.as_deref() != Some(FIELD_MANAGER))
                .filter_map(|entry| entry.time.as_ref().map(|time| time.0))
                .max(),
        })
    }

    /// Whether objects may be stored at another version than they would be now.
    #[must_use]
    pub fn has_old_storage(&self) -> bool {
        self.stored.iter().any(|version| *version != self.storage)
    }

    /// The mark of a migration to what the definition says now.
    #[must_use]
    pub fn valid_mark(&self) -> Option<&Mark> {
        let mark = self.mark.as_ref()?;
        (mark.storage == self.storage && mark.generation == self.generation).then_some(mark)
    }

    /// Whether `other`, read later, has the same storage version by the same generation: nobody changed it in between.
    #[must_use]
    pub fn is_still(&self, other: &Self) -> bool {
        (&self.storage, self.generation) == (&other.storage, other.generation)
    }

    /// How much longer to wait until the last change is `settled` old.
    #[must_use]
    pub fn time_to_settle(&self, settled: Duration, now: Timestamp) -> Duration {
        let Some(changed) = self.changed else {
            return Duration::ZERO;
        };
        // A clock that is ahead is no reason to wait for longer.
        let age = Duration::try_from(now.duration_since(changed)).unwrap_or_default();
        settled.saturating_sub(age)
    }
}

/// The definition in the cluster.
#[derive(Clone)]
pub struct Definitions {
    api: Api<CustomResourceDefinition>,
}

impl Definitions {
    /// With this client.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self {
            api: Api::all(client),
        }
    }

    fn name() -> String {
        format!("{PLURAL}.{GROUP}")
    }

    /// The definition of Task as it is; `None` where it says nothing of its storage.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn read(&self) -> kube::Result<Option<Definition>> {
        Ok(Definition::of(&self.api.get(&Self::name()).await?))
    }

    /// Remembers that a migration has begun, or with `None` that it has ended. Nothing that the API server acts on changes.
    ///
    /// # Errors
    /// When it cannot be written; a conflict where somebody else changed the definition since it was read.
    pub async fn mark(&self, definition: &Definition, mark: Option<&Mark>) -> kube::Result<()> {
        let mark = mark.map(|mark| json!(mark).to_string());
        let patch = json!({"metadata": {
            "resourceVersion": definition.resource_version,
            "annotations": {MARK: mark},
        }});
        let params = PatchParams::apply(FIELD_MANAGER);
        self.api
            .patch(&Self::name(), &params, &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// Says that nothing is stored at another version than the storage version.
    ///
    /// # Errors
    /// When it cannot be written; a conflict where somebody else changed the definition since it was read.
    pub async fn trim(&self, definition: &Definition) -> kube::Result<()> {
        let patch = json!({
            "metadata": {"resourceVersion": definition.resource_version},
            "status": {"storedVersions": [definition.storage]},
        });
        let params = PatchParams::apply(FIELD_MANAGER);
        self.api
            .patch_status(&Self::name(), &params, &Patch::Merge(patch))
            .await?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(storage: &str, generation: i64, mark: Option<&str>) -> Definition {
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": "tasks.task.example.io", "generation": generation, "resourceVersion": "9",
                "annotations": mark.map(|mark| json!({MARK: mark})),
                "managedFields": [
                    {"manager": "kubectl", "operation": "Update", "time": "2026-01-01T00:00:10Z"},
                    {"manager": "kubectl-task", "operation": "Update", "time": "2026-01-01T00:01:00Z"},
                    {"manager": "kube-apiserver", "operation": "Update", "subresource": "status", "time": "2026-01-01T00:02:00Z"},
                ],
            },
            "spec": {
                "group": "task.example.io", "scope": "Namespaced", "names": {"kind": "Task", "plural": "tasks"},
                "versions": [
                    {"name": "v1", "served": true, "storage": storage == "v1"},
                    {"name": "v1alpha1", "served": false, "storage": storage == "v1alpha1"},
                ],
            },
            "status": {"storedVersions": ["v1alpha1", "v1"]},
        });
        Definition::of(&serde_json::from_value(crd).unwrap()).unwrap()
    }

    #[test]
    fn a_mark_counts_for_the_storage_version_and_the_generation_that_it_names() {
        let mark = r#"{"storage":"v1","generation":3,"since":"77"}"#;
        assert_eq!(
            definition("v1", 3, Some(mark)).valid_mark().unwrap().since,
            "77"
        );
        assert_eq!(definition("v1", 4, Some(mark)).valid_mark(), None);
        assert_eq!(definition("v1alpha1", 3, Some(mark)).valid_mark(), None);
        assert_eq!(definition("v1", 3, Some("?")).valid_mark(), None);
        assert_eq!(definition("v1", 3, None).valid_mark(), None);
    }

    #[test]
    fn a_storage_version_that_was_changed_and_changed_back_is_not_still_the_same() {
        assert!(definition("v1", 3, None).is_still(&definition("v1", 3, Some("{}"))));
        assert!(!definition("v1", 3, None).is_still(&definition("v1", 5, None)));
        assert!(!definition("v1", 3, None).is_still(&definition("v1alpha1", 3, None)));
    }

    #[test]
    fn a_change_settles_from_when_it_was_made() {
        let (definition, settled) = (definition("v1", 3, None), Duration::from_secs(10));
        for (now, left) in [
            ("2026-01-01T00:00:12Z", 8),
            ("2026-01-01T00:00:20Z", 0),
            ("2026-01-02T00:00:00Z", 0),
            ("2025-01-01T00:00:00Z", 10),
        ] {
            let time = definition.time_to_settle(settled, now.parse().unwrap());
            assert_eq!(time, Duration::from_secs(left), "{now}");
        }
    }
}
