//! Which turn of a Task's status is worth an Event. Pure.
//!
//! An Event is told of a turn that the status records, once that is written; so it is told once, also by a controller that was started
//! anew, and not again by passes that find the same.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use task_api_v1::{
    TaskStatus,
    names::{condition, reason as api_reason},
};

use super::status::OwnStatus;
use crate::{
    events::Note,
    names::{event, reason},
};

/// What to tell when the status of a Task was `before` and is `after` now.
///
/// Numbers in a message move without anything having turned, so the message does not count.
pub fn note(before: Option<&TaskStatus>, after: &OwnStatus) -> Option<Note> {
    let before = before.and_then(|before| standing(before.conditions.iter().flatten()));
    let after = standing(&after.conditions)?;
    let is_same = before.is_some_and(|before| {
        before.type_ == after.type_
            && (after.type_ == condition::READY
                || (before.reason == after.reason
                    && before.observed_generation == after.observed_generation))
    });
    let reason = match (after.type_.as_str(), after.reason.as_str()) {
        _ if is_same => return None,
        (condition::READY, _) => event::RECONCILE_SUCCEEDED,
        (condition::STALLED, api_reason::CHILD_CONFLICT) => event::CHILD_CONFLICT,
        (condition::STALLED, _) | (_, reason::RETRYING) => event::RECONCILE_FAILED,
        (_, reason::CLEAN_UP_FAILED) => event::CLEAN_UP_FAILED,
        _ => return None,
    };
    Some(Note {
        reason,
        text: after.message.clone(),
    })
}

/// The condition that is true of the three that tell how a Task is.
fn standing<'c>(conditions: impl IntoIterator<Item = &'c Condition>) -> Option<&'c Condition> {
    let types = [condition::READY, condition::RECONCILING, condition::STALLED];
    conditions
        .into_iter()
        .find(|condition| types.contains(&condition.type_.as_str()) && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::at;

    fn conditions(type_: &str, reason: &str, generation: i64, message: &str) -> Vec<Condition> {
        [condition::READY, condition::RECONCILING, condition::STALLED]
            .map(|each| Condition {
                type_: each.to_owned(),
                status: if each == type_ { "True" } else { "False" }.to_owned(),
                reason: reason.to_owned(),
                message: message.to_owned(),
                observed_generation: Some(generation),
                last_transition_time: at(0),
            })
            .to_vec()
    }

    /// The reason of the Event when a Task turns from one state, reason and generation to another.
    fn told(before: Option<(&str, &str, i64)>, after: (&str, &str, i64)) -> Option<&'static str> {
        let before = before.map(|(type_, reason, generation)| TaskStatus {
            conditions: Some(conditions(type_, reason, generation, "1 of 3")),
            ..TaskStatus::default()
        });
        let after = OwnStatus {
            conditions: conditions(after.0, after.1, after.2, "2 of 3"),
            ..OwnStatus::default()
        };
        note(before.as_ref(), &after).map(|note| note.reason)
    }

    #[test]
    fn a_turn_is_told_and_what_stays_is_not() {
        let rollout = ("Reconciling", "Progressing", 1);
        let ready = ("Ready", "Available", 1);
        let refused = ("Stalled", "Forbidden", 1);
        let conflict = ("Stalled", "ChildConflict", 1);
        let retrying = ("Reconciling", "Retrying", 1);
        for (before, after, expected) in [
            (None, rollout, None),
            (None, ready, Some("ReconcileSucceeded")),
            (Some(rollout), ready, Some("ReconcileSucceeded")),
            (Some(ready), ready, None),
            (Some(ready), ("Ready", "Available", 2), None),
            (Some(ready), rollout, None),
            (Some(rollout), refused, Some("ReconcileFailed")),
            (Some(refused), refused, None),
            (
                Some(refused),
                ("Stalled", "Forbidden", 2),
                Some("ReconcileFailed"),
            ),
            (Some(refused), conflict, Some("ChildConflict")),
            (Some(conflict), conflict, None),
            (Some(conflict), ready, Some("ReconcileSucceeded")),
            (Some(rollout), retrying, Some("ReconcileFailed")),
            (Some(retrying), retrying, None),
            (Some(retrying), rollout, None),
            (
                Some(("Reconciling", "Deleting", 2)),
                ("Reconciling", "CleanupFailed", 2),
                Some("CleanupFailed"),
            ),
            (
                Some(("Reconciling", "CleanupFailed", 2)),
                ("Reconciling", "CleanupFailed", 2),
                None,
            ),
        ] {
            assert_eq!(told(before, after), expected, "{before:?} to {after:?}");
        }
    }
}
