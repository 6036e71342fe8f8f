//! The children that a Task asks for. Pure: the same Task gives the same children, byte for byte.

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{Resource, ResourceExt};
use serde::Serialize;
use task_api_v1::{Task, names::CONFIG_MAP_SUFFIX};

use crate::names;

mod config_map;
mod deployment;
pub mod digest;
pub mod env;
pub mod labels;
mod service;

/// The objects that make up the workload of a Task, in the order in which they are applied.
#[derive(Clone, Debug, PartialEq)]
pub struct Children {
    /// `<name>-config`, first: the pods mount it.
    pub config_map: ConfigMap,
    /// `<name>`.
    pub service: Service,
    /// `<name>`.
    pub deployment: Deployment,
}

/// Why the children of a Task could not be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Task did not come from an API server: it has no namespace or no uid.
    #[error("the Task has no namespace or no uid")]
    NotStored,
    /// The configuration file could not be written as YAML.
    #[error("the configuration file cannot be written: {0}")]
    AppConf(#[source] serde_saphyr::ser_error::Error),
    /// A child could not be written as JSON.
    #[error("a child cannot be written as JSON: {0}")]
    Json(#[source] serde_json::Error),
}

/// The children that `task` asks for.
///
/// Every field that is set is one that the controller owns; all others are left to the API server's
/// defaults and to whoever sets them.
///
/// # Errors
/// None for a Task that an API server stored.
pub fn children(task: &Task) -> Result<Children, Error> {
    let owner = Owner::of(task)?;
    let config_map = config_map::config_map(&owner, &task.spec)?;
    let config_hash = hash(&config_map.data)?;
    Ok(Children {
        config_map: stamp(config_map)?,
        service: stamp(service::service(&owner, &task.spec))?,
        deployment: stamp(deployment::deployment(&owner, &task.spec, config_hash))?,
    })
}

/// The Task as far as its children carry it.
struct Owner {
    name: String,
    namespace: String,
    reference: OwnerReference,
}

impl Owner {
    fn of(task: &Task) -> Result<Self, Error> {
        Ok(Self {
            name: task.name_any(),
            namespace: task.namespace().ok_or(Error::NotStored)?,
            reference: OwnerReference {
                // Deletion in the foreground waits for the children.
                block_owner_deletion: Some(true),
                ..task.controller_owner_ref(&()).ok_or(Error::NotStored)?
            },
        })
    }

    fn config_map_name(&self) -> String {
        format!("{}{CONFIG_MAP_SUFFIX}", self.name)
    }

    /// The metadata of a child of this name.
    fn child(&self, name: String) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            namespace: Some(self.namespace.clone()),
            labels: Some(labels::labels(&self.name)),
            owner_references: Some(vec![self.reference.clone()]),
            ..ObjectMeta::default()
        }
    }
}

/// Notes on the child the hash of all the rest of it.
fn stamp<K: Resource + Serialize>(mut child: K) -> Result<K, Error> {
    let hash = hash(&child)?;
    child
        .annotations_mut()
        .insert(names::APPLIED_HASH.to_owned(), hash);
    Ok(child)
}

fn hash(value: &impl Serialize) -> Result<String, Error> {
    serde_json::to_vec(value)
        .map(|json| digest::hex(&json))
        .map_err(Error::Json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::task;

    #[test]
    fn the_children_of_a_task() {
        let children = children(&task("web").replicas(3).env("ENV", "prod").build()).unwrap();
        insta::assert_yaml_snapshot!("config_map", children.config_map);
        insta::assert_yaml_snapshot!("service", children.service);
        insta::assert_yaml_snapshot!("deployment", children.deployment);
    }

    #[test]
    fn an_edit_of_replicas_does_not_roll_the_pods() {
        let template = |task: &Task| children(task).unwrap().deployment.spec.unwrap().template;
        assert_eq!(
            template(&task("web").replicas(1).build()),
            template(&task("web").replicas(2).build())
        );
    }

    #[test]
    fn an_edit_of_the_environment_changes_the_config_hash() {
        let config_hash = |task: &Task| {
            let template = children(task).unwrap().deployment.spec.unwrap().template;
            template.metadata.unwrap().annotations.unwrap()[names::CONFIG_HASH].clone()
        };
        assert_ne!(
            config_hash(&task("web").env("A", "1").build()),
            config_hash(&task("web").env("A", "2").build())
        );
    }

    #[test]
    fn no_edit_of_the_spec_changes_the_selector() {
        let selector = |task: &Task| children(task).unwrap().deployment.spec.unwrap().selector;
        let plain = task("web").build();
        let other = task("web")
            .replicas(9)
            .port(1)
            .image("b")
            .env("A", "1")
            .build();
        assert_eq!(selector(&plain), selector(&other));
    }

    #[test]
    fn a_task_that_was_never_stored_has_no_children() {
        let task = Task::new("web", task_api_v1::TaskSpec::default());
        assert!(matches!(children(&task), Err(Error::NotStored)));
    }
}
