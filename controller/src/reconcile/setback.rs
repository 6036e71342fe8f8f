//! Why the children of a Task are not as they should be, in the words of a condition.

use kube::core::Status;
use task_api_v1::names::reason as api_reason;

use super::{apply, finalizer, request};
use crate::names::reason;

/// The longest message put into a condition, in characters; Kubernetes allows 32,768 bytes.
const MESSAGE_LENGTH_MAX: usize = 1024;

/// A setback, as the Task's conditions tell it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setback {
    /// What kind of setback it is.
    pub kind: SetbackKind,
    /// One word for programs: a valid reason of a condition.
    pub reason: String,
    /// A sentence for people.
    pub message: String,
}

/// What may be expected of the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetbackKind {
    /// It passes by itself, and the controller hears of it.
    Waiting,
    /// It may pass by itself.
    Passing,
    /// It stays until somebody acts.
    Lasting,
    /// Nothing failed, but others undo what is done.
    Undone,
}

impl Setback {
    /// The setback that it is to find again that others changed this, which was put right before.
    pub fn undone(what: &str) -> Self {
        Self {
            kind: SetbackKind::Undone,
            reason: reason::CHANGED_BY_OTHERS.to_owned(),
            message: format!("others keep changing {what}"),
        }
    }

    /// The setback that an error of applying children is.
    pub fn of(error: &apply::Error) -> Self {
        let (kind, reason) = match error {
            apply::Error::Conflict { .. } => (SetbackKind::Lasting, api_reason::CHILD_CONFLICT),
            apply::Error::Leaving(_) => (SetbackKind::Waiting, reason::WAITING_FOR_DELETION),
            apply::Error::Request { source, .. } => of_request(source),
            apply::Error::Contended(_) => (SetbackKind::Passing, reason::RETRYING),
            apply::Error::Json { .. } => (SetbackKind::Lasting, reason::CHILD_REFUSED),
        };
        Self::new(kind, reason, error)
    }

    /// The setback that it is not to be able to hold a Task by its finalizer.
    pub fn of_holding(error: &finalizer::Error) -> Self {
        let (kind, reason) = match error {
            finalizer::Error::Request(_, source) => of_request(source),
            finalizer::Error::Contended(_) => (SetbackKind::Passing, reason::RETRYING),
        };
        Self::new(kind, reason, error)
    }

    /// The setback that it is not to be able to clean up after a Task that is being deleted.
    pub fn of_clean_up(error: &finalizer::Error) -> Self {
        Self::new(SetbackKind::Passing, reason::CLEAN_UP_FAILED, error)
    }

    fn new(kind: SetbackKind, reason: &str, error: &impl std::error::Error) -> Self {
        Self {
            kind,
            reason: reason.to_owned(),
            message: error.to_string().chars().take(MESSAGE_LENGTH_MAX).collect(),
        }
    }
}

/// What a request that came to nothing says of the future, and its reason.
fn of_request(error: &request::Error) -> (SetbackKind, &str) {
    match error {
        request::Error::Refused(status) if is_refusal(status.code) || is_exhausted(status) => {
            (SetbackKind::Lasting, refusal_reason(&status.reason))
        }
        request::Error::Refused(_) | request::Error::Failed(_) | request::Error::Timeout => {
            (SetbackKind::Passing, reason::RETRYING)
        }
    }
}

/// What an answer of this code means for the same request made again: nothing better is to be expected.
/// Not so for a conflict, too many requests, and credentials, which are renewed while the process runs.
fn is_refusal(code: u16) -> bool {
    (400..500).contains(&code) && !matches!(code, 401 | 408 | 409 | 429)
}

/// Whether a range is exhausted from which the API server was to take an address or a port. It calls that an internal error of its own, which nothing
/// but the text tells from trouble that passes; but it stays until somebody makes room.
fn is_exhausted(status: &Status) -> bool {
    status.code == 500 && status.message.contains("failed to allocate")
}

/// The API server's own reason where it can be the reason of a condition. Webhooks may give any text.
fn refusal_reason(given: &str) -> &str {
    let valid = given.starts_with(|c: char| c.is_ascii_alphabetic())
        && given.len() <= 128
        && given.chars().all(|c| c.is_ascii_alphanumeric());
    if valid { given } else { reason::CHILD_REFUSED }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16, reason: &str) -> Setback {
        Setback::of(&apply::Error::Request {
            child: "Service web".to_owned(),
            source: request::Error::Refused(Box::new(
                Status::failure("exceeded quota", reason).with_code(code),
            )),
        })
    }

    #[test]
    fn a_refusal_lasts_and_has_the_servers_own_reason() {
        assert_eq!(
            refused(403, "Forbidden"),
            Setback {
                kind: SetbackKind::Lasting,
                reason: "Forbidden".to_owned(),
                message: "cannot apply Service web: exceeded quota".to_owned(),
            }
        );
    }

    #[test]
    fn a_reason_that_no_condition_can_carry_is_replaced() {
        for given in ["", "no deploys on Friday", "-", "9lives", &"x".repeat(129)] {
            assert_eq!(
                refused(403, given).reason,
                reason::CHILD_REFUSED,
                "{given:?}"
            );
        }
    }

    #[test]
    fn trouble_of_the_server_passes() {
        for code in [401, 408, 409, 429, 500, 503, 504] {
            assert_eq!(refused(code, "X").kind, SetbackKind::Passing, "{code}");
        }
    }

    #[test]
    fn an_exhausted_range_lasts_though_the_server_takes_it_for_its_own_error() {
        let message = r#"Internal error occurred: failed to allocate a serviceIP for Service "web": range is full"#;
        let setback = Setback::of(&apply::Error::Request {
            child: "Service web".to_owned(),
            source: request::Error::Refused(Box::new(
                Status::failure(message, "InternalError").with_code(500),
            )),
        });
        assert_eq!(
            (setback.kind, &*setback.reason),
            (SetbackKind::Lasting, "InternalError")
        );
    }

    #[test]
    fn a_foreign_object_is_a_child_conflict() {
        let setback = Setback::of(&apply::Error::Conflict {
            child: "Service web".to_owned(),
            owner: Some("Release web".to_owned()),
        });
        assert_eq!(setback.reason, "ChildConflict");
        assert_eq!(
            setback.message,
            "Service web exists and is controlled by Release web"
        );
    }

    #[test]
    fn a_message_is_cut_to_what_a_condition_should_hold() {
        let setback = Setback::of(&apply::Error::Contended("ü".repeat(5000)));
        assert_eq!(setback.message.chars().count(), MESSAGE_LENGTH_MAX);
    }
}
