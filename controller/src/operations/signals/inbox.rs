//! Taking in what a provider tells by itself, whatever way it came.
//!
//! Any replica does, also one that does not own the shard of the Task. That is sound, since all that it writes is what
//! [`decide`](crate::operations::decide) makes of the Task as it was just read, and only if the Task is still as it was read: whichever replica writes
//! first, the other one loses and decides anew from what it finds. It makes no call to a provider and touches nothing but the status; the
//! owner hears of the write by its watch and does what follows.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use kube::{Client, runtime::reflector::ObjectRef};

use crate::{
    operations::{
        decide::{News, Signal, Step, decide},
        driver::Operations,
        key::Key,
        metrics::Metrics,
        situation::Memory,
        store::{self, Write},
        turn,
    },
    reconcile::request,
    watched::Watched,
};

/// How often a Task is read and written that others are writing too.
const TRIES: u32 = 8;

/// The pause after the first write that came too late, for the next ones a multiple of it.
const PAUSE: Duration = Duration::from_millis(20);

/// The way by which a message came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The callback server.
    Callback,
    /// The queue.
    Queue,
}

impl Source {
    /// Its name in logs and metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Callback => "callback",
            Self::Queue => "queue",
        }
    }
}

/// What became of a message that is from whom it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "the sender is to be told"]
pub enum Taken {
    /// The status says what follows from it.
    Written,
    /// Nothing follows from it: it came before, or says what was known.
    Known,
    /// There is no such Task, or its operation is another one.
    Foreign,
}

/// Why a message was not taken in. It should come again.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server does not do as it should.
    #[error(transparent)]
    Request(#[from] request::Error),
    /// Others changed the Task each time.
    #[error("the Task was changed by others {TRIES} times")]
    Busy,
}

impl Error {
    /// Whether it is for the message that the API server will not write it.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Request(error) => matches!(error.code(), Some(400 | 413 | 422)),
            Self::Busy => false,
        }
    }
}

/// Takes messages in.
pub struct Inbox {
    operations: Arc<Operations>,
    client: Client,
    metrics: Metrics,
    namespace: Option<String>,
}

impl Inbox {
    /// Messages about the Tasks of this namespace, or of all, are taken in by this client, which writes whether or not a shard is owned.
    #[must_use]
    pub fn new(
        operations: Arc<Operations>,
        client: Client,
        metrics: Metrics,
        namespace: Option<&str>,
    ) -> Self {
        Self {
            operations,
            client,
            metrics,
            namespace: namespace.map(str::to_owned),
        }
    }

    /// The operations that messages are about.
    #[must_use]
    pub fn operations(&self) -> &Operations {
        &self.operations
    }

    /// Counts a message that came this way, by what became of it.
    pub fn count(&self, source: Source, result: &'static str) {
        self.metrics.signalled(source.name(), result);
    }

    /// Takes in what is told of the operation of `task` that goes by this `Operation-Id`. When it returns well, all that follows is written.
    ///
    /// # Errors
    /// See [`Error`]; then nothing is written.
    pub async fn take(
        &self,
        source: Source,
        task: &ObjectRef<Watched>,
        operation: &Key,
        signal: Signal,
    ) -> Result<Taken, Error> {
        let event_id = signal.event_id.clone();
        let status = signal.told.status;
        let taken = self.settle(task, operation, News::Signal(signal)).await;
        let result = match &taken {
            Ok(Taken::Written) => "written",
            Ok(Taken::Known) => "known",
            Ok(Taken::Foreign) => "foreign",
            Err(_) => "failed",
        };
        self.count(source, result);
        match &taken {
            Ok(_) => tracing::info!(
                %task, key = %operation, source = source.name(), event = event_id, ?status, result,
                "the provider told how the operation stands"
            ),
            Err(error) => tracing::warn!(
                %task, key = %operation, source = source.name(), event = event_id, ?status, %error,
                "what the provider told is not written, and is to come again"
            ),
        }
        taken
    }

    async fn settle(
        &self,
        key: &ObjectRef<Watched>,
        operation: &Key,
        news: News,
    ) -> Result<Taken, Error> {
        if self.namespace.is_some() && self.namespace != key.namespace {
            return Ok(Taken::Foreign);
        }
        for attempt in 1..=TRIES {
            let Some(task) = store::read(&self.client, key).await? else {
                return Ok(Taken::Foreign);
            };
            // What a turn remembers of its calls has no part in what a message means.
            let situation = self.operations.situation(&task, Memory::default());
            let before = situation.record.as_ref();
            if before.is_none_or(|record| record.key != *operation) {
                return Ok(Taken::Foreign);
            }
            let connection = self.operations.connection(&situation);
            let policy = turn::policy(connection.as_deref());
            let Step::Write(learnt) = decide(&situation, &policy, Some(&news)) else {
                return Ok(Taken::Known);
            };
            let patch = turn::patch(&task, &learnt, Timestamp::now());
            match store::write(&self.client, key, &patch).await? {
                Write::Written(written) => {
                    self.operations.learnt(&written, before, &learnt.record);
                    return Ok(Taken::Written);
                }
                Write::Lost => {
                    let wait = PAUSE * attempt;
                    tokio::time::sleep(wait.mul_f64(self.operations.random())).await;
                }
            }
        }
        Err(Error::Busy)
    }
}
