//! What the status of a Task says of its operation. Pure.
//!
//! It owns `operation`, `lastAsyncOperationID`, `externalSystemURL`, `failureDetails`, and of the conditions `AsyncOperation` and
//! `TerminalError`; the rest belongs to the reconciler.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use serde_json::{Value, json};
use task_api_v1::{
    FailureDetail, OperationPhase, OperationStatus, Task, TaskStatus, names::condition,
};

use super::{
    answer::Failure,
    observe::find,
    situation::{Record, Stage},
};
use crate::names::operation_reason as reason;

/// How many failures are kept.
const FAILURES_MAX: usize = 10;

/// The longest message of a condition, in characters; Kubernetes allows 32,768 bytes.
const MESSAGE_LENGTH_MAX: usize = 1024;

/// The patch (RFC 7386) of the status of `task` that makes it say this, if it is still as it was when it was read.
///
/// It names each field that it owns, those that are to be absent as `null`: what others wrote there does not stay. Lists are written as a
/// whole, which is safe since the patch holds the version that they were read at.
///
/// `is_seen` says that nothing else is to be done for this generation of the spec.
pub fn patch(
    task: &Task,
    record: &Record,
    failure: Option<&Failure>,
    is_seen: bool,
    now: Timestamp,
) -> Value {
    let now = whole_seconds(now);
    let before = task.status.clone().unwrap_or_default();
    let generation = if is_seen {
        task.metadata.generation
    } else {
        let told = find(&before, condition::ASYNC_OPERATION);
        told.and_then(|told| told.observed_generation)
    };
    let operation = operation(record);
    json!({
        "metadata": {
            "uid": task.metadata.uid,
            "resourceVersion": task.metadata.resource_version,
        },
        "status": {
            "lastUpdateTime": now,
            "conditions": conditions(&before, record, generation, &now),
            "lastAsyncOperationID": record.handle,
            "externalSystemURL": record.url,
            "failureDetails": failures(before.failure_details, failure, &now),
            "operation": {
                "phase": operation.phase,
                "key": operation.key,
                "requestHash": operation.request_hash,
                "attempts": operation.attempts,
                "startedAt": operation.started_at,
                "nextCheckAt": operation.next_check_at,
                "completedAt": operation.completed_at,
                "result": operation.result,
                "lastEventID": operation.last_event_id,
            },
        },
    })
}

fn operation(record: &Record) -> OperationStatus {
    let (phase, completed_at, result) = match &record.stage {
        Stage::Starting | Stage::Following | Stage::Canceling => {
            (OperationPhase::Creating, None, None)
        }
        Stage::Succeeded { at, result } => (OperationPhase::Ready, Some(*at), result.clone()),
        Stage::Failed { at, .. } => (OperationPhase::Failed, Some(*at), None),
    };
    OperationStatus {
        phase: Some(phase),
        key: Some(record.key.as_str().to_owned()),
        request_hash: record.request_hash.clone(),
        attempts: Some(record.attempts),
        started_at: Some(whole_seconds(record.started_at)),
        next_check_at: record.next_check_at.map(whole_seconds),
        completed_at: completed_at.map(whole_seconds),
        result,
        last_event_id: record.last_event_id.clone(),
    }
}

/// All conditions, the two that tell of the operation made anew.
fn conditions(
    before: &TaskStatus,
    record: &Record,
    generation: Option<i64>,
    now: &Time,
) -> Vec<Condition> {
    let ours = [condition::ASYNC_OPERATION, condition::TERMINAL_ERROR];
    let all = || before.conditions.iter().flatten();
    let others = all().filter(|condition| !ours.contains(&&*condition.type_));
    let (status, reason, message) = how_it_stands(record);
    let mut next: Vec<_> = others.cloned().collect();
    let mut add = |type_: &str, status: &str, reason: &str, message: &str| {
        let since = all()
            .find(|condition| condition.type_ == type_ && condition.status == status)
            .map_or(now, |condition| &condition.last_transition_time);
        next.push(Condition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: reason.to_owned(),
            message: message.chars().take(MESSAGE_LENGTH_MAX).collect(),
            observed_generation: generation,
            last_transition_time: since.clone(),
        });
    };
    add(condition::ASYNC_OPERATION, status, reason, message);
    if let Stage::Failed {
        reason, message, ..
    } = &record.stage
        // Another one follows, or none is wanted.
        && reason != reason::SUPERSEDED
    {
        add(condition::TERMINAL_ERROR, "True", reason, message);
    }
    next
}

/// Status, reason and message of the condition `AsyncOperation`.
fn how_it_stands(record: &Record) -> (&'static str, &'static str, &str) {
    match &record.stage {
        Stage::Starting => (
            "False",
            reason::PROVISIONING_STARTED,
            "the operation is being started",
        ),
        Stage::Following => (
            "False",
            reason::STATUS_CHECK_IN_PROGRESS,
            "the provider carries the operation out",
        ),
        Stage::Canceling => (
            "False",
            reason::CANCELING,
            "the provider was asked to cancel the operation",
        ),
        Stage::Succeeded { .. } => ("True", reason::COMPLETED, "the operation succeeded"),
        Stage::Failed {
            reason, message, ..
        } if reason == reason::SUPERSEDED => ("False", reason::SUPERSEDED, message),
        Stage::Failed { message, .. } => ("False", reason::FAILED, message),
    }
}

/// The newest failures, the newest last. One that comes again and again is kept once, at its newest time.
fn failures(
    before: Option<Vec<FailureDetail>>,
    failure: Option<&Failure>,
    now: &Time,
) -> Option<Vec<FailureDetail>> {
    let Some(failure) = failure else {
        return before;
    };
    let mut details = before.unwrap_or_default();
    details.retain(|detail| detail.code != failure.code || detail.message != failure.message);
    details.push(FailureDetail {
        code: failure.code.clone(),
        message: failure.message.clone(),
        timestamp: now.clone(),
    });
    let excess = details.len().saturating_sub(FAILURES_MAX);
    details.drain(..excess);
    Some(details)
}

fn whole_seconds(at: Timestamp) -> Time {
    Time(Timestamp::from_second(at.as_second()).unwrap_or(at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{at, task},
        operations::{key::Key, observe},
    };

    fn record(stage: Stage) -> Record {
        Record {
            key: Key::new("volumes", "u", 1, None, None),
            request_hash: Some("hash".to_owned()),
            attempts: 2,
            started_at: at(100).0,
            next_check_at: Some(at(130).0),
            handle: Some("op-1".to_owned()),
            url: Some("https://console.example/op-1".to_owned()),
            last_event_id: None,
            stage,
        }
    }

    fn failed(reason: &str) -> Record {
        record(Stage::Failed {
            at: at(200).0,
            reason: reason.to_owned(),
            message: "why".to_owned(),
        })
    }

    /// `task` after the patch.
    fn patched(task: &Task, record: &Record, failure: Option<&Failure>) -> Task {
        let mut value = serde_json::to_value(task).unwrap();
        json_patch::merge(&mut value, &patch(task, record, failure, true, at(300).0));
        serde_json::from_value(value).unwrap()
    }

    fn said(task: &Task, type_: &str) -> Option<(String, String)> {
        let condition = observe::find(task.status.as_ref().unwrap(), type_)?;
        Some((condition.status.clone(), condition.reason.clone()))
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut starting = record(Stage::Starting);
        starting.handle = None;
        let succeeded = record(Stage::Succeeded {
            at: at(200).0,
            result: Some("42".to_owned()),
        });
        for record in [
            starting,
            record(Stage::Following),
            record(Stage::Canceling),
            succeeded,
            failed("StartUnknown"),
            failed("Superseded"),
            failed("Failed"),
        ] {
            let task = patched(&task("web").needs_operation().build(), &record, None);
            assert_eq!(observe::record(&task.status.unwrap()), Some(record));
        }
    }

    #[test]
    fn nothing_stays_of_the_operation_before() {
        let before = patched(
            &task("web").needs_operation().build(),
            &record(Stage::Following),
            None,
        );
        let mut next = record(Stage::Starting);
        (next.handle, next.url) = (None, None);
        let after = patched(&before, &next, None).status.unwrap();
        assert_eq!(after.last_async_operation_id, None);
        assert_eq!(after.external_system_url, None);
    }

    #[test]
    fn the_conditions_tell_how_it_stands() {
        for (record, status, reason, terminal) in [
            (
                record(Stage::Following),
                "False",
                "StatusCheckInProgress",
                None,
            ),
            (
                record(Stage::Succeeded {
                    at: at(1).0,
                    result: None,
                }),
                "True",
                "Completed",
                None,
            ),
            (
                failed("StartUnknown"),
                "False",
                "Failed",
                Some("StartUnknown"),
            ),
            (failed("Superseded"), "False", "Superseded", None),
        ] {
            let task = patched(&task("web").needs_operation().build(), &record, None);
            let expected = Some((status.to_owned(), reason.to_owned()));
            assert_eq!(said(&task, "AsyncOperation"), expected);
            let expected = terminal.map(|reason| ("True".to_owned(), reason.to_owned()));
            assert_eq!(said(&task, "TerminalError"), expected);
        }
    }

    #[test]
    fn the_conditions_of_others_stay_and_a_terminal_error_goes() {
        let mut before = patched(
            &task("web").needs_operation().build(),
            &failed("Failed"),
            None,
        );
        let mut ready = before.status.as_ref().unwrap().conditions.as_ref().unwrap()[0].clone();
        ready.type_ = "Ready".to_owned();
        before
            .status
            .as_mut()
            .unwrap()
            .conditions
            .as_mut()
            .unwrap()
            .push(ready);
        let after = patched(&before, &record(Stage::Starting), None);
        assert!(said(&after, "Ready").is_some());
        assert_eq!(said(&after, "TerminalError"), None);
    }

    #[test]
    fn a_condition_that_keeps_its_status_keeps_its_time() {
        let mut before = patched(
            &task("web").needs_operation().build(),
            &record(Stage::Starting),
            None,
        );
        let conditions = before.status.as_mut().unwrap().conditions.as_mut().unwrap();
        conditions[0].last_transition_time = at(7);
        let after = patched(&before, &record(Stage::Following), None);
        let condition = observe::find(after.status.as_ref().unwrap(), "AsyncOperation").unwrap();
        assert_eq!(condition.last_transition_time, at(7));
    }

    #[test]
    fn the_newest_ten_failures_are_kept_and_one_that_repeats_counts_once() {
        let mut task = task("web").needs_operation().build();
        for number in 0..15 {
            let failure = Failure::new(&format!("code-{number}"), "why");
            task = patched(&task, &record(Stage::Following), Some(&failure));
            task = patched(&task, &record(Stage::Following), Some(&failure));
        }
        let details = task.status.unwrap().failure_details.unwrap();
        let codes: Vec<_> = details.iter().map(|detail| &*detail.code).collect();
        assert_eq!(codes.len(), FAILURES_MAX);
        assert_eq!(codes.last(), Some(&"code-14"));
    }

    #[test]
    fn an_end_that_another_operation_follows_leaves_the_generation_to_be_seen() {
        let mut task = patched(
            &task("web").needs_operation().build(),
            &record(Stage::Following),
            None,
        );
        task.metadata.generation = Some(2);
        for (is_seen, expected) in [(false, 1), (true, 2)] {
            let patch = patch(&task, &failed("Superseded"), None, is_seen, at(0).0);
            let told = &patch["status"]["conditions"][0];
            assert_eq!(told["observedGeneration"], expected);
        }
    }

    #[test]
    fn the_patch_is_for_the_object_that_was_read() {
        let task = task("web").needs_operation().build();
        let patch = patch(&task, &record(Stage::Starting), None, true, at(0).0);
        assert_eq!(
            patch["metadata"],
            json!({"uid": "uid-of-web", "resourceVersion": "1"})
        );
    }
}
