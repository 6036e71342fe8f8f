//! How a command ended.

use std::process::ExitCode;

/// How a command ended that did what it was to do. One that could not ends with an error, whose exit code is [`ERROR`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was found that the person must know of.
    Fine,
    /// Something was.
    Findings,
    /// What was waited for did not come.
    TimedOut,
}

/// The exit code of wrong usage and of a command that could not do what it was to do.
pub const ERROR: u8 = 2;

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Fine => 0,
            Outcome::Findings => 1,
            // As timeout(1) has it.
            Outcome::TimedOut => 124,
        })
    }
}
