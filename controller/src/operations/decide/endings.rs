//! The ends that an operation can come to, in the words of its status.

use super::{Learnt, Why};
use crate::{
    names::operation_reason as reason,
    operations::{
        answer::Failure,
        situation::{Record, Situation, Stage},
    },
};

/// It should end, and nothing that was tried got it there.
pub fn given_up(situation: &Situation, record: &Record, why: Why) -> Learnt {
    match (&record.handle, why) {
        (None, _) => unknown_start(situation, record),
        (Some(_), Why::TimedOut) => failed(
            situation,
            record,
            reason::TIMEOUT,
            "the operation took too long, and could not be cancelled",
        ),
        (Some(_), _) => failed(
            situation,
            record,
            reason::CANCEL_FAILED,
            "the operation could not be cancelled, and may still be running",
        ),
    }
}

/// Whether there is an operation is not known, and cannot be found out.
pub fn unknown_start(situation: &Situation, record: &Record) -> Learnt {
    failed(
        situation,
        record,
        reason::START_UNKNOWN,
        "it is not known whether the provider accepted the operation, and it cannot be asked any more: see there, then set the annotation \
         task.example.io/retry-operation to start another",
    )
}

/// It was there, and the provider knows nothing of it any more.
pub fn forgotten(situation: &Situation, record: &Record) -> Learnt {
    failed(
        situation,
        record,
        reason::RESULT_UNKNOWN,
        "the provider has forgotten the operation, so how it ended is not known",
    )
}

/// It should end, and there is none.
pub fn never_accepted(situation: &Situation, record: &Record, why: Why) -> Learnt {
    match why {
        Why::TimedOut => failed(
            situation,
            record,
            reason::TIMEOUT,
            "the operation could not be started in time",
        ),
        Why::Superseded => failed(
            situation,
            record,
            reason::SUPERSEDED,
            "the operation was not started before the spec asked for another",
        ),
        Why::Deleted => failed(
            situation,
            record,
            reason::CANCELED,
            "the operation was not started before the Task was deleted",
        ),
    }
}

/// It should end, and has.
pub fn ended(situation: &Situation, record: &Record, why: Why) -> Learnt {
    match why {
        Why::TimedOut => failed(
            situation,
            record,
            reason::TIMEOUT,
            "the operation took too long and was cancelled",
        ),
        Why::Superseded => failed(
            situation,
            record,
            reason::SUPERSEDED,
            "the operation was cancelled since the spec asks for another",
        ),
        Why::Deleted => failed(
            situation,
            record,
            reason::CANCELED,
            "the operation was cancelled since the Task is being deleted",
        ),
    }
}

/// It ended for a reason of ours.
pub fn failed(situation: &Situation, record: &Record, reason: &str, message: &str) -> Learnt {
    // That it was to end is no failure.
    let failure = (reason != reason::SUPERSEDED).then(|| Failure::new(reason, message));
    let stage = Stage::Failed {
        at: situation.now,
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    at_the_end(record, stage, failure)
}

/// It ended for a reason of the provider's, whose code is none of our reasons, whatever it is.
pub fn failed_by_provider(
    situation: &Situation,
    record: &Record,
    reason: &str,
    failure: &Failure,
) -> Learnt {
    let stage = Stage::Failed {
        at: situation.now,
        reason: reason.to_owned(),
        message: format!("{}: {}", failure.code, failure.message),
    };
    at_the_end(record, stage, Some(failure.clone()))
}

/// It has come to this end.
pub fn at_the_end(record: &Record, stage: Stage, failure: Option<Failure>) -> Learnt {
    Learnt {
        record: Record {
            next_check_at: None,
            stage,
            ..record.clone()
        },
        failure,
    }
}
