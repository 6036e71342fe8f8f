//! What a provider says, as the state machine takes it.

use std::time::Duration;

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The provider told how the operation stands.
    Told(Told),
    /// The provider agreed, and told no more.
    Agreed,
    /// The provider knows of no such operation.
    NotFound,
    /// The provider will not do it, however often it is asked.
    Refused(Failure),
    /// It may go better next time.
    Failed {
        /// What went wrong.
        failure: Failure,
        /// How long the provider asks to wait.
        retry_after: Option<Duration>,
        /// Whether it is certain that the call had no effect.
        without_effect: bool,
    },
}

/// How an operation stands, in the provider's words.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    /// The provider's id of the operation.
    pub id: Option<String>,
    /// Its status.
    pub status: Status,
    /// Why it failed.
    pub error: Option<Failure>,
    /// What came out of it.
    pub result: Option<String>,
    /// Where a person looks at it.
    pub url: Option<String>,
    /// How long the provider asks to wait before it is asked again.
    pub retry_after: Option<Duration>,
}

/// The status of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Status {
    /// It is accepted or runs.
    #[default]
    UnderWay,
    /// It has succeeded.
    Succeeded,
    /// It has failed.
    Failed,
    /// It was cancelled.
    Canceled,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// For programs.
    pub code: String,
    /// For people.
    pub message: String,
}

impl Failure {
    /// A failure with this code and this message.
    pub fn new(code: &str, message: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
        }
    }
}
