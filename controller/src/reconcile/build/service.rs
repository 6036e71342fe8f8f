//! The Service of a Task.

use k8s_openapi::{
    api::core::v1::{Service, ServicePort, ServiceSpec},
    apimachinery::pkg::util::intstr::IntOrString,
};
use task_api_v1::TaskSpec;

use super::{Owner, labels};
use crate::names;

/// The Service that exposes the Task's port inside the cluster.
pub(super) fn service(owner: &Owner, spec: &TaskSpec) -> Service {
    Service {
        metadata: owner.child(owner.name.clone()),
        spec: Some(ServiceSpec {
            selector: Some(labels::selector(&owner.name)),
            ports: Some(vec![ServicePort {
                name: Some(names::PORT.to_owned()),
                port: spec.port,
                // The merge key is port and protocol: server-side apply needs both.
                protocol: Some("TCP".to_owned()),
                target_port: Some(IntOrString::String(names::PORT.to_owned())),
                ..ServicePort::default()
            }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    }
}
