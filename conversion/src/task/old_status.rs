//! The names that v1alpha1's status had before v1 named them anew.

use jiff::Timestamp;

use crate::json::{Node, decode, encode};
use crate::lens::OldName;

/// `operation.phase` as `taskStatus`.
pub(super) struct TaskStatus;

/// The old name of each phase.
const PHASES: [(&str, &str); 3] = [
    ("Creating", "Running"),
    ("Ready", "Completed"),
    ("Failed", "Failed"),
];

impl OldName for TaskStatus {
    fn older(&self, phase: &Node<'_>) -> Option<String> {
        let phase = decode(phase.string()?);
        PHASES
            .iter()
            .find(|(new, _)| *new == phase)
            .map(|(_, old)| encode(old))
    }

    fn newer(&self, status: &Node<'_>) -> Option<String> {
        let status = decode(status.string()?);
        PHASES
            .iter()
            .find(|(_, old)| *old == status)
            .map(|(new, _)| encode(new))
    }

    fn agree(&self, a: &Node<'_>, b: &Node<'_>) -> bool {
        same_string(a, b)
    }
}

/// `operation.result` as `taskResult`.
pub(super) struct TaskResult;

impl OldName for TaskResult {
    fn older(&self, result: &Node<'_>) -> Option<String> {
        any_string(result)
    }

    fn newer(&self, result: &Node<'_>) -> Option<String> {
        any_string(result)
    }

    fn agree(&self, a: &Node<'_>, b: &Node<'_>) -> bool {
        same_string(a, b)
    }
}

/// `operation.completedAt` as `completedAt`.
pub(super) struct CompletedAt;

impl OldName for CompletedAt {
    fn older(&self, time: &Node<'_>) -> Option<String> {
        any_string(time)
    }

    fn newer(&self, time: &Node<'_>) -> Option<String> {
        any_string(time)
    }

    /// The same instant in another writing is no edit: clients write times anew.
    fn agree(&self, a: &Node<'_>, b: &Node<'_>) -> bool {
        let instant = |node: &Node<'_>| decode(node.string()?).parse::<Timestamp>().ok();
        same_string(a, b) || instant(a).is_some_and(|a| Some(a) == instant(b))
    }
}

fn any_string(node: &Node<'_>) -> Option<String> {
    node.string().map(|_| node.text().into_owned())
}

fn same_string(a: &Node<'_>, b: &Node<'_>) -> bool {
    a.string().map(decode) == b.string().map(decode)
}
