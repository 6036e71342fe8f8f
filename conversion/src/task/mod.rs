//! How the versions of Task stand to each other, field by field. To add a field to a version, add its line here.

mod env;
mod old_status;
mod parameters;
mod timeout;

use std::sync::LazyLock;

use crate::lens::Unchanged;
use crate::{Field, Kind, hub_only, mapped, old_name, same};

/// Task, with v1 as its hub.
pub static TASK: LazyLock<Kind> =
    LazyLock::new(|| Kind::new("task.example.io", "Task", "v1", &[("v1alpha1", V1ALPHA1)]));

/// v1alpha1 beside v1.
pub const V1ALPHA1: &[Field] = &[
    same("spec.replicas"),
    same("spec.image"),
    same("spec.port"),
    mapped("spec.env", "spec.env", &env::Env),
    mapped("spec.operation.provider", "spec.provider", &Unchanged),
    mapped(
        "spec.operation.parameters",
        "spec.parameters",
        &parameters::Parameters,
    ),
    mapped(
        "spec.operation.timeout",
        "spec.timeoutSeconds",
        &timeout::TIMEOUT,
    ),
    hub_only("spec.operation.completion"),
    same("status.observedGeneration"),
    same("status.phase"),
    same("status.replicas"),
    same("status.availableReplicas"),
    same("status.selector"),
    same("status.lastUpdateTime"),
    same("status.conditions[type].type"),
    same("status.conditions[type].status"),
    same("status.conditions[type].reason"),
    same("status.conditions[type].message"),
    same("status.conditions[type].lastTransitionTime"),
    same("status.conditions[type].observedGeneration"),
    same("status.lastAsyncOperationID"),
    same("status.externalSystemURL"),
    same("status.failureDetails[code,message,timestamp].code"),
    same("status.failureDetails[code,message,timestamp].message"),
    same("status.failureDetails[code,message,timestamp].timestamp"),
    same("status.operation.phase"),
    same("status.operation.key"),
    same("status.operation.requestHash"),
    same("status.operation.attempts"),
    same("status.operation.startedAt"),
    same("status.operation.nextCheckAt"),
    same("status.operation.completedAt"),
    same("status.operation.result"),
    same("status.operation.lastEventID"),
    old_name(
        "status.operation.phase",
        "status.taskStatus",
        &old_status::TaskStatus,
    ),
    old_name(
        "status.operation.result",
        "status.taskResult",
        &old_status::TaskResult,
    ),
    old_name(
        "status.operation.completedAt",
        "status.completedAt",
        &old_status::CompletedAt,
    ),
];
