//! How a Task is whose children are as they should be: as its Deployment is. Pure.

use k8s_openapi::api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus};
use task_api_v1::{TaskPhase, names::reason as api_reason};

use super::verdict::{State, Verdict};
use crate::names::reason;

/// Judges the rollout of `wanted` pods.
pub fn judge(wanted: i32, deployment: &Deployment) -> Verdict {
    let progress = format!(
        "{} of {wanted} replicas are available",
        available(Some(deployment))
    );
    if is_rolled_out(deployment, wanted) {
        return Verdict::new(
            TaskPhase::Succeeded,
            State::Ready,
            api_reason::AVAILABLE,
            &progress,
        );
    }
    if let Some((reason, message)) = failure(deployment) {
        let message = format!("{progress}: {message}");
        return Verdict::new(TaskPhase::Failed, State::Stalled, reason, &message);
    }
    let phase = under_way(Some(deployment));
    if is_paused(deployment) {
        let message = format!("{progress}: the Deployment is paused");
        return Verdict::new(
            phase,
            State::Reconciling,
            reason::DEPLOYMENT_PAUSED,
            &message,
        );
    }
    Verdict::new(
        phase,
        State::Reconciling,
        api_reason::PROGRESSING,
        &progress,
    )
}

/// The phase of a Task that is neither where it should be nor stuck.
pub fn under_way(deployment: Option<&Deployment>) -> TaskPhase {
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
    use task_api_v1::Task;

    use super::*;
    use crate::fixtures::{deployment, rolled_out, task, with_condition};

    /// The verdict in short.
    fn said(task: &Task, deployment: &Deployment) -> String {
        let verdict = judge(task.spec.replicas, deployment);
        format!("{:?} {:?} {}", verdict.phase, verdict.state, verdict.reason)
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
            assert_eq!(said(&task, &deployment), expected, "{expected_text}");
        }
    }

    #[test]
    fn a_rollout_that_somebody_paused_says_so() {
        let task = task("web").replicas(2).build();
        let mut deployment = rolled_out(deployment(&task), 2, 0, 2);
        deployment.spec.as_mut().unwrap().paused = Some(true);
        let verdict = judge(task.spec.replicas, &deployment);
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
        assert_eq!(said(&task, &deployment), "Running Reconciling Progressing");
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
        assert_eq!(said(&task, &deployment), "Failed Stalled ReplicaFailure");
        assert_eq!(
            judge(task.spec.replicas, &deployment).message,
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
            said(&task, &deployment)
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
        assert_eq!(said(&task, &deployment), "Succeeded Ready Available");
    }
}
