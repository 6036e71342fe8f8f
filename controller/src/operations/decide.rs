//! What to do next about an operation. Pure.
//!
//! [`decide`] is asked twice a turn: without news, what to do; with the answer to the call that it asked for, what the answer means.
//! These hold whatever answers, crashes and late messages there are, and `model.rs` beside this file tries them out:
//!
//! - **One operation for each key.** The first byte goes out only after the key is in the status ([`Step::Start`]); a call that may have had
//!   an effect is repeated only with the same key and the same request, while the provider still knows the key, or after the provider has
//!   said that it never accepted it.
//! - **A new key only after the old one's end**: when the spec asks for something else, or a person asks to try again.
//! - **It ends.** Each stage is left after a time that is bounded, as long as the provider is configured.
//! - **The first end counts.** Nothing changes the outcome of an operation that has ended.

mod answered;
mod endings;
#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;

use endings::{given_up, never_accepted, unknown_start};

use super::{
    answer::{Answer, Failure, Told},
    key::Key,
    schedule,
    situation::{
        DeletionPolicy, FollowUp, Memory, Policy, Polling, Record, Situation, Stage, Wanted,
    },
};
use crate::names::operation_reason as reason;

/// After so many calls in a row that led nowhere an operation that should end is given up.
const GIVE_UP_AFTER: u32 = 8;

/// The pause between two looks at an operation that was asked to end.
const CANCEL_PAUSE: Duration = Duration::from_secs(5);

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Nothing, until the Task changes.
    Rest,
    /// Nothing before this time.
    Wait(Timestamp),
    /// Make this call, and bring back its answer.
    Call(Call),
    /// Write this record, if the Task is still as it was when this was decided, and only then make the call that starts the operation, and
    /// bring back its answer.
    Start(Record),
    /// Write what was learnt.
    Write(Learnt),
}

/// A call to a provider about an operation that it may know already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// Ask about it by its `Operation-Id`.
    LookUp,
    /// Ask how it stands.
    Poll,
    /// Ask it to end.
    Cancel,
}

/// What the status is to say from now on.
#[derive(Clone, Debug, PartialEq)]
pub struct Learnt {
    /// The record.
    pub record: Record,
    /// What went wrong, to be added to the failures.
    pub failure: Option<Failure>,
}

/// Something that was learnt from a provider.
#[derive(Clone, Debug, PartialEq)]
pub enum News {
    /// The answer to the call that starts an operation.
    Started(Answer),
    /// The answer to another call.
    Called(Call, Answer),
    /// What the provider told by itself.
    Signal(Signal),
}

/// What a provider told by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Signal {
    /// What tells this message from all others.
    pub event_id: String,
    /// How the operation stands.
    pub told: Told,
}

/// What is to become of an operation that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Its own end.
    Follow,
    /// Its end, soon.
    End(Why),
    /// It is none of ours any more.
    LetGo,
}

/// Why an operation should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It took too long.
    TimedOut,
    /// The spec asks for another, or for none.
    Superseded,
    /// The Task is being deleted.
    Deleted,
}

/// What to do next about the operation of a Task. `news` is about the operation in the record; whoever brings it has seen to that.
///
/// The policy is that of [`Situation::provider`].
pub fn decide(situation: &Situation, policy: &Policy, news: Option<&News>) -> Step {
    match (&situation.record, news) {
        (Some(record), Some(news)) => answered::take_in(situation, policy, record, news),
        (Some(record), None) if record.stage.is_terminal() => {
            after_the_end(situation, policy, record)
        }
        (Some(record), None) => go_on(situation, policy, record),
        // What is said of an operation that is not recorded is about none of ours.
        (None, Some(_)) => Step::Rest,
        (None, None) => begin(situation, policy),
    }
}

/// Whether a Task that is being deleted need not be held back any longer for its operation. `None` stands for a provider that is not
/// configured.
pub fn may_go(situation: &Situation, policy: Option<&Policy>) -> bool {
    let Some(record) = situation
        .record
        .as_ref()
        .filter(|record| !record.stage.is_terminal())
    else {
        return true;
    };
    let unknown = Policy::default();
    goal(situation, policy.unwrap_or(&unknown), record) == Goal::LetGo
}

fn begin(situation: &Situation, policy: &Policy) -> Step {
    let Some(wanted) = &situation.wanted else {
        return Step::Rest;
    };
    if situation.leaving_since.is_some() {
        return Step::Rest;
    }
    let key = Key::new(
        &wanted.provider,
        &situation.uid,
        situation.generation,
        wanted.retry.as_ref(),
        situation.record.as_ref().map(|record| &record.key),
    );
    let now = schedule::after(situation.now, Duration::ZERO);
    Step::Start(Record {
        key,
        request_hash: Some(wanted.request_hash.clone()),
        attempts: 1,
        started_at: now,
        next_check_at: Some(schedule::after(now, policy.call_timeout)),
        handle: None,
        url: None,
        last_event_id: None,
        stage: Stage::Starting,
    })
}

fn after_the_end(situation: &Situation, policy: &Policy, record: &Record) -> Step {
    let Some(wanted) = &situation.wanted else {
        return Step::Rest;
    };
    let asked_again = wanted
        .retry
        .as_ref()
        .is_some_and(|token| !record.key.answers(token));
    let again = match &record.stage {
        Stage::Failed { reason, .. } if reason::needs_a_person(reason) => asked_again,
        Stage::Failed { reason, .. } => {
            asked_again || is_other(record, wanted) || reason == reason::SUPERSEDED
        }
        _ => is_other(record, wanted),
    };
    if again {
        begin(situation, policy)
    } else {
        Step::Rest
    }
}

fn go_on(situation: &Situation, policy: &Policy, record: &Record) -> Step {
    let goal = goal(situation, policy, record);
    let due = record.next_check_at.filter(|at| *at > situation.now);
    match (&record.handle, goal, due) {
        (_, Goal::LetGo, _) => Step::Rest,
        (_, Goal::End(why), _) if gave_up(situation, why) => {
            Step::Write(given_up(situation, record, why))
        }
        // Until then the call that starts it may be under way.
        (None, _, Some(at)) => Step::Wait(at),
        (None, goal, None) => resolve(situation, policy, record, goal),
        (Some(_), Goal::Follow, Some(at)) => {
            Step::Wait(at.min(followed_until(situation, policy, record).unwrap_or(at)))
        }
        (Some(_), Goal::End(_), Some(at)) if record.stage == Stage::Canceling => Step::Wait(at),
        (Some(_), Goal::End(_), _) if situation.memory.follow_up == Some(FollowUp::Cancel) => {
            Step::Call(Call::Cancel)
        }
        // It may have ended by itself.
        (Some(_), Goal::Follow | Goal::End(_), _) => Step::Call(Call::Poll),
    }
}

/// Finds out what became of a call to start the operation whose answer is not known.
fn resolve(situation: &Situation, policy: &Policy, record: &Record, goal: Goal) -> Step {
    let without_effect = situation.memory.without_effect;
    let leaving = situation.leaving_since.is_some();
    match goal {
        _ if policy.lookup && is_known_to_run(record) => Step::Call(Call::LookUp),
        Goal::End(why) if without_effect && record.attempts == 1 => {
            Step::Write(never_accepted(situation, record, why))
        }
        Goal::Follow if without_effect && record.attempts == 1 && leaving => {
            Step::Write(never_accepted(situation, record, Why::Deleted))
        }
        Goal::Follow if situation.memory.follow_up == Some(FollowUp::Repeat) && !leaving => {
            repeat(situation, policy, record)
        }
        Goal::Follow if without_effect => repeat_or_ask(situation, policy, record),
        _ if policy.lookup => Step::Call(Call::LookUp),
        _ => repeat_or_ask(situation, policy, record),
    }
}

/// Makes the same call again, if the provider will take it for the same; else it is for a person to say.
fn repeat_or_ask(situation: &Situation, policy: &Policy, record: &Record) -> Step {
    // The call must arrive, at the latest when it is given up, while the key lives.
    let arrives = schedule::after(situation.now, policy.call_timeout);
    let is_alive = arrives < schedule::after(record.started_at, policy.key_lifetime);
    match &situation.wanted {
        Some(wanted) if is_alive && !is_other(record, wanted) => repeat(situation, policy, record),
        _ => Step::Write(unknown_start(situation, record)),
    }
}

/// Whether the provider has accepted the operation: it answered so, or has told of it by itself.
fn is_known_to_run(record: &Record) -> bool {
    record.handle.is_some() || record.last_event_id.is_some()
}

fn repeat(situation: &Situation, policy: &Policy, record: &Record) -> Step {
    Step::Start(Record {
        attempts: record.attempts.saturating_add(1),
        next_check_at: Some(schedule::after(situation.now, policy.call_timeout)),
        ..record.clone()
    })
}

fn goal(situation: &Situation, policy: &Policy, record: &Record) -> Goal {
    if let Some(since) = situation.leaving_since {
        let deadline = schedule::after(since, policy.deletion_deadline);
        return match policy.deletion {
            DeletionPolicy::Orphan => Goal::LetGo,
            _ if situation.now >= deadline => Goal::LetGo,
            DeletionPolicy::Cancel => Goal::End(Why::Deleted),
            DeletionPolicy::Wait => Goal::Follow,
        };
    }
    match &situation.wanted {
        Some(wanted) if is_other(record, wanted) => Goal::End(Why::Superseded),
        Some(wanted) if situation.now >= time_is_up(record, wanted) => Goal::End(Why::TimedOut),
        Some(_) => Goal::Follow,
        None => Goal::End(Why::Superseded),
    }
}

/// Whether the spec asks for another operation than the recorded one. Of a record that others wrote nothing is known.
fn is_other(record: &Record, wanted: &Wanted) -> bool {
    record
        .request_hash
        .as_ref()
        .is_some_and(|hash| *hash != wanted.request_hash)
}

/// Until when an operation is followed at most. Once the Task is being deleted it is the deletion that may take too long.
fn followed_until(situation: &Situation, policy: &Policy, record: &Record) -> Option<Timestamp> {
    match (situation.leaving_since, &situation.wanted) {
        (Some(since), _) => Some(schedule::after(since, policy.deletion_deadline)),
        (None, Some(wanted)) => Some(time_is_up(record, wanted)),
        (None, None) => None,
    }
}

fn time_is_up(record: &Record, wanted: &Wanted) -> Timestamp {
    schedule::after(record.started_at, wanted.timeout)
}

/// A deletion has a deadline of its own.
fn gave_up(situation: &Situation, why: Why) -> bool {
    why != Why::Deleted && situation.memory.tries >= GIVE_UP_AFTER
}

impl Memory {
    /// What is remembered after `step` followed from these news.
    #[must_use]
    pub fn after(self, news: &News, step: &Step) -> Self {
        let went_further = match news {
            News::Started(answer) | News::Called(Call::LookUp, answer) => {
                matches!(answer, Answer::Told(_) | Answer::NotFound)
            }
            // An operation that is to end and goes on is no further, whatever it says.
            News::Called(Call::Poll, answer) => {
                matches!(answer, Answer::Told(_)) && *step != Step::Call(Call::Cancel)
            }
            News::Called(Call::Cancel, _) => false,
            News::Signal(_) => return self,
        };
        let without_effect = match news {
            News::Started(Answer::Failed { without_effect, .. }) => *without_effect,
            _ => false,
        };
        Self {
            tries: match (went_further, news) {
                (true, _) => 0,
                // The call that follows at once counts for both.
                (false, News::Called(Call::Poll, _)) if *step == Step::Call(Call::Cancel) => {
                    self.tries
                }
                (false, _) => self.tries.saturating_add(1),
            },
            without_effect,
            follow_up: match step {
                Step::Start(_) => Some(FollowUp::Repeat),
                Step::Call(_) => Some(FollowUp::Cancel),
                Step::Rest | Step::Wait(_) | Step::Write(_) => None,
            },
        }
    }
}

impl Default for Policy {
    /// The policy of a provider of which the configuration says nothing more.
    fn default() -> Self {
        Self {
            call_timeout: Duration::from_secs(10),
            lookup: true,
            key_lifetime: Duration::from_secs(24 * 3600),
            poll_interval: Duration::from_secs(30),
            slow_poll_interval: Duration::from_secs(300),
            deletion: DeletionPolicy::Cancel,
            deletion_deadline: Duration::from_secs(600),
        }
    }
}

/// When an operation that runs is looked at next, if the provider asks for `retry_after`.
fn next_poll(
    situation: &Situation,
    policy: &Policy,
    record: &Record,
    retry_after: Option<Duration>,
) -> Timestamp {
    let usual = |base| schedule::poll(base, situation.pressure, situation.random);
    let wait = match situation.wanted.as_ref().map(|wanted| wanted.polling) {
        Some(Polling::Slow) => usual(policy.slow_poll_interval),
        Some(Polling::Usual) | None => retry_after.unwrap_or_else(|| usual(policy.poll_interval)),
    };
    let next = schedule::after(situation.now, wait);
    next.min(followed_until(situation, policy, record).unwrap_or(next))
}
