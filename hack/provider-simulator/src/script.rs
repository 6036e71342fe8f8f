//! What becomes of an operation, as the parameters of its Task say.

use serde::Deserialize;

/// What becomes of an operation.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Script {
    /// How long it runs.
    pub seconds: f64,
    /// How it ends.
    pub outcome: Outcome,
    /// What goes wrong with calls for it.
    pub faults: Faults,
    /// How its end is told, if the operator asked for callbacks.
    pub callbacks: Callbacks,
    /// Whether its end is published.
    pub events: bool,
}

/// How the end of an operation is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Callbacks {
    /// At the end, until it is taken.
    #[default]
    AtTheEnd,
    /// The same, and how it stands before the call that starts it is answered.
    Early,
    /// Not at all.
    Lost,
}

/// How an operation ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Outcome {
    /// Well.
    #[default]
    Succeeded,
    /// Badly.
    Failed,
    /// Cancelled by the provider.
    Canceled,
    /// Only when it is cancelled.
    Never,
}

/// What goes wrong with the first calls of each kind; those after go well.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Faults {
    /// Calls that start it.
    pub start: Vec<Fault>,
    /// Calls that ask about it.
    pub poll: Vec<Fault>,
    /// Calls that cancel it.
    pub cancel: Vec<Fault>,
}

/// What goes wrong with a call.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct Fault {
    /// It has its effect all the same.
    pub accept: bool,
    /// The answer comes so much later.
    pub delay_ms: u64,
    /// The answer is this.
    pub status: Option<u16>,
    /// The header `Retry-After` of that answer.
    pub retry_after: Option<String>,
    /// There is no answer.
    pub hang: bool,
    /// The connection breaks in the middle of the answer.
    pub drop: bool,
}

impl Fault {
    /// Whether the call gets the answer that it would get if nothing went wrong, if later.
    pub fn is_harmless(&self) -> bool {
        self.status.is_none() && !self.hang && !self.drop
    }
}
