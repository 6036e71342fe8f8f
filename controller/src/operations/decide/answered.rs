//! What an answer, or a message, means for an operation.

use std::time::Duration;

use super::{
    CANCEL_PAUSE, Call, Goal, Learnt, News, Signal, Step, Why,
    endings::{
        at_the_end, ended, failed, failed_by_provider, forgotten, never_accepted, unknown_start,
    },
    goal, is_known_to_run, next_poll, reason, repeat,
};
use crate::operations::{
    answer::{Answer, Failure, Status, Told},
    schedule,
    situation::{Policy, Record, Situation, Stage},
};

/// What these news mean for the operation in `record`.
pub fn take_in(situation: &Situation, policy: &Policy, record: &Record, news: &News) -> Step {
    match news {
        News::Signal(signal) => signalled(situation, policy, record, signal),
        _ if record.stage.is_terminal() => late(record, news),
        News::Started(answer) => started(situation, policy, record, answer),
        News::Called(call, answer) => called(situation, policy, record, *call, answer),
    }
}

fn started(situation: &Situation, policy: &Policy, record: &Record, answer: &Answer) -> Step {
    match answer {
        Answer::Told(told) => Step::Write(told_of(situation, policy, record, told)),
        // It has told by itself meanwhile that it accepted a call before this one.
        Answer::Refused(failure) if is_known_to_run(record) => {
            Step::Write(later(situation, record, Some(failure), None))
        }
        // A provider that is asked whether it accepted a call before this one is certain that it did not.
        Answer::Refused(_) if record.attempts > 1 && !policy.lookup => {
            Step::Write(unknown_start(situation, record))
        }
        Answer::Refused(failure) => Step::Write(failed_by_provider(
            situation,
            record,
            reason::REFUSED,
            failure,
        )),
        Answer::Failed {
            failure,
            retry_after,
            ..
        } => Step::Write(later(situation, record, Some(failure), *retry_after)),
        Answer::Agreed | Answer::NotFound => Step::Write(later(situation, record, None, None)),
    }
}

fn called(
    situation: &Situation,
    policy: &Policy,
    record: &Record,
    call: Call,
    answer: &Answer,
) -> Step {
    let goal = goal(situation, policy, record);
    match (call, answer, goal) {
        (_, Answer::Told(told), _) if told.status != Status::UnderWay => {
            Step::Write(told_of(situation, policy, record, told))
        }
        (Call::LookUp, Answer::Told(told), _) => {
            Step::Write(told_of(situation, policy, record, told))
        }
        (Call::LookUp, Answer::NotFound, Goal::End(why)) if is_known_to_run(record) => {
            Step::Write(ended(situation, record, why))
        }
        (Call::LookUp, Answer::NotFound, Goal::Follow) if is_known_to_run(record) => {
            Step::Write(forgotten(situation, record))
        }
        (Call::LookUp, Answer::NotFound, Goal::Follow) if situation.leaving_since.is_some() => {
            Step::Write(never_accepted(situation, record, Why::Deleted))
        }
        (Call::LookUp, Answer::NotFound, Goal::Follow) => repeat(situation, policy, record),
        (Call::LookUp, Answer::NotFound, Goal::End(why)) => {
            Step::Write(never_accepted(situation, record, why))
        }
        (Call::Poll | Call::Cancel, Answer::NotFound, Goal::End(why)) => {
            Step::Write(ended(situation, record, why))
        }
        (Call::Poll, _, Goal::End(_)) => Step::Call(Call::Cancel),
        (Call::Poll, Answer::NotFound, Goal::Follow) => Step::Write(forgotten(situation, record)),
        (Call::Poll, Answer::Told(told), Goal::Follow) => {
            Step::Write(told_of(situation, policy, record, told))
        }
        (Call::Cancel, Answer::Told(_) | Answer::Agreed, Goal::End(Why::TimedOut)) => {
            Step::Write(ended(situation, record, Why::TimedOut))
        }
        (Call::Cancel, answer, Goal::End(_)) => Step::Write(canceling(situation, record, answer)),
        (
            _,
            Answer::Failed {
                failure,
                retry_after,
                ..
            },
            _,
        ) => Step::Write(later(situation, record, Some(failure), *retry_after)),
        (_, Answer::Refused(failure), _) => {
            Step::Write(later(situation, record, Some(failure), None))
        }
        (_, _, Goal::LetGo) => Step::Rest,
        (_, Answer::Agreed | Answer::NotFound | Answer::Told(_), _) => {
            Step::Write(later(situation, record, None, None))
        }
    }
}

fn signalled(situation: &Situation, policy: &Policy, record: &Record, signal: &Signal) -> Step {
    if record.last_event_id.as_ref() == Some(&signal.event_id) {
        return Step::Rest;
    }
    let mut learnt = if record.stage.is_terminal() {
        match contradiction(record, &signal.told) {
            Some(failure) => Learnt {
                record: record.clone(),
                failure: Some(failure),
            },
            None => return Step::Rest,
        }
    } else if policy.lookup && record.handle.is_none() && signal.told.status == Status::UnderWay {
        // Where it is asked about the answer to the start says, or a look-up: an id alone need not lead there.
        Learnt {
            record: Record {
                url: signal.told.url.clone().or_else(|| record.url.clone()),
                ..record.clone()
            },
            failure: None,
        }
    } else {
        let told = Told {
            // What the answer to the start said goes before what is told later.
            id: record.handle.clone().or_else(|| signal.told.id.clone()),
            ..signal.told.clone()
        };
        told_of(situation, policy, record, &told)
    };
    // That it still goes on neither hurries nor puts off the next call.
    if learnt.record.stage == record.stage {
        learnt.record.next_check_at = record.next_check_at;
    }
    learnt.record.last_event_id = Some(signal.event_id.clone());
    Step::Write(learnt)
}

/// News of an operation that has ended already.
fn late(record: &Record, news: &News) -> Step {
    let (News::Started(Answer::Told(told)) | News::Called(_, Answer::Told(told))) = news else {
        return Step::Rest;
    };
    contradiction(record, told).map_or(Step::Rest, |failure| {
        Step::Write(Learnt {
            record: record.clone(),
            failure: Some(failure),
        })
    })
}

/// What is to be noted of an end that is told after another was taken for good, and of whatever is told after it was left to a person to find out.
fn contradiction(record: &Record, told: &Told) -> Option<Failure> {
    if let Stage::Failed { reason, .. } = &record.stage
        && reason::needs_a_person(reason)
    {
        let message = format!(
            "the provider said {:?} after the operation had been left to a person",
            told.status
        );
        return Some(Failure::new(reason::CONTRADICTION, message));
    }
    let agrees = match (&record.stage, told.status) {
        (_, Status::UnderWay) => true,
        (Stage::Succeeded { .. }, status) => status == Status::Succeeded,
        (_, status) => status != Status::Succeeded,
    };
    (!agrees).then(|| {
        let message = format!(
            "the provider said {:?} after the operation had ended otherwise",
            told.status
        );
        Failure::new(reason::CONTRADICTION, message)
    })
}

/// What follows from how the operation stands, in the provider's words. An end counts whatever the operation was to come to.
fn told_of(situation: &Situation, policy: &Policy, record: &Record, told: &Told) -> Learnt {
    let known = Record {
        handle: told
            .id
            .clone()
            .or_else(|| record.handle.clone())
            // A provider that names no id of its own goes by ours.
            .or_else(|| Some(record.key.as_str().to_owned())),
        url: told.url.clone().or_else(|| record.url.clone()),
        ..record.clone()
    };
    let goal = goal(situation, policy, record);
    match told.status {
        Status::Succeeded => {
            let stage = Stage::Succeeded {
                at: situation.now,
                result: told.result.clone(),
            };
            at_the_end(&known, stage, None)
        }
        Status::Failed => {
            let failure = told
                .error
                .clone()
                .unwrap_or_else(|| Failure::new(reason::FAILED, "the provider does not say why"));
            failed_by_provider(situation, &known, reason::FAILED, &failure)
        }
        Status::Canceled => match goal {
            Goal::End(why) => ended(situation, &known, why),
            Goal::Follow | Goal::LetGo => failed(
                situation,
                &known,
                reason::CANCELED,
                "the operation was cancelled at the provider",
            ),
        },
        Status::UnderWay => Learnt {
            record: Record {
                next_check_at: Some(match goal {
                    Goal::End(_) => schedule::after(situation.now, Duration::ZERO),
                    Goal::Follow | Goal::LetGo => {
                        next_poll(situation, policy, &known, told.retry_after)
                    }
                }),
                stage: match record.stage {
                    Stage::Canceling if matches!(goal, Goal::End(_)) => Stage::Canceling,
                    _ => Stage::Following,
                },
                ..known
            },
            failure: None,
        },
    }
}

fn canceling(situation: &Situation, record: &Record, answer: &Answer) -> Learnt {
    let (failure, wait) = match answer {
        Answer::Failed {
            failure,
            retry_after,
            ..
        } => (Some(failure), retry_wait(situation, *retry_after)),
        Answer::Refused(failure) => (Some(failure), retry_wait(situation, None)),
        Answer::Told(told) => (None, told.retry_after.unwrap_or(CANCEL_PAUSE)),
        Answer::Agreed | Answer::NotFound => (None, CANCEL_PAUSE),
    };
    Learnt {
        record: Record {
            stage: Stage::Canceling,
            next_check_at: Some(schedule::after(situation.now, wait)),
            ..record.clone()
        },
        failure: failure.cloned(),
    }
}

/// The same call is made again later.
fn later(
    situation: &Situation,
    record: &Record,
    failure: Option<&Failure>,
    retry_after: Option<Duration>,
) -> Learnt {
    let wait = retry_wait(situation, retry_after);
    Learnt {
        record: Record {
            next_check_at: Some(schedule::after(situation.now, wait)),
            ..record.clone()
        },
        failure: failure.cloned(),
    }
}

/// The wait before a call that failed is made again. After a crash the calls that were recorded count.
fn retry_wait(situation: &Situation, retry_after: Option<Duration>) -> Duration {
    retry_after.unwrap_or_else(|| {
        let failures = situation.memory.tries.saturating_add(1);
        schedule::retry(failures, situation.random)
    })
}
