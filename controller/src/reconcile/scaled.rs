//! Who decides how many pods a Deployment has: the Task, or an autoscaler of the Deployment. Pure.
//!
//! An autoscaler sets the number through the subresource `scale`, which `managedFields` tell. It is then left to it, and the Deployment
//! applied without a number, until the Task itself asks for another. A person who runs `kubectl scale` on the Deployment edits it by
//! hand, and that is put right like any other edit: it is the Task that is to be scaled.

use k8s_openapi::{
    api::apps::v1::Deployment, apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry,
};
use kube::ResourceExt;

use crate::names::APPLIED_REPLICAS;

/// The manager that `kubectl scale` writes as.
const PERSON: &str = "kubectl";

/// Whether an entry of `managedFields` says that an autoscaler has set the number of pods. No other entries are looked at.
pub fn is_scaling(entry: &ManagedFieldsEntry) -> bool {
    entry.subresource.as_deref() == Some("scale") && entry.manager.as_deref() != Some(PERSON)
}

/// The number of pods that an autoscaler gave this Deployment of a Task that asks for `asked`, if it is to be left to it.
pub fn by_others(asked: i32, live: &Deployment) -> Option<i32> {
    let is_scaled = live.managed_fields().iter().any(is_scaling);
    let applied = live.annotations().get(APPLIED_REPLICAS)?;
    if !is_scaled || *applied != asked.to_string() {
        return None;
    }
    live.spec.as_ref()?.replicas
}

/// Takes the number of pods out of what a Task asks for, if it is to be left to an autoscaler.
pub fn leave_to_others(asked: i32, desired: &mut Deployment, live: &Deployment) {
    if by_others(asked, live).is_some()
        && let Some(spec) = &mut desired.spec
    {
        spec.replicas = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fixtures::{deployment, task},
        reconcile::{
            build,
            compare::difference,
            verdict::{Finding, judge},
        },
    };

    /// The Deployment of a Task of one replica, after this manager has made it five through this subresource.
    fn scaled(manager: &str, subresource: Option<&str>) -> Deployment {
        let mut live = deployment(&task("web").replicas(1).build());
        live.spec.as_mut().unwrap().replicas = Some(5);
        live.metadata.managed_fields = Some(vec![ManagedFieldsEntry {
            manager: Some(manager.to_owned()),
            subresource: subresource.map(str::to_owned),
            ..ManagedFieldsEntry::default()
        }]);
        live
    }

    /// Whether the number of pods is put right of a Task of so many replicas.
    fn is_put_right(replicas: i32, live: &Deployment) -> bool {
        let task = task("web").replicas(replicas).build();
        let mut desired = build::children(&task).unwrap().deployment;
        leave_to_others(replicas, &mut desired, live);
        desired.metadata.annotations = None;
        difference(&desired, live).unwrap().is_some()
    }

    #[test]
    fn the_number_of_an_autoscaler_is_left_alone_until_the_task_asks_for_another() {
        let live = scaled("kube-controller-manager", Some("scale"));
        assert!(!is_put_right(1, &live));
        assert!(is_put_right(2, &live));
    }

    #[test]
    fn the_number_of_a_person_is_put_right() {
        assert!(is_put_right(1, &scaled("kubectl", Some("scale"))));
        assert!(is_put_right(1, &scaled("kubectl-edit", None)));
    }

    #[test]
    fn a_task_is_what_it_should_be_when_it_has_the_pods_of_the_autoscaler() {
        let task = task("web").replicas(1).build();
        let live = scaled("kube-controller-manager", Some("scale"));
        let live = crate::fixtures::rolled_out(live, 5, 5, 5);
        let verdict = judge(&task, Finding::Applied(&live));
        assert_eq!(verdict.message, "5 of 5 replicas are available");
    }
}
