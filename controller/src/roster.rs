//! Which Tasks there are, by their names: what `kube::runtime` holds of them.
//!
//! It holds each whole otherwise. What a pass looks at comes from the [cache](crate::cache).

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource,
    runtime::{
        reflector::{self, ObjectRef, Store, store::Writer},
        watcher::Event,
    },
};
use serde::Deserialize;
use task_api_v1::Task;

use crate::watched::Watched;

/// A Task by its name.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = Task)]
pub struct Named {
    metadata: ObjectMeta,
}

/// Which Tasks there are.
pub struct Roster {
    store: Store<Named>,
    writer: Writer<Named>,
}

impl Default for Roster {
    fn default() -> Self {
        let (store, writer) = reflector::store();
        Self { store, writer }
    }
}

impl Roster {
    /// The Tasks, as `kube::runtime` wants them.
    pub fn store(&self) -> Store<Named> {
        self.store.clone()
    }

    /// Takes in what the watch has told, and tells which Tasks are gone: also those that went while the watch was interrupted, of which
    /// only the next list tells, by not having them.
    ///
    /// What a list has is known at once, and not only when the list is complete: the pass that it makes would not find its Task, and nothing
    /// would make another.
    pub fn heard(&mut self, event: &Event<Watched>) -> Vec<ObjectRef<Watched>> {
        let mut gone = match event {
            Event::Delete(task) => vec![Named::from(task).task()],
            Event::InitDone => tasks(&self.store),
            Event::Apply(_) | Event::Init | Event::InitApply(_) => Vec::new(),
        };
        if let Event::InitApply(task) = event {
            self.writer.apply_watcher_event(&Event::Apply(task.into()));
        }
        self.writer.apply_watcher_event(&named(event));
        gone.retain(|task| self.store.get(&by_name(task.clone())).is_none());
        gone
    }
}

/// All Tasks of a store.
pub fn tasks(store: &Store<Named>) -> Vec<ObjectRef<Watched>> {
    store.state().iter().map(|task| task.task()).collect()
}

/// The Task, as `kube::runtime` knows it.
pub fn by_name(task: ObjectRef<Watched>) -> ObjectRef<Named> {
    task.into_kind_unchecked(())
}

fn named(event: &Event<Watched>) -> Event<Named> {
    match event {
        Event::Apply(task) => Event::Apply(task.into()),
        Event::Delete(task) => Event::Delete(task.into()),
        Event::Init => Event::Init,
        Event::InitApply(task) => Event::InitApply(task.into()),
        Event::InitDone => Event::InitDone,
    }
}

impl Named {
    /// The Task.
    pub fn task(&self) -> ObjectRef<Watched> {
        ObjectRef::from_obj(self).into_kind_unchecked(())
    }
}

impl From<&Watched> for Named {
    fn from(watched: &Watched) -> Self {
        let of = watched.meta();
        Self {
            metadata: ObjectMeta {
                name: of.name.clone(),
                namespace: of.namespace.clone(),
                ..ObjectMeta::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::task;

    fn web(name: &str) -> Watched {
        Watched(Ok(task(name).build()))
    }

    fn names(tasks: Vec<ObjectRef<Watched>>) -> Vec<String> {
        tasks.into_iter().map(|task| task.name).collect()
    }

    #[test]
    fn a_task_is_gone_when_the_watch_says_so_or_a_list_does_not_have_it() {
        let mut roster = Roster::default();
        for name in ["deleted", "missed", "stays"] {
            assert!(roster.heard(&Event::Apply(web(name))).is_empty());
        }
        assert_eq!(
            names(roster.heard(&Event::Delete(web("deleted")))),
            ["deleted"]
        );
        for event in [
            Event::Init,
            Event::InitApply(web("stays")),
            Event::InitApply(web("new")),
        ] {
            assert!(roster.heard(&event).is_empty());
        }
        assert_eq!(known(&roster), ["missed", "new", "stays"]);
        assert_eq!(names(roster.heard(&Event::InitDone)), ["missed"]);
        assert_eq!(known(&roster), ["new", "stays"]);
    }

    fn known(roster: &Roster) -> Vec<String> {
        let mut known = names(tasks(&roster.store()));
        known.sort_unstable();
        known
    }
}
