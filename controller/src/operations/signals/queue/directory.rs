//! Which Task an operation is of, as far as the watch has told.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use kube::runtime::{reflector::ObjectRef, watcher::Event};
use tokio::sync::watch;

use crate::{operations::key::Key, watched::Watched};

/// The Tasks of all operations that a status names: a message names the operation only.
#[derive(Debug, Default)]
pub struct Directory {
    pages: Mutex<Pages>,
    is_whole: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct Pages {
    current: Page,
    /// What a list that is under way has told so far.
    listed: Page,
}

#[derive(Debug, Default)]
struct Page {
    tasks: HashMap<String, ObjectRef<Watched>>,
    operations: HashMap<ObjectRef<Watched>, String>,
}

impl Directory {
    /// The Task whose newest operation goes by this `Operation-Id`.
    pub fn find(&self, operation: &Key) -> Option<ObjectRef<Watched>> {
        self.pages().current.tasks.get(operation.as_str()).cloned()
    }

    /// Returns once all Tasks have been listed: until then that an operation is not found says nothing.
    pub async fn whole(&self) {
        // It cannot be closed before `self` is gone.
        let _ = self.is_whole.subscribe().wait_for(|whole| *whole).await;
    }

    /// Takes in what the watch tells.
    pub fn heard(&self, event: &Event<Watched>) {
        let mut pages = self.pages();
        match event {
            Event::Apply(task) => pages.current.enter(task),
            Event::Delete(task) => pages.current.strike(&ObjectRef::from_obj(task)),
            Event::Init => pages.listed = Page::default(),
            Event::InitApply(task) => pages.listed.enter(task),
            Event::InitDone => {
                pages.current = std::mem::take(&mut pages.listed);
                self.is_whole.send_replace(true);
            }
        }
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Page {
    fn enter(&mut self, task: &Watched) {
        let key = ObjectRef::from_obj(task);
        let operation = operation(task);
        if self.operations.get(&key).map(String::as_str) == operation {
            return;
        }
        self.strike(&key);
        if let Some(operation) = operation {
            self.tasks.insert(operation.to_owned(), key.clone());
            self.operations.insert(key, operation.to_owned());
        }
    }

    fn strike(&mut self, task: &ObjectRef<Watched>) {
        if let Some(operation) = self.operations.remove(task) {
            self.tasks.remove(&operation);
        }
    }
}

fn operation(task: &Watched) -> Option<&str> {
    let status = task.0.as_ref().ok()?.status.as_ref()?;
    status.operation.as_ref()?.key.as_deref()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use task_api_v1::OperationStatus;

    use super::*;
    use crate::fixtures::task;

    fn with(name: &str, operation: Option<&str>) -> Watched {
        let mut task = task(name).build();
        task.status.get_or_insert_default().operation = Some(OperationStatus {
            key: operation.map(str::to_owned),
            ..OperationStatus::default()
        });
        Watched(Ok(task))
    }

    fn found(directory: &Directory, operation: &str) -> Option<String> {
        let found = directory.find(&Key::recorded(operation));
        found.map(|task| task.name)
    }

    #[test]
    fn an_operation_is_found_until_the_task_has_another_or_is_gone() {
        let directory = Directory::default();
        directory.heard(&Event::Apply(with("web", None)));
        directory.heard(&Event::Apply(with("web", Some("a"))));
        assert_eq!(found(&directory, "a").as_deref(), Some("web"));
        directory.heard(&Event::Apply(with("web", Some("b"))));
        assert_eq!(found(&directory, "a"), None);
        assert_eq!(found(&directory, "b").as_deref(), Some("web"));
        directory.heard(&Event::Delete(with("web", Some("b"))));
        assert_eq!(found(&directory, "b"), None);
    }

    #[test]
    fn it_is_whole_from_the_end_of_the_first_list_on() {
        let directory = Directory::default();
        let is_whole = || directory.whole().now_or_never().is_some();
        for event in [Event::Init, Event::InitApply(with("web", Some("a")))] {
            directory.heard(&event);
            assert!(!is_whole());
        }
        for event in [Event::InitDone, Event::Init] {
            directory.heard(&event);
            assert!(is_whole());
        }
    }

    #[test]
    fn a_list_has_the_last_word_once_it_is_whole() {
        let directory = Directory::default();
        directory.heard(&Event::Apply(with("gone", Some("a"))));
        directory.heard(&Event::Init);
        directory.heard(&Event::InitApply(with("web", Some("b"))));
        assert_eq!(found(&directory, "a").as_deref(), Some("gone"));
        directory.heard(&Event::InitDone);
        assert_eq!(found(&directory, "a"), None);
        assert_eq!(found(&directory, "b").as_deref(), Some("web"));
    }
}
