//! The Deployment of a Task.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{
            ConfigMapVolumeSource, Container, ContainerPort, EnvVar, PodSpec, PodTemplateSpec,
            SeccompProfile, SecurityContext, Volume, VolumeMount,
        },
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use task_api_v1::TaskSpec;

use super::{Owner, env, labels};
use crate::names;

/// The Deployment that runs the Task's container; `config_hash` stands for the ConfigMap's content.
pub(super) fn deployment(owner: &Owner, spec: &TaskSpec, config_hash: String) -> Deployment {
    let asked = (
        names::APPLIED_REPLICAS.to_owned(),
        spec.replicas.to_string(),
    );
    Deployment {
        metadata: ObjectMeta {
            annotations: Some([asked].into()),
            ..owner.child(owner.name.clone())
        },
        spec: Some(DeploymentSpec {
            replicas: Some(spec.replicas),
            selector: LabelSelector {
                match_labels: Some(labels::selector(&owner.name)),
                ..LabelSelector::default()
            },
            template: PodTemplateSpec {
                metadata: Some(ObjectMeta {
                    labels: Some(labels::labels(&owner.name)),
                    annotations: Some(BTreeMap::from([(
                        names::CONFIG_HASH.to_owned(),
                        config_hash,
                    )])),
                    ..ObjectMeta::default()
                }),
                spec: Some(pod(owner, spec)),
            },
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

fn pod(owner: &Owner, spec: &TaskSpec) -> PodSpec {
    PodSpec {
        // The program in the container has no business with the Kubernetes API.
        automount_service_account_token: Some(false),
        containers: vec![container(spec)],
        volumes: Some(vec![Volume {
            name: names::CONFIG_VOLUME.to_owned(),
            config_map: Some(ConfigMapVolumeSource {
                name: owner.config_map_name(),
                ..ConfigMapVolumeSource::default()
            }),
            ..Volume::default()
        }]),
        ..PodSpec::default()
    }
}

fn container(spec: &TaskSpec) -> Container {
    let env: Vec<_> = spec
        .env
        .iter()
        .flat_map(env::in_dependency_order)
        .map(|(name, value)| EnvVar {
            name: name.to_owned(),
            value: Some(value.to_owned()),
            ..EnvVar::default()
        })
        .collect();
    Container {
        name: names::CONTAINER.to_owned(),
        image: Some(spec.image.clone()),
        env: (!env.is_empty()).then_some(env),
        ports: Some(vec![ContainerPort {
            name: Some(names::PORT.to_owned()),
            container_port: spec.port,
            // The merge key is port and protocol: server-side apply needs both.
            protocol: Some("TCP".to_owned()),
            ..ContainerPort::default()
        }]),
        volume_mounts: Some(vec![VolumeMount {
            name: names::CONFIG_VOLUME.to_owned(),
            mount_path: names::CONFIG_MOUNT_PATH.to_owned(),
            read_only: Some(true),
            ..VolumeMount::default()
        }]),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            seccomp_profile: Some(SeccompProfile {
                type_: "RuntimeDefault".to_owned(),
                ..SeccompProfile::default()
            }),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}
