//! How a Task is, judged from what a pass found out. Pure.

use k8s_openapi::api::apps::v1::Deployment;
use task_api_v1::{OperationPhase, Task, TaskPhase, names::condition};

use super::{
    rollout::{self, under_way},
    scaled,
    setback::{Setback, SetbackKind},
};
use crate::{
    names::{operation_reason::SUPERSEDED, reason},
    operations::{driver::Attendance, observe::find},
};

/// What a pass found out about a Task.
#[derive(Clone, Copy, Debug)]
pub enum Finding<'a> {
    /// The operation holds the workload back; the Deployment, if there is one, is left as it is.
    HeldBack(HeldBack, Option<&'a Deployment>),
    /// The children are as they should be; this is the Deployment.
    Applied(&'a Deployment),
    /// A child is not as it should be; the Deployment, if there is one, may be of an older spec.
    SetBack(&'a Setback, Option<&'a Deployment>),
}

/// Why the operation of a Task holds its workload back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldBack {
    /// It has not succeeded yet.
    OperationPending,
    /// It failed.
    OperationFailed,
    /// Its provider is not configured.
    UnknownProvider,
}

/// How a Task is: the phase, and what its conditions say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The summary for people.
    pub phase: TaskPhase,
    /// Which of the three conditions is true; the others are false.
    pub state: State,
    /// The reason of all three.
    pub reason: String,
    /// The message of all three.
    pub message: String,
}

/// The state in the sense of kstatus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// All is as the spec says.
    Ready,
    /// The operator or the cluster is working on it.
    Reconciling,
    /// Nothing gets better until somebody acts.
    Stalled,
}

/// Whether the workload of `task` may be created and changed, as far as its operation goes.
///
/// `None` if it may; else why not. The operation itself is carried out elsewhere: here only its
/// recorded phase counts, and that its provider is known.
pub fn operation_gate(task: &Task, attendance: Attendance) -> Option<HeldBack> {
    task.spec.operation.as_ref()?;
    if attendance.is_unknown {
        return Some(HeldBack::UnknownProvider);
    }
    let status = task.status.as_ref();
    let phase = status.and_then(|status| status.operation.as_ref()?.phase);
    let told = status.and_then(|status| find(status, condition::ASYNC_OPERATION));
    match phase {
        Some(OperationPhase::Ready) => None,
        // Another one follows.
        Some(OperationPhase::Failed) if told.is_some_and(|told| told.reason == SUPERSEDED) => {
            Some(HeldBack::OperationPending)
        }
        Some(OperationPhase::Failed) => Some(HeldBack::OperationFailed),
        Some(OperationPhase::Creating) | None => Some(HeldBack::OperationPending),
    }
}

impl Verdict {
    /// The verdict that these make up.
    pub fn new(phase: TaskPhase, state: State, reason: &str, message: &str) -> Self {
        Self {
            phase,
            state,
            reason: reason.to_owned(),
            message: message.to_owned(),
        }
    }
}

impl<'a> Finding<'a> {
    /// The Deployment, if it was found.
    pub fn deployment(self) -> Option<&'a Deployment> {
        match self {
            Self::Applied(deployment) => Some(deployment),
            Self::SetBack(_, deployment) | Self::HeldBack(_, deployment) => deployment,
        }
    }
}

/// Judges `task` by what was found out about it.
pub fn judge(task: &Task, finding: Finding<'_>) -> Verdict {
    match finding {
        Finding::HeldBack(why, deployment) => judge_held_back(task, why, deployment),
        Finding::SetBack(setback, Some(deployment)) if setback.kind == SetbackKind::Undone => {
            let mut verdict = rollout::judge(wanted(task, deployment), deployment);
            verdict.message = format!("{}; {}", verdict.message, setback.message);
            verdict
        }
        Finding::SetBack(setback, deployment) => judge_setback(setback, deployment),
        Finding::Applied(deployment) => rollout::judge(wanted(task, deployment), deployment),
    }
}

/// How many pods there should be.
fn wanted(task: &Task, deployment: &Deployment) -> i32 {
    let asked = task.spec.replicas;
    scaled::by_others(asked, deployment).unwrap_or(asked)
}

/// Judges a Task that does not decode, for this reason. Its workload, if there is one, is left as it is.
pub fn undecodable(error: &str) -> Verdict {
    let message = format!("the Task cannot be decoded and is left alone: {error}");
    Verdict::new(
        TaskPhase::Failed,
        State::Stalled,
        reason::UNDECODABLE,
        &message,
    )
}

/// Judges a Task that is being deleted, and whose children go after it or before.
pub fn deleting(setback: Option<&Setback>, deployment: Option<&Deployment>) -> Verdict {
    if let Some(setback) = setback {
        return judge_setback(setback, deployment);
    }
    Verdict::new(
        under_way(deployment),
        State::Reconciling,
        reason::DELETING,
        "the Task is being deleted",
    )
}

/// Judges a Task that is being deleted, and held back until its operation has been dealt with.
pub fn deleting_operation(deployment: Option<&Deployment>) -> Verdict {
    Verdict::new(
        under_way(deployment),
        State::Reconciling,
        reason::DELETING,
        "the Task is being deleted, and waits for its operation to end",
    )
}

fn judge_held_back(task: &Task, why: HeldBack, deployment: Option<&Deployment>) -> Verdict {
    let exists = deployment.is_some();
    match why {
        HeldBack::OperationPending => Verdict::new(
            TaskPhase::Pending,
            State::Reconciling,
            reason::OPERATION_PENDING,
            if exists {
                "the workload stays as it is until status.operation.phase is Ready"
            } else {
                "the workload is not created until status.operation.phase is Ready"
            },
        ),
        HeldBack::OperationFailed => {
            let told = task
                .status
                .as_ref()
                .and_then(|status| find(status, condition::ASYNC_OPERATION));
            let why = told.map(|told| format!(": {}", told.message));
            let message = format!(
                "the operation failed, so the workload {}{}",
                if exists {
                    "stays as it is"
                } else {
                    "is not created"
                },
                why.unwrap_or_default()
            );
            Verdict::new(
                TaskPhase::Failed,
                State::Stalled,
                reason::OPERATION_FAILED,
                &message,
            )
        }
        HeldBack::UnknownProvider => {
            let operation = task.spec.operation.as_ref();
            let name = operation.map_or("", |operation| &operation.provider);
            let message = format!("no provider {name:?} is configured");
            Verdict::new(
                TaskPhase::Pending,
                State::Stalled,
                reason::UNKNOWN_PROVIDER,
                &message,
            )
        }
    }
}

fn judge_setback(setback: &Setback, deployment: Option<&Deployment>) -> Verdict {
    let (phase, state) = match setback.kind {
        SetbackKind::Lasting => (TaskPhase::Failed, State::Stalled),
        SetbackKind::Passing | SetbackKind::Waiting | SetbackKind::Undone => {
            (under_way(deployment), State::Reconciling)
        }
    };
    Verdict::new(phase, state, &setback.reason, &setback.message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

    use crate::fixtures::{at, deployment, rolled_out, task};

    /// The verdict in short.
    fn said(task: &Task, finding: Finding<'_>) -> String {
        let verdict = judge(task, finding);
        format!("{:?} {:?} {}", verdict.phase, verdict.state, verdict.reason)
    }

    fn setback(kind: SetbackKind) -> Setback {
        Setback {
            kind,
            reason: "Because".to_owned(),
            message: "so it is".to_owned(),
        }
    }

    #[test]
    fn what_others_undo_is_told_beside_how_the_workload_is() {
        let task = task("web").build();
        let deployment = rolled_out(deployment(&task), 1, 1, 1);
        let undone = Setback::undone(".spec.x of Deployment web");
        let verdict = judge(&task, Finding::SetBack(&undone, Some(&deployment)));
        assert_eq!(
            (verdict.phase, verdict.state, verdict.message.as_str()),
            (
                TaskPhase::Succeeded,
                State::Ready,
                "1 of 1 replicas are available; others keep changing .spec.x of Deployment web"
            )
        );
    }

    #[test]
    fn a_setback_that_lasts_stalls_the_task_and_one_that_passes_does_not() {
        let task = task("web").build();
        let running = rolled_out(deployment(&task), 1, 1, 1);
        for (kind, deployment, expected) in [
            (SetbackKind::Lasting, None, "Failed Stalled Because"),
            (
                SetbackKind::Lasting,
                Some(&running),
                "Failed Stalled Because",
            ),
            (SetbackKind::Passing, None, "Pending Reconciling Because"),
            (
                SetbackKind::Passing,
                Some(&running),
                "Running Reconciling Because",
            ),
            (SetbackKind::Waiting, None, "Pending Reconciling Because"),
        ] {
            let finding = setback(kind);
            assert_eq!(
                said(&task, Finding::SetBack(&finding, deployment)),
                expected
            );
        }
    }

    #[test]
    fn the_workload_waits_for_the_operation() {
        assert_eq!(
            operation_gate(&task("web").build(), Attendance::default()),
            None
        );
        let pending = task("web").needs_operation().build();
        assert_eq!(
            operation_gate(&pending, Attendance::default()),
            Some(HeldBack::OperationPending)
        );
        for (phase, expected) in [
            (OperationPhase::Creating, Some(HeldBack::OperationPending)),
            (OperationPhase::Ready, None),
            (OperationPhase::Failed, Some(HeldBack::OperationFailed)),
        ] {
            let task = task("web").needs_operation().operation_is(phase).build();
            assert_eq!(
                operation_gate(&task, Attendance::default()),
                expected,
                "{phase:?}"
            );
        }
    }

    #[test]
    fn a_provider_that_is_not_configured_stalls_the_task_whatever_is_recorded() {
        let attendance = Attendance {
            is_unknown: true,
            ..Attendance::default()
        };
        let task = task("web")
            .needs_operation()
            .operation_is(OperationPhase::Ready)
            .build();
        let why = operation_gate(&task, attendance).unwrap();
        let finding = Finding::HeldBack(why, None);
        assert_eq!(said(&task, finding), "Pending Stalled UnknownProvider");
        assert_eq!(
            judge(&task, finding).message,
            "no provider \"volumes\" is configured"
        );
    }

    #[test]
    fn an_operation_that_another_one_follows_has_not_failed_the_task() {
        let mut task = task("web")
            .needs_operation()
            .operation_is(OperationPhase::Failed)
            .build();
        let told = Condition {
            type_: condition::ASYNC_OPERATION.to_owned(),
            status: "False".to_owned(),
            reason: SUPERSEDED.to_owned(),
            message: "another one".to_owned(),
            observed_generation: None,
            last_transition_time: at(0),
        };
        task.status.as_mut().unwrap().conditions = Some(vec![told]);
        assert_eq!(
            operation_gate(&task, Attendance::default()),
            Some(HeldBack::OperationPending)
        );
    }

    #[test]
    fn a_workload_that_is_held_back_is_not_created_or_stays_as_it_is() {
        let task = task("web").needs_operation().build();
        let running = rolled_out(deployment(&task), 3, 3, 2);
        for (why, deployment, expected) in [
            (
                HeldBack::OperationPending,
                None,
                "Pending Reconciling OperationPending: \
                 the workload is not created until status.operation.phase is Ready",
            ),
            (
                HeldBack::OperationPending,
                Some(&running),
                "Pending Reconciling OperationPending: \
                 the workload stays as it is until status.operation.phase is Ready",
            ),
            (
                HeldBack::OperationFailed,
                None,
                "Failed Stalled OperationFailed: the operation failed, so the workload is not created",
            ),
            (
                HeldBack::OperationFailed,
                Some(&running),
                "Failed Stalled OperationFailed: the operation failed, so the workload stays as it is",
            ),
        ] {
            let finding = Finding::HeldBack(why, deployment);
            let message = judge(&task, finding).message;
            assert_eq!(format!("{}: {message}", said(&task, finding)), expected);
        }
    }
}
