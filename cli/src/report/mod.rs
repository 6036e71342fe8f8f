//! What a command found, and how it is written: as a table for people, as JSON for programs, as JUnit for CI, as Markdown for a pull
//! request.

mod args;
mod write;

pub use args::{Args, FailOn, Format};
use serde::Serialize;

use crate::Outcome;

/// How much something that was found matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// All is well.
    Ok,
    /// Worth knowing.
    Note,
    /// Something has to be done, or would not work.
    Warn,
    /// Something would be lost.
    Loss,
}

/// One thing that was looked at, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What came of it.
    pub verdict: Verdict,
    /// What was looked at, in a word or two that never change.
    pub check: &'static str,
    /// Where: a file, an object, a field; empty where the check says all.
    pub subject: String,
    /// What was found, and what to do about it.
    pub message: String,
}

/// All that a command found, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The command.
    pub command: &'static str,
    /// What was found.
    pub findings: Vec<Finding>,
}

impl Report {
    /// A report of `command` without a finding.
    #[must_use]
    pub fn of(command: &'static str) -> Self {
        Self {
            command,
            findings: Vec::new(),
        }
    }

    /// Adds a finding.
    pub fn add(
        &mut self,
        verdict: Verdict,
        check: &'static str,
        subject: impl Into<String>,
        message: impl Into<String>,
    ) {
        self.findings.push(Finding {
            verdict,
            check,
            subject: subject.into(),
            message: message.into(),
        });
    }

    /// The gravest verdict.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let verdicts = self.findings.iter().map(|finding| finding.verdict);
        verdicts.max().unwrap_or(Verdict::Ok)
    }

    /// How the command ends that found this.
    #[must_use]
    pub fn outcome(&self, fail_on: FailOn) -> Outcome {
        let fails = match fail_on {
            FailOn::None => false,
            FailOn::Warn => self.verdict() >= Verdict::Warn,
            FailOn::Loss => self.verdict() >= Verdict::Loss,
        };
        if fails {
            Outcome::Findings
        } else {
            Outcome::Fine
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_counts_as_a_failure_is_for_the_person_to_say() {
        let table = [
            (Verdict::Ok, [false, false, false]),
            (Verdict::Note, [false, false, false]),
            (Verdict::Warn, [false, true, false]),
            (Verdict::Loss, [false, true, true]),
        ];
        for (verdict, expected) in table {
            let mut report = Report::of("check");
            report.add(Verdict::Ok, "a", "", "");
            report.add(verdict, "b", "", "");
            let fails = [FailOn::None, FailOn::Warn, FailOn::Loss]
                .map(|fail_on| report.outcome(fail_on) == Outcome::Findings);
            assert_eq!(fails, expected, "{verdict:?}");
        }
    }
}
