//! The Tasks at rest: those over which a pass would find what the last one found.
//!
//! A pass is a function of the Task and of its children, so where none of them has changed since one found all as it should be, and
//! the status says so, there is nothing to find out. That makes a pass over a Task at rest a few look-ups, instead of building its
//! children and comparing them.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use kube::{Resource, runtime::reflector::ObjectRef};
use task_api_v1::{TaskPhase, names::CONFIG_MAP_SUFFIX};

use super::{Context, observe::Caches, tell::Told};
use crate::{
    cache::{Cache, Key},
    compact::Compact,
    watched::Watched,
};

/// The resource versions of a Task and its children; 0 for what there is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions([u64; 4]);

/// At which versions Tasks came to rest.
#[derive(Debug, Default)]
pub struct Rests(Mutex<HashMap<Key, Versions>>);

/// Notes what a pass that found all as it should be has told, if that means that the Task has come to rest.
///
/// `versions` are those from before the pass looked at anything.
pub(super) fn note(
    context: &Context,
    key: &ObjectRef<Watched>,
    versions: Versions,
    told: Option<&Told>,
) {
    if let Some(told) = told
        && told.phase == TaskPhase::Succeeded
        && let Some(version) = told.version
        // What others may undo is looked at again.
        && context.retries.failures(key) == 0
    {
        let versions = versions.with_task(version);
        context.rests.came_at(key, versions);
    }
}

impl Versions {
    /// Those that the caches have.
    pub fn of(task: &ObjectRef<Watched>, caches: &Caches) -> Self {
        let config_map = format!("{}{CONFIG_MAP_SUFFIX}", task.name);
        Self([
            caches.tasks.version(task).unwrap_or_default(),
            version(&caches.config_maps, task, &config_map),
            version(&caches.services, task, &task.name),
            version(&caches.deployments, task, &task.name),
        ])
    }

    /// The same children, and the Task at this version.
    pub fn with_task(mut self, version: u64) -> Self {
        self.0[0] = version;
        self
    }
}

fn version<K>(cache: &Cache<K>, task: &ObjectRef<Watched>, name: &str) -> u64
where
    K: Resource<DynamicType = ()>,
    for<'k> Compact: From<&'k K>,
{
    let mut key = ObjectRef::new(name);
    key.namespace = task.namespace.clone();
    cache.version(&key).unwrap_or_default()
}

impl Rests {
    /// Whether this Task came to rest at these versions.
    pub fn is_at(&self, key: &ObjectRef<Watched>, versions: &Versions) -> bool {
        self.lock().get(&Key::of(key)) == Some(versions)
    }

    /// Notes that a pass found all as it should be at these versions, and that the status says so.
    pub fn came_at(&self, key: &ObjectRef<Watched>, versions: Versions) {
        self.lock().insert(Key::of(key), versions);
    }

    /// Forgets a Task that is gone.
    pub fn forget(&self, key: &ObjectRef<Watched>) {
        self.lock().remove(&Key::of(key));
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Versions>> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{stored, task},
        reconcile::build,
        stored::Stored,
    };

    fn key() -> ObjectRef<Watched> {
        ObjectRef::new("web").within("default")
    }

    #[test]
    fn a_task_is_at_rest_until_it_or_a_child_changes() {
        let task = task("web").build();
        let mut deployment = stored(build::children(&task).unwrap().deployment);
        let versions = |deployment: &_| {
            let caches = Caches {
                tasks: Cache::of([Watched(Ok(task.clone()))]),
                config_maps: Cache::of([]),
                services: Cache::of([]),
                deployments: Cache::of([Stored::of(deployment)]),
            };
            Versions::of(&key(), &caches)
        };
        let rests = Rests::default();
        let before = versions(&deployment);
        assert!(!rests.is_at(&key(), &before));
        rests.came_at(&key(), before.clone());
        assert!(rests.is_at(&key(), &before));
        assert!(!rests.is_at(&key(), &before.clone().with_task(2)));
        deployment.metadata.resource_version = Some("11".to_owned());
        assert!(!rests.is_at(&key(), &versions(&deployment)));
        rests.forget(&key());
        assert!(!rests.is_at(&key(), &before));
    }
}
