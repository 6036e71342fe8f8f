//! A child as the watch gives it: which one it is, and the parts that are looked at as text.

use std::{borrow::Cow, collections::BTreeMap, marker::PhantomData};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    ManagedFieldsEntry, ObjectMeta, OwnerReference, Time,
};
use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use crate::{compact::Compact, names::ANNOTATION_PREFIX, reconcile::scaled::is_scaling};

/// An object of kind `K`: one that has no parts but these.
///
/// Of the annotations there are only the controller's own, and of `managedFields` only who has scaled. The metadata that it has as a
/// [`Resource`] is what says which object it is, at which version, and whose; the labels and the annotations are in the object alone. It
/// can be decoded by `serde_json` only.
#[derive(Clone, Debug)]
pub struct Stored<K> {
    metadata: ObjectMeta,
    text: String,
    kind: PhantomData<fn() -> K>,
}

impl<K: DeserializeOwned> Stored<K> {
    /// The object.
    ///
    /// # Errors
    /// When it is not of this kind, which the API server does not let happen.
    pub fn object(&self) -> serde_json::Result<K> {
        serde_json::from_str(&self.text)
    }
}

impl<'de, K> Deserialize<'de> for Stored<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let parts = Parts::deserialize(deserializer)?;
        let text = serde_json::to_string(&parts).map_err(serde::de::Error::custom)?;
        Ok(Self {
            metadata: ObjectMeta {
                labels: None,
                annotations: None,
                managed_fields: None,
                ..parts.metadata
            },
            text,
            kind: PhantomData,
        })
    }
}

impl<K> From<&Stored<K>> for Compact {
    fn from(stored: &Stored<K>) -> Self {
        Self::new(&stored.text)
    }
}

#[cfg(test)]
impl<K: Serialize> Stored<K> {
    /// The object as the API server gives it.
    pub fn of(object: &K) -> Self {
        serde_json::from_str(&serde_json::to_string(object).unwrap()).unwrap()
    }
}

impl<K: Resource> Resource for Stored<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &Self::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &Self::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// The parts that are kept.
#[derive(Deserialize, Serialize)]
struct Parts {
    #[serde(deserialize_with = "slim")]
    metadata: ObjectMeta,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    immutable: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Box<RawValue>>,
}

/// The part of the metadata that is looked at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Slim {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    managed_fields: Option<Vec<Manager>>,
}

/// Who wrote, but not what.
#[derive(Deserialize)]
struct Manager {
    manager: Option<String>,
    subresource: Option<String>,
}

fn slim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ObjectMeta, D::Error> {
    let slim = Slim::deserialize(deserializer)?;
    let mut annotations = slim.annotations;
    if let Some(annotations) = &mut annotations {
        annotations.retain(|name, _| name.starts_with(ANNOTATION_PREFIX));
    }
    let managers = slim.managed_fields.into_iter().flatten();
    let scaling: Vec<_> = managers
        .map(|entry| ManagedFieldsEntry {
            manager: entry.manager,
            subresource: entry.subresource,
            ..ManagedFieldsEntry::default()
        })
        .filter(is_scaling)
        .collect();
    Ok(ObjectMeta {
        name: slim.name,
        namespace: slim.namespace,
        uid: slim.uid,
        resource_version: slim.resource_version,
        generation: slim.generation,
        deletion_timestamp: slim.deletion_timestamp,
        labels: slim.labels,
        annotations,
        owner_references: slim.owner_references,
        managed_fields: (!scaling.is_empty()).then_some(scaling),
        ..ObjectMeta::default()
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    };
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        fixtures::{rolled_out, stored, task},
        reconcile::build,
    };

    fn comes_back<K>(object: &K)
    where
        K: DeserializeOwned + Serialize + std::fmt::Debug + PartialEq,
    {
        assert_eq!(Stored::of(object).object().unwrap(), *object);
    }

    #[test]
    fn what_a_pass_looks_at_comes_back_as_it_was() {
        let task = task("web").env("A", "1").build();
        let children = build::children(&task).unwrap();
        comes_back::<ConfigMap>(&stored(children.config_map));
        comes_back::<Service>(&stored(children.service));
        comes_back::<Deployment>(&rolled_out(stored(children.deployment), 1, 1, 1));
    }

    #[test]
    fn of_the_metadata_nothing_is_kept_that_is_not_looked_at() {
        let scaling =
            json!({"manager": "autoscaler", "subresource": "scale", "fieldsV1": {"f:spec": {}}});
        let object = json!({"metadata": {
            "name": "web", "creationTimestamp": "2026-01-02T03:04:05Z",
            "annotations": {"theirs": "x", "task.example.io/applied-hash": "h"},
            "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}, scaling],
        }});
        let kept = json!({"metadata": {
            "name": "web",
            "annotations": {"task.example.io/applied-hash": "h"},
            "managedFields": [{"manager": "autoscaler", "subresource": "scale"}],
        }});
        let read: Stored<Service> = serde_json::from_str(&object.to_string()).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&read.text).unwrap(), kept);
    }
}
