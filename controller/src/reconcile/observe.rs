//! What there is of a Task's children, from the caches: no request is made.

use std::sync::Arc;

use k8s_openapi::{
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
    apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference},
};
use kube::{Resource, ResourceExt, runtime::reflector::ObjectRef};
use serde::de::DeserializeOwned;
use task_api_v1::{
    Task,
    names::{GROUP, KIND},
};

use super::build::Children;
use crate::{cache::Cache, stored::Stored, watched::Watched};

/// The caches that the controller decides from. A clone is of the same ones.
#[derive(Clone)]
pub struct Caches {
    /// All Tasks, also those that cannot be decoded.
    pub tasks: Arc<Cache<Watched>>,
    /// The ConfigMaps that carry the controller's label.
    pub config_maps: Arc<Cache<Stored<ConfigMap>>>,
    /// The Services that carry the controller's label.
    pub services: Arc<Cache<Stored<Service>>>,
    /// The Deployments that carry the controller's label.
    pub deployments: Arc<Cache<Stored<Deployment>>>,
}

impl Caches {
    /// Waits until all have been listed.
    pub async fn synced(&self) {
        self.tasks.synced().await;
        self.config_maps.synced().await;
        self.services.synced().await;
        self.deployments.synced().await;
    }
}

/// The children of a Task as they are.
pub struct Observed {
    /// The ConfigMap.
    pub config_map: Child<ConfigMap>,
    /// The Service.
    pub service: Child<Service>,
    /// The Deployment.
    pub deployment: Child<Deployment>,
}

/// What there is under the name of a child.
#[derive(Clone, Debug, PartialEq)]
pub enum Child<K> {
    /// Nothing that the cache knows of.
    Absent,
    /// The child, controlled by this Task.
    Ours(Arc<K>),
    /// A child of this Task, or of an earlier one of the same name, on its way out.
    Leaving,
    /// An object that the Task does not control, and who does.
    Foreign(Option<String>),
}

/// What there is of a child cannot be decoded.
#[derive(Debug, thiserror::Error)]
#[error("cannot decode {kind} {name}: {source}")]
pub struct Error {
    kind: String,
    name: String,
    source: serde_json::Error,
}

/// The Deployment of the Task that has this metadata, whatever that Task asks for.
pub fn deployment(task: &ObjectMeta, caches: &Caches) -> Option<Arc<Deployment>> {
    let found = find(task, task.name.as_deref()?, &caches.deployments);
    // Here it is only asked for to be told of.
    found.ok()?.ours()
}

/// Finds the children of `task`.
///
/// # Errors
/// See [`Error`].
pub fn observe(task: &Task, children: &Children, caches: &Caches) -> Result<Observed, Error> {
    let of = &task.metadata;
    Ok(Observed {
        config_map: find(of, &children.config_map.name_any(), &caches.config_maps)?,
        service: find(of, &children.service.name_any(), &caches.services)?,
        deployment: find(of, &children.deployment.name_any(), &caches.deployments)?,
    })
}

fn find<K>(task: &ObjectMeta, name: &str, cache: &Cache<Stored<K>>) -> Result<Child<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + 'static,
{
    let mut key = ObjectRef::new(name);
    key.namespace = task.namespace.clone();
    let found = cache.get(&key).transpose().map_err(|source| Error {
        kind: K::kind(&()).into_owned(),
        name: name.to_owned(),
        source,
    })?;
    Ok(Child::of(task, found.map(Arc::new)))
}

impl<K: Resource> Child<K> {
    /// The child, if it is there and controlled by the Task.
    pub fn ours(&self) -> Option<Arc<K>> {
        match self {
            Self::Ours(object) => Some(Arc::clone(object)),
            Self::Absent | Self::Leaving | Self::Foreign(_) => None,
        }
    }

    /// Judges the object that stands under the name of a child of the Task that has this metadata.
    pub fn of(task: &ObjectMeta, found: Option<Arc<K>>) -> Self {
        let Some(object) = found else {
            return Self::Absent;
        };
        match controller(&*object) {
            Some(owner) if Some(&owner.uid) == task.uid.as_ref() => {
                if object.meta().deletion_timestamp.is_some() {
                    Self::Leaving
                } else {
                    Self::Ours(object)
                }
            }
            // The garbage collector will take it: its owner's uid is not that of a living Task.
            Some(owner) if is_namesake(owner, task) => Self::Leaving,
            Some(owner) => Self::Foreign(Some(format!("{} {}", owner.kind, owner.name))),
            None => Self::Foreign(None),
        }
    }
}

/// The Task that controls an object, if one does.
pub fn task_of(object: &impl Resource) -> Option<ObjectRef<Watched>> {
    let owner = controller(object).filter(|owner| is_task(owner))?;
    let mut task = ObjectRef::new(&owner.name);
    task.namespace = object.meta().namespace.clone();
    Some(task)
}

fn controller(object: &impl Resource) -> Option<&OwnerReference> {
    object
        .owner_references()
        .iter()
        .find(|owner| owner.controller == Some(true))
}

fn is_namesake(owner: &OwnerReference, task: &ObjectMeta) -> bool {
    is_task(owner) && Some(&owner.name) == task.name.as_ref()
}

fn is_task(owner: &OwnerReference) -> bool {
    owner.kind == KIND && owner.api_version.split('/').next() == Some(GROUP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{at, deployment, task};

    fn judged(edit: impl FnOnce(&mut Deployment)) -> Child<Deployment> {
        let task = task("web").build();
        let mut child = deployment(&task);
        edit(&mut child);
        Child::of(&task.metadata, Some(Arc::new(child)))
    }

    fn owner(child: &mut Deployment) -> &mut OwnerReference {
        &mut child.metadata.owner_references.as_mut().unwrap()[0]
    }

    #[test]
    fn a_child_that_the_task_controls_is_ours() {
        assert!(matches!(judged(|_| {}), Child::Ours(_)));
    }

    #[test]
    fn an_object_without_a_controller_is_foreign() {
        assert_eq!(
            judged(|child| child.metadata.owner_references = None),
            Child::Foreign(None)
        );
        assert_eq!(
            judged(|child| owner(child).controller = None),
            Child::Foreign(None)
        );
    }

    #[test]
    fn an_object_of_another_controller_is_foreign() {
        let found = judged(|child| {
            owner(child).kind = "Release".to_owned();
            owner(child).uid = "other".to_owned();
        });
        assert_eq!(found, Child::Foreign(Some("Release web".to_owned())));
    }

    #[test]
    fn a_child_of_another_task_is_foreign() {
        let found = judged(|child| {
            owner(child).name = "api".to_owned();
            owner(child).uid = "other".to_owned();
        });
        assert_eq!(found, Child::Foreign(Some("Task api".to_owned())));
    }

    #[test]
    fn a_child_of_an_earlier_task_of_the_same_name_is_leaving() {
        assert_eq!(
            judged(|child| owner(child).uid = "earlier".to_owned()),
            Child::Leaving
        );
    }

    #[test]
    fn a_child_that_is_being_deleted_is_leaving() {
        assert_eq!(
            judged(|child| child.metadata.deletion_timestamp = Some(at(1))),
            Child::Leaving
        );
    }
}
