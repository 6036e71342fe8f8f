//! What the status of a Task should say. Pure.
//!
//! The reconciler owns only the fields of [`OwnStatus`] and, in the list of conditions, only those
//! of type `Ready`, `Reconciling` and `Stalled`. The rest of the status belongs to the operation.

use std::time::Duration;

use k8s_openapi::{
    api::apps::v1::Deployment,
    apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time},
};
use serde::Serialize;
use task_api_v1::{TaskPhase, TaskStatus, names::condition};

use super::{
    build::labels,
    rollout,
    verdict::{State, Verdict},
};

/// The fields of a Task's status that the reconciler owns.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnStatus {
    /// The generation that this is about.
    pub observed_generation: Option<i64>,
    /// The summary for people.
    pub phase: Option<TaskPhase>,
    /// The pods of the Deployment.
    pub replicas: Option<i32>,
    /// Those that are available.
    pub available_replicas: Option<i32>,
    /// The selector of the pods.
    pub selector: Option<String>,
    /// When any of the others last changed.
    pub last_update_time: Option<Time>,
    /// `Ready`, `Reconciling` and `Stalled`, in this order. All three are always there, so that one
    /// can wait for each to be true and to be false.
    pub conditions: Vec<Condition>,
}

/// The types of [`OwnStatus::conditions`], and the state in which each is true.
const CONDITIONS: [(&str, State); 3] = [
    (condition::READY, State::Ready),
    (condition::RECONCILING, State::Reconciling),
    (condition::STALLED, State::Stalled),
];

/// How often a change of mere numbers is told, at most.
const PROGRESS_EVERY: Duration = Duration::from_secs(5);

/// What is to be done about the status of a Task.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// Nothing: it says how the Task is.
    Nothing,
    /// Only numbers have changed, and were told a moment ago: it is to be looked at again after this time.
    Later(Duration),
    /// This is to be written.
    Now(Box<OwnStatus>),
}

/// What is to be done about the status of the Task that has this metadata, and `current` as its status, after this verdict.
///
/// A condition's transition time is kept while its status is; `lastUpdateTime` is `now` if anything else
/// changed. `now` has whole seconds, since no more are stored.
///
/// What turned is told at once. A rollout that goes on as before is told every 5 s: each pod that becomes available is
/// otherwise a write of the Task, of which most are overtaken by the next before anyone reads them.
pub fn update(
    task: &ObjectMeta,
    current: Option<&TaskStatus>,
    verdict: &Verdict,
    deployment: Option<&Deployment>,
    now: Time,
) -> Update {
    let current = current.map(own);
    let current = current.as_ref();

    let mut next = OwnStatus {
        observed_generation: task.generation,
        phase: Some(verdict.phase),
        replicas: Some(rollout::pods(deployment)),
        available_replicas: Some(rollout::available(deployment)),
        selector: Some(labels::selector_text(
            task.name.as_deref().unwrap_or_default(),
        )),
        last_update_time: current.and_then(|current| current.last_update_time.clone()),
        conditions: conditions(task.generation, verdict, current, &now),
    };
    if current == Some(&next) {
        return Update::Nothing;
    }
    if let Some(current) = current
        && current.turning() == next.turning()
        && let Some(since) = &current.last_update_time
        // Not if a clock was put back, or another one is ahead.
        && let Ok(age) = Duration::try_from(now.0.duration_since(since.0))
        && age < PROGRESS_EVERY
    {
        return Update::Later(PROGRESS_EVERY - age);
    }
    next.last_update_time = Some(now);
    Update::Now(Box::new(next))
}

impl OwnStatus {
    /// How long the Task has been stalled for.
    pub fn failed_for(&self, now: &Time) -> Duration {
        stalled_for(&self.conditions, now)
    }

    /// What is told at once when it changes: all but numbers, also those in the messages.
    fn turning(&self) -> impl PartialEq {
        let conditions: Vec<_> = self
            .conditions
            .iter()
            .map(|condition| {
                let Condition {
                    type_,
                    status,
                    reason,
                    message,
                    ..
                } = condition;
                let message = message.replace(|c: char| c.is_ascii_digit(), "");
                (type_.clone(), status.clone(), reason.clone(), message)
            })
            .collect();
        (
            self.observed_generation,
            self.phase,
            self.selector.clone(),
            conditions,
        )
    }
}

/// How long a Task with this status has been stalled for.
pub fn failed_for(status: Option<&TaskStatus>, now: &Time) -> Duration {
    let conditions = status.and_then(|status| status.conditions.as_deref());
    stalled_for(conditions.unwrap_or_default(), now)
}

fn stalled_for(conditions: &[Condition], now: &Time) -> Duration {
    conditions
        .iter()
        .find(|condition| condition.type_ == condition::STALLED && condition.status == "True")
        .map_or(Duration::ZERO, |stalled| {
            let elapsed = now.0.duration_since(stalled.last_transition_time.0);
            // A clock that was put back makes it none.
            elapsed.try_into().unwrap_or_default()
        })
}

fn conditions(
    generation: Option<i64>,
    verdict: &Verdict,
    current: Option<&OwnStatus>,
    now: &Time,
) -> Vec<Condition> {
    let current = current.map_or(&[][..], |current| &current.conditions);
    CONDITIONS
        .into_iter()
        .map(|(type_, state)| {
            let status = if verdict.state == state {
                "True"
            } else {
                "False"
            };
            let since = current
                .iter()
                .find(|condition| condition.type_ == type_ && condition.status == status)
                .map_or(now, |condition| &condition.last_transition_time);
            Condition {
                type_: type_.to_owned(),
                status: status.to_owned(),
                reason: verdict.reason.clone(),
                message: verdict.message.clone(),
                observed_generation: generation,
                last_transition_time: since.clone(),
            }
        })
        .collect()
}

/// The part of a status that the reconciler owns.
fn own(status: &TaskStatus) -> OwnStatus {
    let find = |(type_, _)| {
        status
            .conditions
            .iter()
            .flatten()
            .find(|condition| condition.type_ == type_)
            .cloned()
    };
    OwnStatus {
        observed_generation: status.observed_generation,
        phase: status.phase,
        replicas: status.replicas,
        available_replicas: status.available_replicas,
        selector: status.selector.clone(),
        last_update_time: status.last_update_time.clone(),
        conditions: CONDITIONS.into_iter().filter_map(find).collect(),
    }
}

#[cfg(test)]
mod tests {
    use task_api_v1::Task;

    use super::*;
    use crate::{
        fixtures::{at, deployment, rolled_out, task},
        reconcile::verdict::{self, Finding, HeldBack},
    };

    fn updated(task: &Task, finding: Finding<'_>, now: Time) -> Update {
        let verdict = verdict::judge(task, finding);
        let deployment = finding.deployment();
        update(
            &task.metadata,
            task.status.as_ref(),
            &verdict,
            deployment,
            now,
        )
    }

    /// What is written at once.
    fn change(task: &Task, finding: Finding<'_>, now: Time) -> OwnStatus {
        match updated(task, finding, now) {
            Update::Now(next) => *next,
            other => panic!("{other:?}"),
        }
    }

    const PENDING: Finding<'_> = Finding::HeldBack(HeldBack::OperationPending, None);

    /// A Task whose status was written at second 100.
    fn at_rest() -> (Task, Deployment) {
        let mut task = task("web").build();
        let deployment = rolled_out(deployment(&task), 1, 1, 1);
        let status = change(&task, Finding::Applied(&deployment), at(100));
        task.status = Some(serde_json::from_value(serde_json::to_value(status).unwrap()).unwrap());
        (task, deployment)
    }

    #[test]
    fn at_rest_there_is_nothing_to_write() {
        let (task, deployment) = at_rest();
        assert_eq!(
            updated(&task, Finding::Applied(&deployment), at(200)),
            Update::Nothing
        );
    }

    #[test]
    fn a_change_that_keeps_a_condition_keeps_its_transition_time() {
        let (mut task, _) = at_rest();
        task.spec.replicas = 2;
        task.metadata.generation = Some(2);
        let deployment = rolled_out(deployment(&task), 2, 2, 2);
        let status = change(&task, Finding::Applied(&deployment), at(200));
        assert_eq!(status.observed_generation, Some(2));
        assert_eq!(status.last_update_time, Some(at(200)));
        assert!(
            status
                .conditions
                .iter()
                .all(|condition| condition.last_transition_time == at(100))
        );
    }

    #[test]
    fn a_condition_that_turns_has_a_new_transition_time() {
        let (task, deployment) = at_rest();
        let deployment = rolled_out(deployment, 1, 1, 0);
        let status = change(&task, Finding::Applied(&deployment), at(200));
        let times: Vec<_> = status
            .conditions
            .iter()
            .map(|condition| condition.last_transition_time.clone())
            .collect();
        assert_eq!(times, [at(200), at(200), at(100)]);
    }

    #[test]
    fn what_others_write_into_status_is_no_difference() {
        let (mut task, deployment) = at_rest();
        let status = task.status.as_mut().unwrap();
        status.last_async_operation_id = Some("op-1".to_owned());
        let mut theirs = status.conditions.as_ref().unwrap()[0].clone();
        theirs.type_ = "AsyncOperation".to_owned();
        status.conditions.as_mut().unwrap().insert(0, theirs);
        assert_eq!(
            updated(&task, Finding::Applied(&deployment), at(200)),
            Update::Nothing
        );
    }

    #[test]
    fn an_edit_of_the_status_by_hand_is_put_right() {
        let (mut task, deployment) = at_rest();
        task.status.as_mut().unwrap().phase = Some(TaskPhase::Failed);
        let status = change(&task, Finding::Applied(&deployment), at(200));
        assert_eq!(status.phase, Some(TaskPhase::Succeeded));
    }

    #[test]
    fn the_pods_of_a_deployment_count_whatever_holds_the_workload_back() {
        let task = task("web").needs_operation().build();
        let running = rolled_out(deployment(&task), 3, 3, 2);
        for (why, deployment, expected) in [
            (HeldBack::OperationPending, Some(&running), (3, 2)),
            (HeldBack::OperationFailed, Some(&running), (3, 2)),
            (HeldBack::OperationPending, None, (0, 0)),
            (HeldBack::OperationFailed, None, (0, 0)),
        ] {
            let finding = Finding::HeldBack(why, deployment);
            let status = change(&task, finding, at(0));
            assert_eq!(
                (status.replicas, status.available_replicas),
                (Some(expected.0), Some(expected.1)),
                "{why:?}"
            );
        }
    }

    #[test]
    fn the_patch_names_only_the_fields_that_the_reconciler_owns() {
        let task = task("web").build();
        let status = change(&task, PENDING, at(0));
        let json = serde_json::to_value(status).unwrap();
        let mut fields: Vec<_> = json
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        fields.sort_unstable();
        assert_eq!(
            fields,
            [
                "availableReplicas",
                "conditions",
                "lastUpdateTime",
                "observedGeneration",
                "phase",
                "replicas",
                "selector"
            ]
        );
    }

    /// A rollout of which so many of three pods are available, told at second 100.
    fn rollout(available: i32) -> (Task, Deployment) {
        let mut task = task("web").replicas(3).build();
        let deployment = rolled_out(deployment(&task), 3, 3, available);
        let status = change(&task, Finding::Applied(&deployment), at(100));
        task.status = Some(serde_json::from_value(serde_json::to_value(status).unwrap()).unwrap());
        (task, deployment)
    }

    #[test]
    fn a_rollout_that_goes_on_is_told_every_five_seconds() {
        let (task, deployment) = rollout(1);
        let further = rolled_out(deployment, 3, 3, 2);
        let finding = Finding::Applied(&further);
        let later = Update::Later(Duration::from_secs(3));
        assert_eq!(updated(&task, finding, at(102)), later);
        assert_eq!(change(&task, finding, at(105)).available_replicas, Some(2));
        // A clock that was put back.
        assert_eq!(change(&task, finding, at(50)).available_replicas, Some(2));
    }

    #[test]
    fn what_turned_is_told_at_once() {
        let (task, deployment) = rollout(1);
        let mut paused = deployment.clone();
        paused.spec.as_mut().unwrap().paused = Some(true);
        for turned in [
            rolled_out(deployment.clone(), 3, 3, 0),
            rolled_out(deployment, 3, 3, 3),
            paused,
        ] {
            change(&task, Finding::Applied(&turned), at(100));
        }
    }

    #[test]
    fn how_long_a_task_has_failed_for_is_since_it_stalled() {
        let mut task = task("web").needs_operation().build();
        let finding = Finding::HeldBack(HeldBack::OperationFailed, None);
        let status = change(&task, finding, at(100));
        assert_eq!(status.failed_for(&at(103)).as_secs(), 3);
        task.status = Some(serde_json::from_value(serde_json::to_value(status).unwrap()).unwrap());
        assert_eq!(failed_for(task.status.as_ref(), &at(160)).as_secs(), 60);
        assert_eq!(
            failed_for(rollout(1).0.status.as_ref(), &at(160)).as_secs(),
            0
        );
    }
}
