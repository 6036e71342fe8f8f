//! What the next step of an operation is decided from. Pure.

use std::time::Duration;

use jiff::Timestamp;

use super::{
    key::{Key, RetryToken},
    schedule::Pressure,
};

/// All that [`decide`](super::decide::decide) knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Situation {
    /// The time.
    pub now: Timestamp,
    /// A number from 0 to 1 for the jitter of whatever is waited for.
    pub random: f64,
    /// The uid of the Task.
    pub uid: String,
    /// The generation of its spec.
    pub generation: i64,
    /// Since when the Task is being deleted.
    pub leaving_since: Option<Timestamp>,
    /// What the spec asks for.
    pub wanted: Option<Wanted>,
    /// What the status says of the operation.
    pub record: Option<Record>,
    /// What only this process knows, and may have forgotten.
    pub memory: Memory,
    /// How the provider fares.
    pub pressure: Pressure,
}

/// The operation that a Task's spec asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The provider's name.
    pub provider: String,
    /// The hash of the request.
    pub request_hash: String,
    /// How long it may take.
    pub timeout: Duration,
    /// How often the provider is polled.
    pub polling: Polling,
    /// A person's request to try again.
    pub retry: Option<RetryToken>,
}

/// How often a provider is asked about an operation that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polling {
    /// It is how the end is learnt.
    Usual,
    /// It is the net below what the provider tells by itself.
    Slow,
}

/// What the status says of an operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// The idempotency key, which is the `Operation-Id` too.
    pub key: Key,
    /// The hash of the request that the key stands for; `None` where others wrote the status.
    pub request_hash: Option<String>,
    /// How often it was called for, the call that may be under way included.
    pub attempts: i32,
    /// When it was first called for.
    pub started_at: Timestamp,
    /// Before when no call is to be made.
    pub next_check_at: Option<Timestamp>,
    /// The provider's own id. From then on it is known that the provider accepted it.
    pub handle: Option<String>,
    /// Where a person looks at it.
    pub url: Option<String>,
    /// The newest event that was taken in.
    pub last_event_id: Option<String>,
    /// How far it has come.
    pub stage: Stage,
}

/// How far an operation has come.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// The call that starts it is about to go out, is under way, or came to nothing known.
    Starting,
    /// It is accepted, and followed.
    Following,
    /// It is accepted, and was asked to end.
    Canceling,
    /// It succeeded.
    Succeeded {
        /// When that was learnt.
        at: Timestamp,
        /// What came out of it.
        result: Option<String>,
    },
    /// It will come to nothing any more.
    Failed {
        /// When that was learnt.
        at: Timestamp,
        /// Why, in one word: a reason in the sense of conditions.
        reason: String,
        /// Why, in a sentence.
        message: String,
    },
}

/// What a process remembers of the calls that it made for an operation. With nothing remembered, as after a crash, every step is safe all
/// the same: it is merely sooner, or asks once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Calls in a row that got the operation no further.
    pub tries: u32,
    /// The last call to start it is known to have had no effect.
    pub without_effect: bool,
    /// The last answer led to another call, which has still to be made. A budget that suffices for one call only must not have the first
    /// of two made for ever.
    pub follow_up: Option<FollowUp>,
}

/// A call that an answer led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowUp {
    /// The provider never accepted the operation, and is asked again to start it.
    Repeat,
    /// The operation has not ended by itself, and is to be cancelled.
    Cancel,
}

/// What an administrator decided for a provider, as far as the steps of an operation depend on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// After how long a call is given up.
    pub call_timeout: Duration,
    /// Whether the provider can be asked about an operation by its `Operation-Id`.
    pub lookup: bool,
    /// For how long after the first call the provider takes a repeated key for the same operation.
    pub key_lifetime: Duration,
    /// The interval between two polls of a provider that fares well.
    pub poll_interval: Duration,
    /// The same beneath callbacks and messages.
    pub slow_poll_interval: Duration,
    /// What becomes of an operation that runs when its Task is deleted.
    pub deletion: DeletionPolicy,
    /// For how long a deletion is held up at most.
    pub deletion_deadline: Duration,
}

/// What becomes of an operation that runs when its Task is deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum DeletionPolicy {
    /// It is cancelled.
    #[default]
    Cancel,
    /// Its end is waited for.
    Wait,
    /// It is left to itself.
    Orphan,
}

impl Memory {
    /// What is still of use of it after a call to start the operation was made since.
    #[must_use]
    pub fn of_earlier_attempt(self) -> Self {
        Self {
            tries: self.tries,
            ..Self::default()
        }
    }
}

impl Stage {
    /// Whether this is the end.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Succeeded { .. } | Self::Failed { .. })
    }
}

impl Situation {
    /// The provider that the next call goes to: that of the operation that was begun, else that of the one that is wanted.
    pub fn provider(&self) -> Option<&str> {
        let wanted = self.wanted.as_ref().map(|wanted| &*wanted.provider);
        match &self.record {
            Some(record) if !record.stage.is_terminal() => record.key.provider().or(wanted),
            _ => wanted,
        }
    }
}
