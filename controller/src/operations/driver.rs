//! Who has a turn, and when: the steps of operations are carried out by a bounded number of workers, so that no provider holds up a pass.

use std::{
    collections::HashMap,
    hash::{BuildHasher, DefaultHasher, Hash, Hasher, RandomState},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use jiff::Timestamp;
use kube::{Client, runtime::reflector::ObjectRef};
use task_api_v1::{Task, names::condition};
use tokio::sync::mpsc;

use super::{
    client::Connection,
    metrics::Metrics,
    observe,
    providers::registry::Registry,
    schedule::{self, Pressure},
    signals::Ways,
    situation::{Memory, Record, Situation, Stage},
    turn::{self, Ended, Remembered},
};
use crate::{
    cache::Cache,
    events::{Events, Note},
    names::{event, operation_reason as reason},
    shards::Shards,
    watched::Watched,
    work_queue::{Limits, Offer, WorkQueue},
};

/// When to look again at a Task for which there was no room in the queue.
const CROWDED: Duration = Duration::from_secs(2);

/// When to look again at a Task whose turn has just ended, or is about to begin. It is woken when that is over; this is the net below.
const UNDER_WAY: Duration = Duration::from_secs(10);

/// The operations of all Tasks.
pub struct Operations {
    /// The providers.
    pub providers: Registry,
    /// The workers.
    pub queue: WorkQueue<ObjectRef<Watched>>,
    shards: Shards,
    tasks: Arc<Cache<Watched>>,
    events: Events,
    metrics: Metrics,
    ways: Ways,
    noted: Mutex<HashMap<ObjectRef<Watched>, Noted>>,
    wake: mpsc::UnboundedSender<ObjectRef<Watched>>,
    random: (RandomState, AtomicU64),
}

/// What a pass has to know of the operation of its Task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attendance {
    /// When to look again; `None`: it is woken.
    pub again: Option<Duration>,
    /// Nothing keeps the Task from being let go.
    pub may_go: bool,
    /// The provider is not configured.
    pub is_unknown: bool,
}

/// How the last turn of a Task ended.
struct Noted {
    /// What it went by.
    about: u64,
    again: Option<Instant>,
    attendance: Attendance,
    memory: Option<Remembered>,
    /// Turns in a row that failed.
    failures: u32,
}

impl Operations {
    /// The operations of the Tasks in this cache, and the Tasks to which a pass is due since their turn has ended.
    pub fn new(
        shards: Shards,
        tasks: Arc<Cache<Watched>>,
        providers: Registry,
        limits: Limits,
        events: Events,
        metrics: Metrics,
        ways: Ways,
    ) -> (Arc<Self>, mpsc::UnboundedReceiver<ObjectRef<Watched>>) {
        let (wake, woken) = mpsc::unbounded_channel();
        let operations = Self {
            providers,
            queue: WorkQueue::new(limits),
            shards,
            tasks,
            events,
            metrics,
            ways,
            noted: Mutex::default(),
            wake,
            random: (RandomState::new(), AtomicU64::new(0)),
        };
        (Arc::new(operations), woken)
    }

    /// Sees to it that the operation of `task`, as the cache has it, gets the turn that is due, by this client. Makes no request itself, and
    /// never waits.
    pub fn attend(
        self: &Arc<Self>,
        client: &Client,
        key: &ObjectRef<Watched>,
        task: &Task,
    ) -> Attendance {
        let leaving = task.metadata.deletion_timestamp.is_some();
        if is_at_rest(task, leaving) {
            return Attendance {
                may_go: leaving,
                ..Attendance::default()
            };
        }
        let about = self.signature(task);
        let memory = {
            let noted = self.noted();
            match noted.get(key).filter(|noted| noted.about == about) {
                Some(last) => match last
                    .again
                    .map(|at| at.saturating_duration_since(Instant::now()))
                {
                    Some(Duration::ZERO) if !(leaving && last.attendance.may_go) => {
                        last.memory.clone()
                    }
                    again => {
                        return Attendance {
                            again,
                            ..last.attendance
                        };
                    }
                },
                None => noted.get(key).and_then(|last| last.memory.clone()),
            }
        };
        let turn = Arc::clone(self).have_a_turn(client.clone(), key.clone(), about, memory);
        let again = match self.queue.offer(key.clone(), turn) {
            Offer::Full => CROWDED,
            Offer::Taken | Offer::Present | Offer::Stopped => UNDER_WAY,
        };
        Attendance {
            again: Some(again),
            ..Attendance::default()
        }
    }

    /// Forgets a Task that is gone.
    pub fn forget(&self, key: &ObjectRef<Watched>) {
        self.noted().remove(key);
    }

    /// The URL that callbacks go to, without their path, if there is one.
    pub(super) fn callback_url(&self) -> Option<&str> {
        self.ways.callback_url.as_deref()
    }

    /// What is to be decided from about the operation of a Task, with what is remembered of the calls for it.
    pub(super) fn situation(&self, task: &Task, memory: Memory) -> Situation {
        let situation = Situation {
            now: Timestamp::now(),
            random: self.random(),
            uid: task.metadata.uid.clone().unwrap_or_default(),
            generation: task.metadata.generation.unwrap_or_default(),
            leaving_since: task.metadata.deletion_timestamp.as_ref().map(|time| time.0),
            wanted: observe::wanted(task, &self.ways),
            record: task.status.as_ref().and_then(observe::record),
            memory,
            pressure: Pressure::default(),
        };
        let pressure = self.pressure(&situation);
        Situation {
            pressure,
            ..situation
        }
    }

    /// The connection to the provider that is to be called next.
    pub(super) fn connection(&self, situation: &Situation) -> Option<Arc<Connection>> {
        self.providers.get(situation.provider()?)
    }

    /// How the provider that is to be called next fares.
    fn pressure(&self, situation: &Situation) -> Pressure {
        self.connection(situation)
            .map(|connection| connection.gate.pressure(self.queue.depth()))
            .unwrap_or_default()
    }

    /// A number from 0 to 1, for jitter.
    pub(super) fn random(&self) -> f64 {
        let (state, count) = &self.random;
        let count = count.fetch_add(1, Ordering::Relaxed);
        (state.hash_one(count) % 1024) as f64 / 1024.0
    }

    /// Tells that the provider is being asked to start the operation.
    pub(super) fn starts(&self, task: &Task, record: &Record) {
        if record.attempts > 1 {
            self.metrics.retried(task, record);
            return;
        }
        let text = format!("the operation {} is being started", record.key);
        self.tell(task, event::OPERATION_STARTED, text);
    }

    /// Tells what has become of an operation.
    pub(super) fn learnt(&self, task: &Task, before: Option<&Record>, record: &Record) {
        if before.is_some_and(|before| before.stage.is_terminal()) || !record.stage.is_terminal() {
            return;
        }
        self.metrics.ended(task, record);
        match &record.stage {
            // The next one is told of.
            Stage::Failed { reason, .. } if reason == reason::SUPERSEDED => {}
            Stage::Failed {
                reason, message, ..
            } => {
                let text = format!("{reason}: {message}");
                self.tell(task, event::OPERATION_FAILED, text);
            }
            _ => {
                let text = "the operation succeeded".to_owned();
                self.tell(task, event::OPERATION_SUCCEEDED, text);
            }
        }
    }

    fn tell(&self, task: &Task, reason: &'static str, text: String) {
        self.events.tell(&task.metadata, Note { reason, text });
    }

    async fn have_a_turn(
        self: Arc<Self>,
        client: Client,
        key: ObjectRef<Watched>,
        about: u64,
        memory: Option<Remembered>,
    ) {
        // The shard is not given up before this is over.
        let shard = Arc::clone(self.shards.get(self.shards.of(&key)));
        let Some(_owned) = shard.begin() else {
            return;
        };
        let ended = turn::turn(&self, &client, &key, memory.clone()).await;
        let noted = match ended {
            Ok(ended) => self.note(about, ended),
            Err(error) => {
                let failures = self.noted().get(&key).map_or(0, |last| last.failures) + 1;
                let wait = schedule::retry(failures, self.random());
                tracing::warn!(task = %key, %error, "the turn over the operation failed and is repeated in {wait:?}");
                Noted {
                    about,
                    again: Some(Instant::now() + wait),
                    attendance: Attendance::default(),
                    memory,
                    failures,
                }
            }
        };
        self.noted().insert(key.clone(), noted);
        // An error says that the controller is stopping.
        let _ = self.wake.send(key);
    }

    fn note(&self, about: u64, ended: Ended) -> Noted {
        let about = match ended.task {
            Some(task) => {
                let about = self.signature(&task);
                let mut seen = Watched(Ok(*task));
                seen.trim();
                self.tasks.wrote(seen);
                about
            }
            None => about,
        };
        Noted {
            about,
            again: ended.again,
            attendance: Attendance {
                again: None,
                may_go: ended.may_go,
                is_unknown: ended.is_unknown,
            },
            memory: ended.memory,
            failures: 0,
        }
    }

    /// What a turn goes by: when it changes, the last one says nothing any more.
    fn signature(&self, task: &Task) -> u64 {
        let mut hasher = DefaultHasher::new();
        let metadata = &task.metadata;
        (&metadata.uid, metadata.generation).hash(&mut hasher);
        metadata.deletion_timestamp.is_some().hash(&mut hasher);
        observe::retry(task).hash(&mut hasher);
        if let Some(status) = &task.status {
            let operation = serde_json::to_string(&status.operation).ok();
            (operation, &status.last_async_operation_id).hash(&mut hasher);
            let told = observe::find(status, condition::ASYNC_OPERATION);
            told.map(|told| (&told.reason, told.observed_generation))
                .hash(&mut hasher);
        }
        let record = task.status.as_ref().and_then(observe::record);
        let names = [
            record.as_ref().and_then(|record| record.key.provider()),
            task.spec
                .operation
                .as_ref()
                .map(|operation| &*operation.provider),
        ];
        names
            .map(|name| name.is_some_and(|name| self.providers.get(name).is_some()))
            .hash(&mut hasher);
        hasher.finish()
    }

    fn noted(&self) -> MutexGuard<'_, HashMap<ObjectRef<Watched>, Noted>> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether it is clear from the cache alone that nothing is to be done.
fn is_at_rest(task: &Task, leaving: bool) -> bool {
    let record = task.status.as_ref().and_then(observe::record);
    let needs_one = task.spec.operation.is_some();
    match record {
        None => !needs_one,
        Some(record) if !record.stage.is_terminal() => false,
        // That it has ended is to be read anew: the Task is let go for it.
        Some(_) if leaving => !needs_one,
        Some(record) => {
            let asked_again = observe::retry(task).is_some_and(|token| !record.key.answers(&token))
                && matches!(record.stage, Stage::Failed { .. });
            !needs_one || (observe::is_seen(task) && !asked_again)
        }
    }
}
