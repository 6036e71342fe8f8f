//! How a Task is, judged from what a pass found out. Pure.

use std::time::Duration;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus};
use task_api_v1::{OperationPhase, Task, TaskPhase, names::reason as api_reason};

use super::setback::{Setback, SetbackKind};
use crate::names::reason;

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
/// recorded phase counts.
pub fn operation_gate(task: &Task) -> Option<HeldBack> {
    task.spec.operation.as_ref()?;
    let phase = task
        .status
        .as_ref()
        .and_then(|status| status.operation.as_ref()?.phase);
    match phase {
        Some(OperationPhase::Ready) => None,
        Some(OperationPhase::Failed) => Some(HeldBack::OperationFailed),
        Some(OperationPhase::Creating) | None => Some(HeldBack::OperationPending),
    }
}

/// When to look at a Task again if nothing is heard of it. Watches are what drives a Task; this is the
/// net below, and costs no request where there is nothing to do.
pub fn look_again_after(phase: TaskPhase) -> Duration {
    Duration::from_secs(match phase {
        TaskPhase::Pending => 10,
        TaskPhase::Running | TaskPhase::Failed => 30,
        TaskPhase::Succeeded => 60,
    })
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
        Finding::HeldBack(why, deployment) => judge_held_back(why, deployment),
        Finding::SetBack(setback, Some(deployment)) if setback.kind == SetbackKind::Undone => {
            let mut verdict = judge_rollout(task.spec.replicas, deployment);
            verdict.message = format!("{}; {}", verdict.message, setback.message);
            verdict
        }
        Finding::SetBack(setback, deployment) => judge_setback(setback, deployment),
        Finding::Applied(deployment) => judge_rollout(task.spec.replicas, deployment),
    }
}

/// Judges a Task that does not decode, for this reason. Its workload, if there is one, is left as it is.
pub fn undecodable(error: &str) -> Verdict {
    let message = format!("the Task cannot be decoded and is left alone: {error}");
    verdict(
        TaskPhase::Failed,
        State::Stalled,
        reason::UNDECODABLE,
        &message,
    )
}

/// Judges a Task that is being deleted, and whose children go after it or before.
pub fn deleting(deployment: Option<&Deployment>) -> Verdict {
    verdict(
        under_way(deployment),
        State::Reconciling,
        reason::DELETING,
        "the Task is being deleted",
    )
}

fn judge_held_back(why: HeldBack, deployment: Option<&Deployment>) -> Verdict {
    let exists = deployment.is_some();
    match why {
        HeldBack::OperationPending => verdict(
            TaskPhase::Pending,
            State::Reconciling,
            reason::OPERATION_PENDING,
            if exists {
                "the workload stays as it is until status.operation.phase is Ready"
            } else {
                "the workload is not created until status.operation.phase is Ready"
            },
        ),
        HeldBack::OperationFailed => verdict(
            TaskPhase::Failed,
            State::Stalled,
            reason::OPERATION_FAILED,
            if exists {
                "the operation failed, so the workload stays as it is"
            } else {
                "the operation failed, so the workload is not created"
            },
        ),
    }
}

fn judge_setback(setback: &Setback, deployment: Option<&Deployment>) -> Verdict {
    let (phase, state) = match setback.kind {
        SetbackKind::Lasting => (TaskPhase::Failed, State::Stalled),
        SetbackKind::Passing | SetbackKind::Waiting | SetbackKind::Undone => {
            (under_way(deployment), State::Reconciling)
        }
    };
    verdict(phase, state, &setback.reason, &setback.message)
}

fn judge_rollout(wanted: i32, deployment: &Deployment) -> Verdict {
    let progress = format!(
        "{} of {wanted} replicas are available",
        available(Some(deployment))
    );
    if is_rolled_out(deployment, wanted) {
        return verdict(
            TaskPhase::Succeeded,
            State::Ready,
            api_reason::AVAILABLE,
            &progress,
        );
    }
    if let Some((reason, message)) = failure(deployment) {
        let message = format!("{progress}: {message}");
        return verdict(TaskPhase::Failed, State::Stalled, reason, &message);
    }
    let phase = under_way(Some(deployment));
    if is_paused(deployment) {
        let message = format!("{progress}: the Deployment is paused");
        return verdict(
            phase,
            State::Reconciling,
            reason::DEPLOYMENT_PAUSED,
            &message,
        );
    }
    verdict(
        phase,
        State::Reconciling,
        api_reason::PROGRESSING,
        &progress,
    )
}

fn verdict(phase: TaskPhase, state: State, reason: &str, message: &str) -> Verdict {
    Verdict {
        phase,
        state,
        reason: reason.to_owned(),
        message: message.to_owned(),
    }
}

fn under_way(deployment: Option<&Deployment>) -> TaskPhase {
    if available(deployment) > 0 {
        TaskPhase::Running
    } else {
        TaskPhase::Pending
    }
}

/// Whether all pods are of the newest generation, none is left of an older one, and all are available.
fn is_rolled_out(deployment: &Deployment, wanted: i32) -> bool {
    let Some(status) = current_status(deployment) else {
        return false;
    };
    [
        status.replicas,
        status.updated_replicas,
        status.available_replicas,
    ]
    .into_iter()
    .all(|count| count.unwrap_or(0) == wanted)
}

fn is_paused(deployment: &Deployment) -> bool {
    deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.paused)
        .unwrap_or(false)
}

/// Why the Deployment cannot be rolled out, if it says so of its newest generation.
fn failure(deployment: &Deployment) -> Option<(&'static str, &str)> {
    let status = current_status(deployment)?;
    let says = |type_: &str, value: &str| {
        status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.type_ == type_ && condition.status == value)
    };
    if let Some(condition) = says("ReplicaFailure", "True") {
        return Some((reason::REPLICA_FAILURE, message_of(condition)));
    }
    says("Progressing", "False")
        .filter(|condition| condition.reason.as_deref() == Some(reason::DEADLINE_EXCEEDED))
        .map(|condition| (reason::DEADLINE_EXCEEDED, message_of(condition)))
}

fn message_of(condition: &DeploymentCondition) -> &str {
    condition.message.as_deref().unwrap_or_default()
}

/// The Deployment's status, if it is about its newest generation.
fn current_status(deployment: &Deployment) -> Option<&DeploymentStatus> {
    deployment
        .status
        .as_ref()
        .filter(|status| status.observed_generation >= deployment.metadata.generation)
}

/// The pods that the Deployment has.
pub fn pods(deployment: Option<&Deployment>) -> i32 {
    deployment
        .and_then(|deployment| deployment.status.as_ref()?.replicas)
        .unwrap_or(0)
}

/// Those of them that are available.
pub fn available(deployment: Option<&Deployment>) -> i32 {
    deployment
        .and_then(|deployment| deployment.status.as_ref()?.available_replicas)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{deployment, rolled_out, task, with_condition};

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
    fn the_phase_follows_the_rollout() {
        for (wanted, pods, updated, available, expected) in [
            (3, 0, 0, 0, "Pending Reconciling Progressing"),
            (3, 3, 3, 0, "Pending Reconciling Progressing"),
            (3, 3, 3, 2, "Running Reconciling Progressing"),
            (3, 3, 3, 3, "Succeeded Ready Available"),
            (3, 4, 1, 3, "Running Reconciling Progressing"),
            (3, 4, 3, 3, "Running Reconciling Progressing"),
            (5, 3, 3, 3, "Running Reconciling Progressing"),
            (0, 0, 0, 0, "Succeeded Ready Available"),
            (0, 1, 1, 1, "Running Reconciling Progressing"),
        ] {
            let task = task("web").replicas(wanted).build();
            let deployment = rolled_out(deployment(&task), pods, updated, available);
            let expected_text = format!("{wanted} wanted of {pods}/{updated}/{available}");
            assert_eq!(
                said(&task, Finding::Applied(&deployment)),
                expected,
                "{expected_text}"
            );
        }
    }

    #[test]
    fn a_rollout_that_somebody_paused_says_so() {
        let task = task("web").replicas(2).build();
        let mut deployment = rolled_out(deployment(&task), 2, 0, 2);
        deployment.spec.as_mut().unwrap().paused = Some(true);
        let verdict = judge(&task, Finding::Applied(&deployment));
        assert_eq!(
            (
                verdict.state,
                verdict.reason.as_str(),
                verdict.message.as_str()
            ),
            (
                State::Reconciling,
                "DeploymentPaused",
                "2 of 2 replicas are available: the Deployment is paused"
            )
        );
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
    fn what_the_deployment_says_of_an_older_generation_does_not_count() {
        let task = task("web").replicas(3).build();
        let mut deployment = with_condition(
            rolled_out(deployment(&task), 3, 3, 3),
            "ReplicaFailure",
            "True",
            "X",
            "no",
        );
        deployment.metadata.generation = Some(2);
        assert_eq!(
            said(&task, Finding::Applied(&deployment)),
            "Running Reconciling Progressing"
        );
    }

    #[test]
    fn a_deployment_that_cannot_create_pods_fails_the_task_with_its_message() {
        let task = task("web").replicas(3).build();
        let deployment = with_condition(
            rolled_out(deployment(&task), 1, 1, 1),
            "ReplicaFailure",
            "True",
            "FailedCreate",
            "exceeded quota",
        );
        assert_eq!(
            said(&task, Finding::Applied(&deployment)),
            "Failed Stalled ReplicaFailure"
        );
        assert_eq!(
            judge(&task, Finding::Applied(&deployment)).message,
            "1 of 3 replicas are available: exceeded quota"
        );
    }

    #[test]
    fn a_deployment_past_its_deadline_fails_the_task() {
        let task = task("web").build();
        let late = |reason: &str| {
            let deployment = with_condition(
                rolled_out(deployment(&task), 1, 1, 0),
                "Progressing",
                "False",
                reason,
                "late",
            );
            said(&task, Finding::Applied(&deployment))
        };
        assert_eq!(
            late("ProgressDeadlineExceeded"),
            "Failed Stalled ProgressDeadlineExceeded"
        );
        assert_eq!(late("DeploymentPaused"), "Pending Reconciling Progressing");
    }

    #[test]
    fn a_deployment_that_made_it_after_all_has_not_failed() {
        let task = task("web").build();
        let deployment = with_condition(
            rolled_out(deployment(&task), 1, 1, 1),
            "Progressing",
            "False",
            "ProgressDeadlineExceeded",
            "late",
        );
        assert_eq!(
            said(&task, Finding::Applied(&deployment)),
            "Succeeded Ready Available"
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
        assert_eq!(operation_gate(&task("web").build()), None);
        let pending = task("web").needs_operation().build();
        assert_eq!(operation_gate(&pending), Some(HeldBack::OperationPending));
        for (phase, expected) in [
            (OperationPhase::Creating, Some(HeldBack::OperationPending)),
            (OperationPhase::Ready, None),
            (OperationPhase::Failed, Some(HeldBack::OperationFailed)),
        ] {
            let task = task("web").needs_operation().operation_is(phase).build();
            assert_eq!(operation_gate(&task), expected, "{phase:?}");
        }
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
