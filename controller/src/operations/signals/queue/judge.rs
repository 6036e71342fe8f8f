//! What is to become of a message. Pure.

use std::time::Duration;

use crate::operations::signals::inbox::{self, Taken};

/// The wait before a message comes for the second time; doubled each time.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// The longest wait before a message comes again.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The longest reason for a person, in characters. It goes into a header and into logs, and holds what others wrote.
const REASON_LENGTH_MAX: usize = 512;

/// What came of looking at a message.
#[derive(Debug)]
pub enum Outcome {
    /// It was taken in, or is of no operation.
    Taken(Taken),
    /// It will never say how an operation stands.
    Malformed(String),
    /// It is not from the provider of its operation.
    Unproved,
    /// It is not known yet of whom or of what it is.
    Unknown(&'static str),
    /// It could not be written.
    Failed(inbox::Error),
}

/// Why a message is for a person, in short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadLetter {
    /// It cannot be understood.
    Malformed,
    /// It is not from whom it should be.
    Unproved,
    /// It is of no operation that there is. One that comes after its Task is gone is such a one, and no reason to worry.
    Foreign,
    /// The API server will not have written what it says.
    Refused,
}

impl DeadLetter {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Malformed,
        Self::Unproved,
        Self::Foreign,
        Self::Refused,
    ];

    /// Its name in metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Unproved => "unproved",
            Self::Foreign => "foreign",
            Self::Refused => "refused",
        }
    }
}

/// What is to become of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is done.
    Ack,
    /// It is to come again after this time.
    Later(Duration),
    /// It is for a person.
    Bury {
        /// What it is counted as.
        as_a: DeadLetter,
        /// Why: one line that is not long.
        reason: String,
    },
}

/// What is to become of a message that came for the `count`-th time, of which this came.
///
/// One that cannot be understood is for a person at once. One that does not fit to anything may be early, as may be this replica's
/// watch late, so it is tried `most` times. One that the API server keeps from being written is tried until it is too old: it is not its
/// fault.
pub fn verdict(outcome: Outcome, count: u64, most: u32) -> Verdict {
    let (as_a, reason) = match outcome {
        Outcome::Taken(Taken::Written | Taken::Known) => return Verdict::Ack,
        Outcome::Malformed(reason) => return bury(DeadLetter::Malformed, &reason),
        Outcome::Unproved => {
            let reason = "it was not published below the name of its operation's provider";
            return bury(DeadLetter::Unproved, reason);
        }
        Outcome::Failed(error) if error.is_refusal() => (DeadLetter::Refused, error.to_string()),
        Outcome::Failed(_) => return Verdict::Later(wait(count)),
        Outcome::Taken(Taken::Foreign) => (
            DeadLetter::Foreign,
            "the Task has another operation by now".to_owned(),
        ),
        Outcome::Unknown(what) => (DeadLetter::Foreign, what.to_owned()),
    };
    if count >= u64::from(most) {
        bury(as_a, &format!("after {count} deliveries: {reason}"))
    } else {
        Verdict::Later(wait(count))
    }
}

fn bury(as_a: DeadLetter, reason: &str) -> Verdict {
    let line = reason.chars().filter(|c| !c.is_control());
    Verdict::Bury {
        as_a,
        reason: line.take(REASON_LENGTH_MAX).collect(),
    }
}

/// How long a message waits that came for the `count`-th time.
pub fn wait(count: u64) -> Duration {
    let doublings = u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_WAIT
        .saturating_mul(2_u32.saturating_pow(doublings))
        .min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16) -> Outcome {
        let status = kube::core::Status::failure("no", "Reason").with_code(code);
        let error = crate::reconcile::request::Error::Refused(Box::new(status));
        Outcome::Failed(inbox::Error::Request(error))
    }

    #[test]
    fn what_is_taken_in_is_done_whatever_it_was() {
        for taken in [Taken::Written, Taken::Known] {
            assert_eq!(verdict(Outcome::Taken(taken), 99, 1), Verdict::Ack);
        }
    }

    #[test]
    fn what_fits_to_nothing_is_tried_before_it_is_for_a_person() {
        let another = || Outcome::Taken(Taken::Foreign);
        for (outcome, expected) in [
            (another as fn() -> Outcome, DeadLetter::Foreign),
            (|| Outcome::Unknown("it is of nobody"), DeadLetter::Foreign),
            (|| refused(422), DeadLetter::Refused),
        ] {
            assert_eq!(verdict(outcome(), 2, 3), Verdict::Later(wait(2)));
            let Verdict::Bury { as_a, reason } = verdict(outcome(), 3, 3) else {
                panic!("not buried");
            };
            assert_eq!(as_a, expected);
            assert!(reason.starts_with("after 3 deliveries: "), "{reason}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_for_a_person_at_once() {
        let outcome = Outcome::Malformed("why".to_owned());
        let expected = Verdict::Bury {
            as_a: DeadLetter::Malformed,
            reason: "why".to_owned(),
        };
        assert_eq!(verdict(outcome, 1, 10), expected);
    }

    #[test]
    fn a_reason_is_one_line_that_is_not_long_whatever_it_quotes() {
        let outcome = Outcome::Malformed(format!("not\r\n {}", "1".repeat(1_000_000)));
        let Verdict::Bury { reason, .. } = verdict(outcome, 1, 10) else {
            panic!("not buried");
        };
        assert!(reason.starts_with("not 1"), "{reason}");
        assert_eq!(reason.len(), REASON_LENGTH_MAX);
    }

    #[test]
    fn the_trouble_of_the_api_server_is_not_the_fault_of_a_message() {
        for outcome in [
            refused(500),
            refused(429),
            refused(403),
            Outcome::Failed(inbox::Error::Busy),
        ] {
            assert_eq!(verdict(outcome, 1000, 1), Verdict::Later(LONGEST_WAIT));
        }
    }

    #[test]
    fn waits_are_doubled_up_to_a_minute() {
        let waits: Vec<_> = [0, 1, 2, 3, 7, 8, u64::MAX]
            .map(|count| wait(count).as_millis())
            .into();
        assert_eq!(waits, [500, 500, 1000, 2000, 32000, 60000, 60000]);
    }
}
