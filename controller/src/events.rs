//! What people are told of a Task beside its status: Events in `events.k8s.io/v1`, published in the background.
//!
//! A pass leaves a note here and goes on: it neither waits for the API server nor fails with it. An Event that cannot be published is
//! lost, as is one for which there is no room; the status says the same.

use std::pin::pin;

use futures::{FutureExt, StreamExt, stream};
use k8s_openapi::{api::core::v1::ObjectReference, apimachinery::pkg::apis::meta::v1::ObjectMeta};
use kube::{
    Client, Resource,
    runtime::events::{Event, EventType, Recorder, Reporter},
};
use task_api_v1::{Task, names::FIELD_MANAGER};
use tokio::sync::mpsc;

use crate::{
    names::{action, event},
    reconcile::request,
};

/// How many notes wait to be published: those of thousands of Tasks that are created at once.
const ROOM: usize = 4096;

/// How many are published at the same time.
const CONCURRENCY: usize = 4;

/// How many Events a recorder remembers. It keeps each for six minutes, whole, to count an Event that is repeated instead of
/// publishing it again, and looks through all of them each time. One takes 4 kB.
const REMEMBERED: usize = 16;

/// The longest note that the API server takes, in bytes.
const NOTE_LENGTH_MAX: usize = 1024;

/// What to tell people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// One of [`event`].
    pub reason: &'static str,
    /// A sentence for people.
    pub text: String,
}

/// Where passes leave their notes.
#[derive(Clone, Debug)]
pub struct Events(mpsc::Sender<(ObjectReference, Note)>);

/// The notes that are still to be published.
#[derive(Debug)]
pub struct Notes(mpsc::Receiver<(ObjectReference, Note)>);

/// A place for notes, and where they come out.
pub fn channel() -> (Events, Notes) {
    let (sender, receiver) = mpsc::channel(ROOM);
    (Events(sender), Notes(receiver))
}

impl Events {
    /// Tells people something about the Task of this metadata. Never waits.
    pub fn tell(&self, task: &ObjectMeta, note: Note) {
        // Not its version: the recorder would take each for another object.
        let regarding = ObjectReference {
            api_version: Some(Task::api_version(&()).into_owned()),
            kind: Some(Task::kind(&()).into_owned()),
            namespace: task.namespace.clone(),
            name: task.name.clone(),
            uid: task.uid.clone(),
            ..ObjectReference::default()
        };
        if let Err(error) = self.0.try_send((regarding, note)) {
            tracing::warn!(%error, "an Event was lost");
        }
    }
}

impl Notes {
    /// Publishes what is noted until `end`, and what is noted by then.
    pub async fn publish(mut self, client: Client, end: impl Future<Output = ()>) {
        let mut end = pin!(end.fuse());
        // With the name of the host, which in a pod is the pod's.
        let reporter = Reporter::from(FIELD_MANAGER);
        let new_recorder = || Recorder::new(client.clone(), reporter.clone());
        let notes = stream::poll_fn(|context| {
            if end.as_mut().poll(context).is_ready() {
                self.0.close();
            }
            self.0.poll_recv(context)
        });
        let recorded = notes
            .enumerate()
            .scan(new_recorder(), |recorder, (index, noted)| {
                if index % REMEMBERED == 0 {
                    *recorder = new_recorder();
                }
                std::future::ready(Some((recorder.clone(), noted)))
            });
        recorded
            .for_each_concurrent(CONCURRENCY, |(recorder, (task, note))| async move {
                let event = note.into();
                if let Err(error) = request::in_time(recorder.publish(&event, &task)).await {
                    tracing::debug!(%error, "an Event was lost");
                }
            })
            .await;
    }

    /// The reasons of the notes so far.
    #[cfg(test)]
    pub fn reasons(&mut self) -> Vec<&'static str> {
        std::iter::from_fn(|| self.0.try_recv().ok())
            .map(|(_, note)| note.reason)
            .collect()
    }
}

impl From<Note> for Event {
    fn from(Note { reason, mut text }: Note) -> Self {
        text.truncate(text.floor_char_boundary(NOTE_LENGTH_MAX));
        let (type_, action) = match reason {
            event::RECONCILE_FAILED | event::CHILD_CONFLICT => {
                (EventType::Warning, action::RECONCILE)
            }
            event::CLEAN_UP_FAILED => (EventType::Warning, action::CLEAN_UP),
            event::OPERATION_FAILED => (EventType::Warning, action::OPERATE),
            event::OPERATION_STARTED | event::OPERATION_SUCCEEDED => {
                (EventType::Normal, action::OPERATE)
            }
            event::DELETED => (EventType::Normal, action::CLEAN_UP),
            _ => (EventType::Normal, action::RECONCILE),
        };
        Self {
            type_,
            reason: reason.to_owned(),
            note: Some(text),
            action: action.to_owned(),
            secondary: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::task;

    #[test]
    fn a_note_is_cut_to_what_the_api_server_takes() {
        let event = Event::from(Note {
            reason: event::DELETED,
            text: format!("x{}", "ü".repeat(1000)),
        });
        assert_eq!(event.note.unwrap().len(), 1023);
    }

    #[test]
    fn a_note_for_which_there_is_no_room_is_lost_at_once() {
        let (events, mut notes) = channel();
        for _ in 0..=ROOM {
            let note = Note {
                reason: event::DELETED,
                text: String::new(),
            };
            events.tell(&task("web").build().metadata, note);
        }
        assert_eq!(notes.reasons().len(), ROOM);
    }
}
