//! What the API server holds, as far as the controller has heard: what a watch has told, and on top of it the
//! controller's own writes that the watch has not told of yet.
//!
//! Without the second part a pass that follows closely on another would decide on a view from before
//! its own writes, and ask again for what it just did.
//!
//! Each object is held as compressed text, and decoded when a pass looks at it: most of the time most objects are at rest, and the types of
//! `k8s-openapi` have room for every field that an object might have. A Deployment of one container takes 10 kB in them.

use std::{
    collections::{HashMap, HashSet},
    fmt::Debug,
    marker::PhantomData,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{Stream, StreamExt};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Resource,
    runtime::{
        WatchStreamExt,
        reflector::ObjectRef,
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::{compact::Compact, stored::Stored, watched::Watched};

/// How long an own write is believed in without the watch telling of it, which it does within a second.
///
/// An object that was written while the watch was taken up again, and deleted before that was done, is one that no
/// watch ever tells of. Asking once more for what was done already is harmless; never to ask again is not.
const BELIEVED: Duration = Duration::from_secs(30);

/// The newest known state of each object of a kind, which the watch gives as `K`.
///
/// Relies on resource versions of one kind to grow as numbers, which Kubernetes guarantees.
pub struct Cache<K> {
    known: Mutex<Known>,
    /// Whether there was a complete list.
    synced: watch::Sender<bool>,
    kind: PhantomData<fn() -> K>,
}

impl<K> Cache<K>
where
    K: Resource<DynamicType = ()>,
    for<'k> Compact: From<&'k K>,
{
    fn new() -> Self {
        Self {
            known: Mutex::default(),
            synced: watch::Sender::new(false),
            kind: PhantomData,
        }
    }

    /// A cache whose watch has told of these objects.
    #[cfg(test)]
    pub fn of(objects: impl IntoIterator<Item = K>) -> Arc<Self> {
        let cache = Self::new();
        for object in objects {
            cache.heard(&Event::Apply(object));
        }
        Arc::new(cache)
    }

    /// The version of the newest known state of the object; `None` if it is not known to exist.
    pub fn version(&self, key: &ObjectRef<K>) -> Option<u64> {
        self.known().get(&Key::of(key), Instant::now())?.version
    }

    /// The newest known state of the object.
    fn text(&self, key: &ObjectRef<K>) -> Option<String> {
        let known = self.known();
        Some(known.get(&Key::of(key), Instant::now())?.text.read())
    }

    /// Notes an object as the API server returned it for a write.
    pub fn wrote(&self, object: K) -> K {
        self.known().wrote(&object, Instant::now());
        object
    }

    /// Waits until the objects that there are have been listed.
    pub async fn synced(&self) {
        // An error says that the sender is gone, but it is part of self.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    fn heard(&self, event: &Event<K>) {
        self.known().heard(event);
        if matches!(event, Event::InitDone) {
            self.synced.send_replace(true);
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache<Watched> {
    /// The newest known state of the Task; `None` if it is not known to exist.
    pub fn get(&self, key: &ObjectRef<Watched>) -> Option<Watched> {
        self.text(key).map(|text| Watched::of_text(&text))
    }
}

impl<K> Cache<Stored<K>>
where
    K: Resource<DynamicType = ()> + DeserializeOwned,
{
    /// The newest known state of the child; `None` if it is not known to exist.
    pub fn get(&self, key: &ObjectRef<Stored<K>>) -> Option<serde_json::Result<K>> {
        self.text(key).map(|text| serde_json::from_str(&text))
    }
}

/// Watches the objects of a kind into a cache; `trim` drops the parts that are not used.
///
/// The stream must be polled for the cache to fill. It yields what happened, after the cache has
/// taken it in. It never ends: errors are logged and the watch is taken up again with back-off.
pub fn watch<K>(
    api: Api<K>,
    config: watcher::Config,
    trim: fn(&mut K),
) -> (Arc<Cache<K>>, impl Stream<Item = Event<K>> + Send)
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug + Send + Sync + 'static,
    for<'k> Compact: From<&'k K>,
{
    let cache = Arc::new(Cache::new());
    let told = Arc::clone(&cache);
    let events = watcher(api, config)
        .default_backoff()
        .modify(trim)
        .filter_map(move |event| {
            let event = event
                .inspect_err(|error| {
                    tracing::warn!(kind = %K::kind(&()), error = error as &dyn std::error::Error, "the watch was interrupted and is taken up again");
                })
                .ok();
            if let Some(event) = &event {
                told.heard(event);
            }
            std::future::ready(event)
        });
    (cache, events)
}

/// The version of the object that has this metadata, as a number; `None` sorts before all others.
pub fn version(object: &ObjectMeta) -> Option<u64> {
    object.resource_version.as_ref()?.parse().ok()
}

/// Which object of a kind it is, in a fifth of the room that an [`ObjectRef`] takes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(Box<str>);

impl Key {
    /// The object that this refers to.
    pub fn of<K: Resource<DynamicType = ()>>(key: &ObjectRef<K>) -> Self {
        Self::new(key.namespace.as_deref(), &key.name)
    }

    fn of_object(object: &ObjectMeta) -> Self {
        let name = object.name.as_deref().unwrap_or_default();
        Self::new(object.namespace.as_deref(), name)
    }

    fn new(namespace: Option<&str>, name: &str) -> Self {
        Self(format!("{}/{name}", namespace.unwrap_or_default()).into())
    }

    /// The namespace and the name.
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once('/').unwrap_or(("", &self.0))
    }
}

/// An object as it was at a version.
struct Kept {
    version: Option<u64>,
    text: Compact,
}

impl Kept {
    fn new<K: Resource>(object: &K) -> Self
    where
        for<'k> Compact: From<&'k K>,
    {
        Self {
            version: version(object.meta()),
            text: object.into(),
        }
    }
}

/// What is known of the objects of a kind.
#[derive(Default)]
struct Known {
    /// What the watch has told.
    told: HashMap<Key, Kept>,
    /// What is in the list that is under way.
    listed: HashSet<Key>,
    /// The newest version in it.
    listing: Option<u64>,
    /// The controller's own writes that the watch has not told of yet.
    own: HashMap<Key, OwnWrite>,
    /// The newest version that the watch has told of: it has told of all before it too.
    heard: Option<u64>,
}

struct OwnWrite {
    kept: Kept,
    at: Instant,
    /// Written before the list that is under way was begun, so that the list has it.
    listed: bool,
}

impl Known {
    fn get(&self, key: &Key, now: Instant) -> Option<&Kept> {
        let is_believed = |write: &&OwnWrite| now.saturating_duration_since(write.at) < BELIEVED;
        let own = self.own.get(key).filter(is_believed);
        match (own.map(|write| &write.kept), self.told.get(key)) {
            (Some(own), Some(told)) if own.version <= told.version => Some(told),
            (Some(own), _) => Some(own),
            (None, told) => told,
        }
    }

    fn wrote<K: Resource>(&mut self, object: &K, now: Instant)
    where
        for<'k> Compact: From<&'k K>,
    {
        if self.heard < version(object.meta()) {
            let write = OwnWrite {
                kept: Kept::new(object),
                at: now,
                listed: false,
            };
            self.own.insert(Key::of_object(object.meta()), write);
        }
    }

    fn heard<K: Resource>(&mut self, event: &Event<K>)
    where
        for<'k> Compact: From<&'k K>,
    {
        match event {
            Event::Apply(object) => {
                self.told
                    .insert(Key::of_object(object.meta()), Kept::new(object));
                self.has_told(version(object.meta()));
            }
            Event::Delete(object) => {
                self.told.remove(&Key::of_object(object.meta()));
                self.has_told(version(object.meta()));
            }
            Event::Init => {
                self.listed.clear();
                self.listing = None;
                for write in self.own.values_mut() {
                    write.listed = true;
                }
            }
            // It is known at once, since it makes a pass at once. That the list has told of all else is known when it is complete.
            Event::InitApply(object) => {
                let key = Key::of_object(object.meta());
                self.told.insert(key.clone(), Kept::new(object));
                self.listed.insert(key);
                self.listing = self.listing.max(version(object.meta()));
            }
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                self.told.retain(|key, _| listed.contains(key));
                self.own.retain(|_, write| !write.listed);
                self.has_told(self.listing);
            }
        }
    }

    /// Takes in that the watch has told of all up to this version.
    fn has_told(&mut self, version: Option<u64>) {
        self.heard = self.heard.max(version);
        self.own.retain(|_, write| write.kept.version > self.heard);
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn config_map(name: &str, version: u64) -> Stored<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        object.metadata.namespace = Some("default".to_owned());
        object.metadata.resource_version = Some(version.to_string());
        Stored::of(&object)
    }

    fn key(name: &str) -> ObjectRef<Stored<ConfigMap>> {
        ObjectRef::new(name).within("default")
    }

    struct Heard(Cache<Stored<ConfigMap>>);

    fn nothing_heard() -> Heard {
        Heard(Cache::new())
    }

    impl Heard {
        fn hears(&self, event: Event<Stored<ConfigMap>>) {
            self.0.heard(&event);
        }

        fn version_of(&self, name: &str) -> Option<u64> {
            let found = self.0.get(&key(name))?.unwrap();
            assert_eq!(version(&found.metadata), self.0.version(&key(name)));
            version(&found.metadata)
        }
    }

    #[tokio::test]
    async fn all_who_wait_are_told_that_the_list_is_complete() {
        let watched = nothing_heard();
        let tell = async {
            tokio::task::yield_now().await;
            watched.hears(Event::InitDone);
        };
        tokio::join!(watched.0.synced(), watched.0.synced(), tell);
    }

    #[test]
    fn an_own_write_is_seen_before_the_watch_tells_of_it() {
        let watched = nothing_heard();
        watched.0.wrote(config_map("a", 5));
        assert_eq!(watched.version_of("a"), Some(5));
    }

    #[test]
    fn the_watch_has_the_last_word_once_it_tells_of_a_newer_version() {
        let watched = nothing_heard();
        watched.0.wrote(config_map("a", 5));
        watched.hears(Event::Apply(config_map("a", 4)));
        assert_eq!(watched.version_of("a"), Some(5));
        watched.hears(Event::Apply(config_map("a", 6)));
        assert_eq!(watched.version_of("a"), Some(6));
    }

    #[test]
    fn what_was_deleted_after_the_own_write_is_gone() {
        let watched = nothing_heard();
        watched.0.wrote(config_map("a", 5));
        watched.hears(Event::Apply(config_map("a", 5)));
        watched.hears(Event::Delete(config_map("a", 6)));
        assert_eq!(watched.version_of("a"), None);
    }

    #[test]
    fn an_own_write_that_the_watch_has_overtaken_is_not_taken_in() {
        let watched = nothing_heard();
        watched.hears(Event::Apply(config_map("a", 5)));
        watched.hears(Event::Delete(config_map("a", 6)));
        watched.0.wrote(config_map("a", 5));
        assert_eq!(watched.version_of("a"), None);
    }

    #[test]
    fn a_list_that_began_after_the_own_write_has_the_last_word() {
        let watched = nothing_heard();
        watched.0.wrote(config_map("a", 5));
        watched.hears(Event::Init);
        watched.0.wrote(config_map("b", 7));
        assert_eq!(watched.version_of("a"), Some(5));
        watched.hears(Event::InitDone);
        assert_eq!(watched.version_of("a"), None);
        assert_eq!(watched.version_of("b"), Some(7));
    }

    #[test]
    fn a_list_with_a_newer_object_has_the_last_word_on_a_write_that_was_made_meanwhile() {
        let watched = nothing_heard();
        watched.hears(Event::Init);
        watched.0.wrote(config_map("deleted", 5));
        watched.0.wrote(config_map("too new for the list", 7));
        watched.hears(Event::InitApply(config_map("other", 6)));
        watched.hears(Event::InitDone);
        assert_eq!(watched.version_of("deleted"), None);
        assert_eq!(watched.version_of("too new for the list"), Some(7));
        watched.0.wrote(config_map("answered late", 5));
        assert_eq!(watched.version_of("answered late"), None);
    }

    #[test]
    fn an_own_write_that_the_watch_never_tells_of_is_not_believed_for_ever() {
        let watched = nothing_heard();
        watched.0.wrote(config_map("a", 5));
        let later = Instant::now() + BELIEVED;
        assert!(watched.0.known().get(&Key::of(&key("a")), later).is_none());
    }

    #[test]
    fn nothing_is_kept_of_own_writes_that_the_watch_has_told_of() {
        let watched = nothing_heard();
        watched.0.wrote(config_map("a", 5));
        watched.0.wrote(config_map("b", 6));
        watched.hears(Event::Apply(config_map("c", 6)));
        assert!(watched.0.known().own.is_empty());
    }

    #[test]
    fn what_a_list_has_is_known_at_once_and_what_it_has_not_is_gone_once_it_is_complete() {
        let watched = nothing_heard();
        watched.hears(Event::Apply(config_map("gone", 5)));
        watched.hears(Event::Init);
        watched.hears(Event::InitApply(config_map("begun anew", 6)));
        watched.hears(Event::Init);
        watched.hears(Event::InitApply(config_map("new", 7)));
        assert_eq!(
            ["gone", "begun anew", "new"].map(|name| watched.version_of(name)),
            [Some(5), Some(6), Some(7)]
        );
        watched.hears(Event::InitDone);
        assert_eq!(
            ["gone", "begun anew", "new"].map(|name| watched.version_of(name)),
            [None, None, Some(7)]
        );
    }

    #[test]
    fn objects_of_the_same_name_in_two_namespaces_are_two() {
        let watched = nothing_heard();
        watched.hears(Event::Apply(config_map("a", 5)));
        let elsewhere = ObjectRef::new("a").within("elsewhere");
        assert_eq!(watched.0.version(&elsewhere), None);
    }
}
