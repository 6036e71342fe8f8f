//! One turn over the operation of one Task: what is decided is carried out, until there is nothing to do for a while.
//!
//! A turn reads the Task anew, so it never acts on what a cache missed. Each write is for the version that was read: of two turns at the
//! same time, on whatever replicas, one loses and does nothing.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::{Client, runtime::reflector::ObjectRef};
use serde_json::Value;
use task_api_v1::Task;

use super::{
    client::Connection,
    decide::{Call, Learnt, News, Step, decide, may_go},
    driver::Operations,
    gate::Permit,
    key::Key,
    observe,
    request::Request,
    schedule,
    situation::{Memory, Policy, Record, Situation},
    status,
    store::{self, Write},
};
use crate::{reconcile::request, watched::Watched};

/// How often an answer is written again where that fails. The call is not made again for it.
const WRITES: u32 = 5;

/// The pause between two of them.
const WRITE_PAUSE: Duration = Duration::from_secs(1);

/// The pause after the Task was being changed by others.
const LOST_PAUSE: Duration = Duration::from_secs(1);

/// The most steps of a turn. More than three lead nowhere new.
const STEPS: usize = 8;

/// How a turn ended.
#[derive(Debug)]
pub struct Ended {
    /// The Task as it was seen last; `None` if it is gone, or was being changed by others.
    pub task: Option<Box<Task>>,
    /// When to have another turn, unless the Task changes before; `None`: not until then.
    pub again: Option<Instant>,
    /// Whether a Task that is being deleted need not wait for its operation.
    pub may_go: bool,
    /// Whether the provider that is to be called is not configured.
    pub is_unknown: bool,
    /// What is remembered of the calls.
    pub memory: Option<Remembered>,
}

/// What is remembered of the calls for an operation.
#[derive(Clone, Debug)]
pub struct Remembered {
    key: Key,
    attempts: i32,
    memory: Memory,
}

/// What a turn goes by.
struct Turn<'o> {
    operations: &'o Operations,
    client: &'o Client,
    key: &'o ObjectRef<Watched>,
    memory: Option<Remembered>,
}

/// Has a turn over the Task of this name by this client, with what is remembered from the last.
///
/// # Errors
/// When the API server does not do as it should; what was learnt and not written is learnt again.
pub async fn turn(
    operations: &Operations,
    client: &Client,
    key: &ObjectRef<Watched>,
    memory: Option<Remembered>,
) -> Result<Ended, request::Error> {
    let mut turn = Turn {
        operations,
        client,
        key,
        memory,
    };
    let Some(mut task) = store::read(client, key).await? else {
        return Ok(turn.ended(None, later(LOST_PAUSE)));
    };
    let mut news = None;
    for _ in 0..STEPS {
        let situation = turn.situation(&task);
        let connection = operations.connection(&situation);
        let policy = policy(connection.as_deref());
        let step = decide(&situation, &policy, news.as_ref());
        if let Some(news) = &news {
            turn.remember(&situation, news, &step);
        }
        let calls = matches!(step, Step::Call(_) | Step::Start(_));
        let (connection, permit) = match connection.as_deref().map(|c| (c, c.gate.enter())) {
            _ if !calls => (None, None),
            None => return Ok(turn.unknown(task, &situation)),
            Some((_, Err(wait))) => return Ok(turn.ended(Some(task), later(wait))),
            Some((connection, Ok(permit))) => (Some(connection), Some(permit)),
        };
        match (step, connection.zip(permit)) {
            (Step::Write(learnt), _) => match turn.write(&task, &learnt).await? {
                Write::Written(written) => {
                    operations.learnt(&written, situation.record.as_ref(), &learnt.record);
                    return Ok(turn.wrote(*written, &learnt.record));
                }
                // What was learnt means what it means for the Task as it is now.
                Write::Lost => match turn.newest(situation.record.as_ref()).await? {
                    Some(newest) => task = newest,
                    None => return Ok(turn.ended(None, later(LOST_PAUSE))),
                },
            },
            (Step::Start(ahead), Some(way)) => match turn.start(&task, &ahead, way).await? {
                Some((written, answered)) => (task, news) = (written, Some(answered)),
                None => return Ok(turn.ended(None, later(LOST_PAUSE))),
            },
            (Step::Call(call), Some(way)) => news = turn.call(&situation, call, way).await,
            (step, _) => {
                let may_go = may_go(&situation, Some(&policy));
                let again = match step {
                    Step::Wait(until) => Some(instant(until)),
                    _ => None,
                };
                let task = match &situation.record {
                    Some(record) if again.is_none() || observe::is_wanted(&task, record) => {
                        turn.acknowledge(task, record).await?
                    }
                    _ => task,
                };
                let ended = turn.ended(Some(task), again);
                return Ok(Ended { may_go, ..ended });
            }
        }
    }
    Ok(turn.ended(Some(task), later(LOST_PAUSE)))
}

impl Turn<'_> {
    fn situation(&self, task: &Task) -> Situation {
        let record = task.status.as_ref().and_then(observe::record);
        let memory = match (&self.memory, &record) {
            (Some(of), Some(record)) if of.key != record.key => Memory::default(),
            (Some(of), Some(record)) if of.attempts != record.attempts => {
                of.memory.of_earlier_attempt()
            }
            (Some(of), Some(_)) => of.memory,
            _ => Memory::default(),
        };
        self.operations.situation(task, memory)
    }

    /// Writes the record ahead, and only then makes the call that starts the operation. `None`: others were faster, and nothing was done.
    async fn start(
        &self,
        task: &Task,
        ahead: &Record,
        (connection, permit): (&Connection, Permit),
    ) -> Result<Option<(Task, News)>, request::Error> {
        let patch = status::patch(task, ahead, None, true, Timestamp::now());
        // A write that is not known to have happened is no leave to call.
        let Write::Written(task) = store::write(self.client, self.key, &patch).await? else {
            return Ok(None);
        };
        let request = Request::of(&task, self.operations.callback_url());
        let Some(body) = request.and_then(|request| serde_json::to_vec(&request).ok()) else {
            return Ok(None);
        };
        self.operations.starts(&task, ahead);
        let answer = connection.start(permit, &ahead.key, &body).await;
        tracing::info!(
            task = %self.key, key = %ahead.key, attempt = ahead.attempts, ?answer,
            "the provider was asked to start the operation"
        );
        Ok(Some((*task, News::Started(answer))))
    }

    async fn call(
        &self,
        situation: &Situation,
        call: Call,
        (connection, permit): (&Connection, Permit),
    ) -> Option<News> {
        let record = situation.record.as_ref()?;
        let name = match (call, &record.handle) {
            (Call::Poll | Call::Cancel, Some(handle)) => handle,
            _ => record.key.as_str(),
        };
        let answer = connection.ask(permit, call, name).await;
        tracing::info!(
            task = %self.key, key = %record.key, ?call, ?answer,
            "the provider was asked about the operation"
        );
        Some(News::Called(call, answer))
    }

    fn remember(&mut self, situation: &Situation, news: &News, step: &Step) {
        if let Some(record) = &situation.record {
            self.memory = Some(Remembered {
                key: record.key.clone(),
                attempts: record.attempts,
                memory: situation.memory.after(news, step),
            });
        }
    }

    /// Writes what was learnt. It is the answer to a call, and is not to be lost to an API server that has trouble for a moment.
    async fn write(&self, task: &Task, learnt: &Learnt) -> Result<Write, request::Error> {
        let patch = patch(task, learnt, Timestamp::now());
        let mut tries = 1;
        loop {
            match store::write(self.client, self.key, &patch).await {
                Err(error) if tries < WRITES => {
                    tracing::warn!(task = %self.key, %error, "what the provider said is not written yet");
                    tries += 1;
                    tokio::time::sleep(WRITE_PAUSE).await;
                }
                written => return written,
            }
        }
    }

    /// The Task as it is now, if it is still about the same operation.
    async fn newest(&self, record: Option<&Record>) -> Result<Option<Task>, request::Error> {
        let newest = store::read(self.client, self.key).await?;
        Ok(newest.filter(|newest| {
            let now = newest.status.as_ref().and_then(observe::record);
            now.map(|record| record.key) == record.map(|record| record.key.clone())
        }))
    }

    /// Notes in the status that the spec of this generation was looked at, if it does not say so yet.
    async fn acknowledge(&self, task: Task, record: &Record) -> Result<Task, request::Error> {
        if observe::is_seen(&task) {
            return Ok(task);
        }
        let patch = status::patch(&task, record, None, true, Timestamp::now());
        match store::write(self.client, self.key, &patch).await? {
            Write::Written(written) => Ok(*written),
            Write::Lost => Ok(task),
        }
    }

    /// The turn ends, since the provider is not known. The deadline of a deletion passes all the same.
    fn unknown(self, task: Task, situation: &Situation) -> Ended {
        let deadline = Policy::default().deletion_deadline;
        let again = situation
            .leaving_since
            .map(|since| instant(schedule::after(since, deadline)));
        let may_go = may_go(situation, None);
        Ended {
            may_go,
            is_unknown: true,
            ..self.ended(Some(task), again)
        }
    }

    /// The turn ends with what it has written. What follows an end is decided at once: another operation may be wanted.
    fn wrote(self, task: Task, record: &Record) -> Ended {
        let is_over = record.stage.is_terminal();
        let again = if is_over {
            Some(Instant::now())
        } else {
            record.next_check_at.map(instant)
        };
        Ended {
            may_go: is_over,
            ..self.ended(Some(task), again)
        }
    }

    fn ended(self, task: Option<Task>, again: Option<Instant>) -> Ended {
        Ended {
            task: task.map(Box::new),
            again,
            may_go: false,
            is_unknown: false,
            memory: self.memory,
        }
    }
}

/// The patch of the status of `task`, as it was read, that makes it say what was learnt.
pub(super) fn patch(task: &Task, learnt: &Learnt, now: Timestamp) -> Value {
    let is_seen = observe::is_wanted(task, &learnt.record);
    status::patch(task, &learnt.record, learnt.failure.as_ref(), is_seen, now)
}

/// What the administrator decided for a provider. Without one nothing is called, and only what needs no call is decided.
pub(super) fn policy(connection: Option<&Connection>) -> Policy {
    connection.map_or_else(Policy::default, |connection| {
        connection.settings.provider.policy()
    })
}

fn later(wait: Duration) -> Option<Instant> {
    Some(Instant::now() + wait)
}

fn instant(at: Timestamp) -> Instant {
    let wait = Duration::try_from(at.duration_since(Timestamp::now())).unwrap_or(Duration::ZERO);
    Instant::now() + wait
}
