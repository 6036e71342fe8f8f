//! Tasks and children for tests, as an API server would give them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::{
    api::apps::v1::{Deployment, DeploymentCondition, DeploymentStatus},
    apimachinery::pkg::apis::meta::v1::Time,
};
use kube::{Resource, ResourceExt};
use task_api_v1::{
    Completion, Operation, OperationPhase, OperationStatus, Task, TaskSpec, TaskStatus,
    names::FINALIZER,
};

use crate::reconcile::build;

/// A Task of this name in the namespace `default`, with the spec's defaults, that bears the finalizer.
pub fn task(name: &str) -> TaskBuilder {
    let mut task = Task::new(name, TaskSpec::default());
    task.metadata.namespace = Some("default".to_owned());
    task.metadata.uid = Some(format!("uid-of-{name}"));
    task.metadata.generation = Some(1);
    task.metadata.resource_version = Some("1".to_owned());
    task.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
    TaskBuilder(task)
}

pub struct TaskBuilder(Task);

impl TaskBuilder {
    pub fn replicas(mut self, replicas: i32) -> Self {
        self.0.spec.replicas = replicas;
        self
    }

    pub fn port(mut self, port: i32) -> Self {
        self.0.spec.port = port;
        self
    }

    pub fn image(mut self, image: &str) -> Self {
        self.0.spec.image = image.to_owned();
        self
    }

    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.0
            .spec
            .env
            .get_or_insert_with(BTreeMap::new)
            .insert(name.to_owned(), value.to_owned());
        self
    }

    /// It was just created: nobody has put a finalizer on it.
    pub fn unheld(mut self) -> Self {
        self.0.metadata.finalizers = None;
        self
    }

    /// It is being deleted, and bears these finalizers.
    pub fn deleted(mut self, finalizers: &[&str]) -> Self {
        self.0.metadata.deletion_timestamp = Some(at(1));
        self.0.metadata.finalizers = Some(finalizers.iter().map(|on| (*on).to_owned()).collect());
        self
    }

    pub fn needs_operation(mut self) -> Self {
        self.0.spec.operation = Some(Operation {
            provider: "volumes".to_owned(),
            parameters: None,
            completion: Completion::Poll,
            timeout: "1h".to_owned(),
        });
        self
    }

    pub fn operation_is(mut self, phase: OperationPhase) -> Self {
        self.0
            .status
            .get_or_insert_with(TaskStatus::default)
            .operation = Some(OperationStatus {
            phase: Some(phase),
            ..OperationStatus::default()
        });
        self
    }

    pub fn build(self) -> Task {
        self.0
    }
}

/// The Deployment of `task` as stored, at generation 1 and not yet looked at by its controller.
pub fn deployment(task: &Task) -> Deployment {
    stored(build::children(task).unwrap().deployment)
}

/// `child` as an API server returns it.
pub fn stored<K: Resource>(mut child: K) -> K {
    child.meta_mut().uid = Some(format!("uid-of-child-{}", child.name_any()));
    child.meta_mut().generation = Some(1);
    child.meta_mut().resource_version = Some("10".to_owned());
    child
}

/// The same Deployment, its rollout so far: pods, of which new, of which available.
pub fn rolled_out(
    mut deployment: Deployment,
    pods: i32,
    updated: i32,
    available: i32,
) -> Deployment {
    deployment.status = Some(DeploymentStatus {
        observed_generation: deployment.metadata.generation,
        replicas: Some(pods),
        updated_replicas: Some(updated),
        available_replicas: Some(available),
        ..DeploymentStatus::default()
    });
    deployment
}

/// The same Deployment with one more condition.
pub fn with_condition(
    mut deployment: Deployment,
    type_: &str,
    status: &str,
    reason: &str,
    message: &str,
) -> Deployment {
    deployment
        .status
        .get_or_insert_with(DeploymentStatus::default)
        .conditions
        .get_or_insert_with(Vec::new)
        .push(DeploymentCondition {
            type_: type_.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            ..DeploymentCondition::default()
        });
    deployment
}

/// A time that many seconds after the epoch.
pub fn at(seconds: i64) -> Time {
    Time(Timestamp::from_second(seconds).unwrap())
}
