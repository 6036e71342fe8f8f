//! What a Task says of its operation, as [`Situation`] has it. Pure.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use task_api_v1::{
    Operation, OperationPhase, Task, TaskStatus, defaults, duration, names::condition,
};

use super::{
    key::{Key, RetryToken},
    request,
    signals::Ways,
    situation::{Polling, Record, Stage, Wanted},
};
use crate::names::{RETRY_OPERATION, operation_reason as reason};

/// What the spec of `task` asks for. The Task must be whole: its parameters count. `ways` are those by which its end may be learnt without
/// polling.
pub fn wanted(task: &Task, ways: &Ways) -> Option<Wanted> {
    let operation = task.spec.operation.as_ref()?;
    Some(Wanted {
        provider: operation.provider.clone(),
        request_hash: request::hash(task)?,
        timeout: timeout(operation),
        polling: if ways.lead_here(operation.completion) {
            Polling::Slow
        } else {
            Polling::Usual
        },
        retry: retry(task),
    })
}

/// A person's request to start the operation once more.
pub fn retry(task: &Task) -> Option<RetryToken> {
    let annotations = task.metadata.annotations.as_ref()?;
    annotations
        .get(RETRY_OPERATION)
        .map(|value| RetryToken::of(value))
}

/// What the status says of the operation; `None` if there is none, or none that a key was recorded for.
pub fn record(status: &TaskStatus) -> Option<Record> {
    let operation = status.operation.as_ref()?;
    let at = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| {
        time.as_ref().map(|time| time.0)
    };
    let ended_at = at(&operation.completed_at).unwrap_or(Timestamp::UNIX_EPOCH);
    let handle = status.last_async_operation_id.clone();
    let told = find(status, condition::ASYNC_OPERATION);
    let stage = match operation.phase {
        // Others may say so, of an operation that was carried out elsewhere.
        Some(OperationPhase::Ready) => Stage::Succeeded {
            at: ended_at,
            result: operation.result.clone(),
        },
        Some(OperationPhase::Failed) => {
            let why = find(status, condition::TERMINAL_ERROR).or(told);
            Stage::Failed {
                at: ended_at,
                reason: why.map_or(reason::FAILED, |why| &why.reason).to_owned(),
                message: why.map_or("", |why| &why.message).to_owned(),
            }
        }
        Some(OperationPhase::Creating) | None => {
            operation.key.as_ref()?;
            match (told.map(|told| &*told.reason), &handle) {
                (_, None) => Stage::Starting,
                (Some(reason::CANCELING), Some(_)) => Stage::Canceling,
                (_, Some(_)) => Stage::Following,
            }
        }
    };
    Some(Record {
        key: Key::recorded(operation.key.as_deref().unwrap_or_default()),
        request_hash: operation.request_hash.clone(),
        attempts: operation.attempts.unwrap_or(0),
        started_at: at(&operation.started_at).unwrap_or(Timestamp::UNIX_EPOCH),
        next_check_at: at(&operation.next_check_at),
        handle,
        url: status.external_system_url.clone(),
        last_event_id: operation.last_event_id.clone(),
        stage,
    })
}

/// Whether the recorded operation is the one that the spec asks for. Of one that others recorded nothing else is known.
pub fn is_wanted(task: &Task, record: &Record) -> bool {
    record.request_hash.is_none() || record.request_hash == request::hash(task)
}

/// Whether the status tells of the operation that the newest spec asks for.
pub fn is_seen(task: &Task) -> bool {
    let told = task
        .status
        .as_ref()
        .and_then(|status| find(status, condition::ASYNC_OPERATION));
    told.is_some_and(|told| told.observed_generation == task.metadata.generation)
}

/// The condition of this type.
pub fn find<'s>(status: &'s TaskStatus, type_: &str) -> Option<&'s Condition> {
    status
        .conditions
        .iter()
        .flatten()
        .find(|condition| condition.type_ == type_)
}

/// How long the operation may take. What the schema refuses counts as not given.
fn timeout(operation: &Operation) -> std::time::Duration {
    operation
        .time_limit()
        .or_else(|_| duration::parse_timeout(&defaults::timeout()))
        .unwrap_or(std::time::Duration::from_secs(3600))
}
