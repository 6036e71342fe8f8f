//! What the API server holds, as far as the controller has heard: a watched store, and on top of it the
//! controller's own writes that the watch has not told of yet.
//!
//! Without the second part a pass that follows closely on another would decide on a view from before
//! its own writes, and ask again for what it just did.

use std::{
    collections::HashMap,
    fmt::Debug,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use futures::{Stream, StreamExt};
use kube::{
    Api, Resource,
    runtime::{
        WatchStreamExt,
        reflector::{self, ObjectRef, Store},
        watcher::{self, Event, watcher},
    },
};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

/// How long an own write is believed in without the watch telling of it, which it does within a second.
///
/// An object that was written while the watch was taken up again, and deleted before that was done, is one that no
/// watch ever tells of. Asking once more for what was done already is harmless; never to ask again is not.
const BELIEVED: Duration = Duration::from_secs(30);

/// The newest known state of each object of a kind.
///
/// Relies on resource versions of one kind to grow as numbers, which Kubernetes guarantees.
pub struct Cache<K: Resource<DynamicType = ()> + Clone + 'static> {
    store: Store<K>,
    own: Mutex<OwnWrites<K>>,
    /// Whether the store holds a complete list. Its own `wait_until_ready` is for one waiter only: of
    /// several it wakes the last.
    synced: watch::Sender<bool>,
}

impl<K> Cache<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    fn new(store: Store<K>) -> Self {
        Self {
            store,
            own: Mutex::default(),
            synced: watch::Sender::new(false),
        }
    }

    /// A cache whose watch has told of these objects.
    #[cfg(test)]
    pub fn of(objects: impl IntoIterator<Item = K>) -> Arc<Self> {
        let (store, mut writer) = reflector::store();
        for object in objects {
            writer.apply_watcher_event(&Event::Apply(object));
        }
        Arc::new(Self::new(store))
    }

    /// The newest known state of the object; `None` if it is not known to exist.
    pub fn get(&self, key: &ObjectRef<K>) -> Option<Arc<K>> {
        self.get_at(key, Instant::now())
    }

    fn get_at(&self, key: &ObjectRef<K>, now: Instant) -> Option<Arc<K>> {
        // In this order: the watch writes to the store before it forgets the own write.
        let own = self
            .own()
            .written
            .get(key)
            .filter(|write| now.saturating_duration_since(write.at) < BELIEVED)
            .map(|write| write.object.clone());
        newer(own, self.store.get(key))
    }

    /// Notes an object as the API server returned it for a write.
    pub fn wrote(&self, object: K) -> Arc<K> {
        let object = Arc::new(object);
        self.own().wrote(Arc::clone(&object));
        object
    }

    /// Waits until the objects that there are have been listed.
    pub async fn synced(&self) {
        // An error says that the sender is gone, but it is part of self.
        let _ = self.synced.subscribe().wait_for(|synced| *synced).await;
    }

    /// The watched store alone, as `kube::runtime` wants it.
    pub fn store(&self) -> Store<K> {
        self.store.clone()
    }

    /// Takes in what happened, after the store did.
    fn heard(&self, event: &Event<K>) {
        self.own().heard(event);
        if matches!(event, Event::InitDone) {
            self.synced.send_replace(true);
        }
    }

    fn own(&self) -> MutexGuard<'_, OwnWrites<K>> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.own.lock().unwrap_or_else(PoisonError::into_inner)
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
{
    let (store, writer) = reflector::store();
    let cache = Arc::new(Cache::new(store));
    let told = Arc::clone(&cache);
    let events = watcher(api, config)
        .default_backoff()
        .modify(trim)
        .reflect(writer)
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

fn newer<K: Resource>(own: Option<Arc<K>>, watched: Option<Arc<K>>) -> Option<Arc<K>> {
    match (own, watched) {
        (Some(own), Some(watched)) if version(&*own) <= version(&*watched) => Some(watched),
        (Some(own), _) => Some(own),
        (None, watched) => watched,
    }
}

/// The resource version as a number; `None` sorts before all others.
fn version(object: &impl Resource) -> Option<u64> {
    object.meta().resource_version.as_ref()?.parse().ok()
}

/// The controller's own writes that the watch has not told of yet.
struct OwnWrites<K: Resource<DynamicType = ()>> {
    written: HashMap<ObjectRef<K>, OwnWrite<K>>,
    /// The newest version that the watch has told of: it has told of all before it too.
    heard: Option<u64>,
    /// The newest version in the list that is under way.
    listing: Option<u64>,
}

struct OwnWrite<K> {
    object: Arc<K>,
    version: u64,
    at: Instant,
    /// Written before the list that is under way was begun, so that the list has it.
    listed: bool,
}

impl<K: Resource<DynamicType = ()>> Default for OwnWrites<K> {
    fn default() -> Self {
        Self {
            written: HashMap::new(),
            heard: None,
            listing: None,
        }
    }
}

impl<K> OwnWrites<K>
where
    K: Resource<DynamicType = ()>,
    ObjectRef<K>: Hash + Eq,
{
    fn wrote(&mut self, object: Arc<K>) {
        let Some(version) = version(&*object) else {
            return;
        };
        if self.heard < Some(version) {
            let key = ObjectRef::from_obj(&*object);
            self.written.insert(
                key,
                OwnWrite {
                    object,
                    version,
                    at: Instant::now(),
                    listed: false,
                },
            );
        }
    }

    fn heard(&mut self, event: &Event<K>) {
        match event {
            Event::Apply(object) | Event::Delete(object) => {
                self.heard = self.heard.max(version(object));
                let heard = self.heard;
                self.written.retain(|_, write| Some(write.version) > heard);
            }
            Event::Init => {
                self.listing = None;
                for write in self.written.values_mut() {
                    write.listed = true;
                }
            }
            // The store takes a list in as a whole, when it is complete.
            Event::InitApply(object) => self.listing = self.listing.max(version(object)),
            Event::InitDone => {
                self.heard = self.heard.max(self.listing);
                let heard = self.heard;
                self.written
                    .retain(|_, write| !write.listed && Some(write.version) > heard);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn config_map(name: &str, version: u64) -> ConfigMap {
        let mut object = ConfigMap::default();
        object.metadata.name = Some(name.to_owned());
        object.metadata.namespace = Some("default".to_owned());
        object.metadata.resource_version = Some(version.to_string());
        object
    }

    struct Watched {
        cache: Cache<ConfigMap>,
        writer: reflector::store::Writer<ConfigMap>,
    }

    fn watched() -> Watched {
        let (store, writer) = reflector::store();
        Watched {
            cache: Cache::new(store),
            writer,
        }
    }

    impl Watched {
        fn hears(&mut self, event: Event<ConfigMap>) {
            self.writer.apply_watcher_event(&event);
            self.cache.heard(&event);
        }

        fn version_of(&self, name: &str) -> Option<u64> {
            let key = ObjectRef::new(name).within("default");
            self.cache.get(&key).and_then(|object| version(&*object))
        }
    }

    #[tokio::test]
    async fn all_who_wait_are_told_that_the_list_is_complete() {
        let mut watched = watched();
        let tell = async {
            tokio::task::yield_now().await;
            watched.writer.apply_watcher_event(&Event::InitDone);
            watched.cache.heard(&Event::InitDone);
        };
        tokio::join!(watched.cache.synced(), watched.cache.synced(), tell);
    }

    #[test]
    fn an_own_write_is_seen_before_the_watch_tells_of_it() {
        let watched = watched();
        watched.cache.wrote(config_map("a", 5));
        assert_eq!(watched.version_of("a"), Some(5));
    }

    #[test]
    fn the_watch_has_the_last_word_once_it_tells_of_a_newer_version() {
        let mut watched = watched();
        watched.cache.wrote(config_map("a", 5));
        watched.hears(Event::Apply(config_map("a", 4)));
        assert_eq!(watched.version_of("a"), Some(5));
        watched.hears(Event::Apply(config_map("a", 6)));
        assert_eq!(watched.version_of("a"), Some(6));
    }

    #[test]
    fn what_was_deleted_after_the_own_write_is_gone() {
        let mut watched = watched();
        watched.cache.wrote(config_map("a", 5));
        watched.hears(Event::Apply(config_map("a", 5)));
        watched.hears(Event::Delete(config_map("a", 6)));
        assert_eq!(watched.version_of("a"), None);
    }

    #[test]
    fn an_own_write_that_the_watch_has_overtaken_is_not_taken_in() {
        let mut watched = watched();
        watched.hears(Event::Apply(config_map("a", 5)));
        watched.hears(Event::Delete(config_map("a", 6)));
        watched.cache.wrote(config_map("a", 5));
        assert_eq!(watched.version_of("a"), None);
    }

    #[test]
    fn a_list_that_began_after_the_own_write_has_the_last_word() {
        let mut watched = watched();
        watched.cache.wrote(config_map("a", 5));
        watched.hears(Event::Init);
        watched.cache.wrote(config_map("b", 7));
        assert_eq!(watched.version_of("a"), Some(5));
        watched.hears(Event::InitDone);
        assert_eq!(watched.version_of("a"), None);
        assert_eq!(watched.version_of("b"), Some(7));
    }

    #[test]
    fn a_list_with_a_newer_object_has_the_last_word_on_a_write_that_was_made_meanwhile() {
        let mut watched = watched();
        watched.hears(Event::Init);
        watched.cache.wrote(config_map("deleted", 5));
        watched.cache.wrote(config_map("too new for the list", 7));
        watched.hears(Event::InitApply(config_map("other", 6)));
        watched.hears(Event::InitDone);
        assert_eq!(watched.version_of("deleted"), None);
        assert_eq!(watched.version_of("too new for the list"), Some(7));
        watched.cache.wrote(config_map("answered late", 5));
        assert_eq!(watched.version_of("answered late"), None);
    }

    #[test]
    fn an_own_write_that_the_watch_never_tells_of_is_not_believed_for_ever() {
        let watched = watched();
        watched.cache.wrote(config_map("a", 5));
        let key = ObjectRef::new("a").within("default");
        let later = Instant::now() + BELIEVED;
        assert!(watched.cache.get_at(&key, later).is_none());
    }

    #[test]
    fn nothing_is_kept_of_own_writes_that_the_watch_has_told_of() {
        let mut watched = watched();
        watched.cache.wrote(config_map("a", 5));
        watched.cache.wrote(config_map("b", 6));
        watched.hears(Event::Apply(config_map("c", 6)));
        assert!(watched.cache.own().written.is_empty());
    }
}
