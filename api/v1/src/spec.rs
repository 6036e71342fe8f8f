//! What is asked for.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::duration::{self, DurationError};
use crate::{defaults, rules, schema, status::TaskStatus};

/// What is asked for: a workload, and the operation that it first needs, if any.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "task.example.io",
    version = "v1",
    kind = "Task",
    doc = "A Task is a workload (a Deployment, a Service and a ConfigMap) that may first need one long-running operation in an external system, such as creating a volume or running a report. The operator starts that operation once, follows it, and records how it ends.",
    namespaced,
    status = "TaskStatus",
    derive = "PartialEq",
    shortname = "tk",
    category = "all",
    scale(
        spec_replicas_path = ".spec.replicas",
        status_replicas_path = ".status.replicas",
        label_selector_path = ".status.selector"
    ),
    printcolumn(
        name = "Phase",
        type_ = "string",
        json_path = ".status.phase",
        description = "The workload and the operation together."
    ),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether the Task is ready."
    ),
    printcolumn(
        name = "Available",
        type_ = "integer",
        json_path = ".status.availableReplicas",
        description = "The replicas that are available."
    ),
    printcolumn(
        name = "Image",
        type_ = "string",
        json_path = ".spec.image",
        description = "The container image.",
        priority = 1
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp",
        description = "The time since the Task was created."
    ),
    validation = crate::rules::name()
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::kubernetes, extend("default" = {}))]
pub struct TaskSpec {
    /// The number of pods that run the workload, 0 to 100. Defaults to 1.
    #[serde(default = "defaults::replicas")]
    #[schemars(range(min = 0, max = rules::REPLICAS_MAX))]
    pub replicas: i32,

    /// The container image, as an OCI reference: an optional registry host and port, a path, and a tag
    /// or a digest or both; at most 512 characters. Defaults to "nginx:alpine".
    #[serde(default = "defaults::image")]
    #[schemars(length(max = rules::IMAGE_LENGTH_MAX))]
    #[x_kube(validation = rules::image())]
    pub image: String,

    /// The port that the container listens on and that the Service exposes, 1 to 65535. Defaults to 8080.
    #[serde(default = "defaults::port")]
    #[schemars(range(min = rules::PORT_MIN, max = rules::PORT_MAX))]
    pub port: i32,

    /// The environment of the container: values by the names of the variables; at most 256. A name has
    /// 1 to 64 letters, digits, dashes, underscores or dots and does not begin with a digit; a value has
    /// at most 4096 characters. A value may refer to another variable as $(NAME), whatever the order of writing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "env_schema")]
    #[x_kube(validation = rules::env_map())]
    pub env: Option<BTreeMap<String, String>>,

    /// The operation that must succeed before the Task is ready. Without it the Task is a workload only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Operation>,
}

impl Default for TaskSpec {
    /// The spec that `spec: {}` means.
    fn default() -> Self {
        Self {
            replicas: defaults::replicas(),
            image: defaults::image(),
            port: defaults::port(),
            env: None,
            operation: None,
        }
    }
}

/// A long-running, asynchronous job in an external system.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// The name of the provider that carries the operation out: a DNS label, one of those that the
    /// operator's administrator configured.
    #[schemars(length(max = rules::PROVIDER_LENGTH_MAX))]
    #[x_kube(validation = rules::provider())]
    pub provider: String,

    /// What the provider is told, passed on as it stands: an object of any JSON with at most 64 keys,
    /// which nests at most 64 levels deep and is at most 64 KiB long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "parameters_schema")]
    pub parameters: Option<Map<String, Value>>,

    /// How the end of the operation is learnt: "Poll" asks the provider now and then, "Callback" waits
    /// for the provider to call, "Queue" waits for a message, and "Hybrid" takes whichever comes first.
    /// Defaults to "Poll".
    #[serde(default)]
    pub completion: Completion,

    /// How long the operation may take, as a duration such as "90s", "1h30m" or "1.5s": above 0s and at
    /// most 720h. Defaults to "1h".
    #[serde(default = "defaults::timeout")]
    #[schemars(length(max = rules::TIMEOUT_LENGTH_MAX))]
    #[x_kube(validation = rules::timeout())]
    pub timeout: String,
}

impl Operation {
    /// How long the operation may take.
    ///
    /// # Errors
    /// Only for a text that the schema refuses.
    pub fn time_limit(&self) -> Result<std::time::Duration, DurationError> {
        duration::parse_timeout(&self.timeout)
    }
}

/// How the end of an operation is learnt.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Completion {
    /// The provider is asked now and then.
    #[default]
    Poll,
    /// The provider calls the operator.
    Callback,
    /// The provider sends a message.
    Queue,
    /// Whichever of these comes first.
    Hybrid,
}

impl Completion {
    /// Every way.
    pub const ALL: [Self; 4] = [Self::Poll, Self::Callback, Self::Queue, Self::Hybrid];
}

fn env_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": rules::ENV_MAX,
        "additionalProperties": { "type": "string", "maxLength": rules::ENV_VALUE_LENGTH_MAX },
    })
}

fn parameters_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": rules::PARAMETERS_MAX,
        "x-kubernetes-preserve-unknown-fields": true,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_spec_has_the_defaults() {
        let spec: TaskSpec = serde_json::from_value(json!({})).unwrap();
        assert_eq!(spec, TaskSpec::default());
        assert_eq!(
            serde_json::to_value(spec).unwrap(),
            json!({"replicas": 1, "image": "nginx:alpine", "port": 8080})
        );
    }

    #[test]
    fn an_operation_needs_only_a_provider() {
        let operation: Operation = serde_json::from_value(json!({"provider": "p"})).unwrap();
        assert_eq!(
            serde_json::to_value(&operation).unwrap(),
            json!({"provider": "p", "completion": "Poll", "timeout": "1h"})
        );
        assert_eq!(
            operation.time_limit(),
            Ok(std::time::Duration::from_secs(3600))
        );
        assert!(serde_json::from_value::<Operation>(json!({})).is_err());
    }

    #[test]
    fn absent_empty_and_null_parameters_stay_apart() {
        for parameters in [
            json!({}),
            json!({"a": null}),
            json!({"a": [1, 2.5, {"b": {}}]}),
        ] {
            let written = json!({"provider": "p", "completion": "Queue", "timeout": "1.5s", "parameters": parameters});
            let operation: Operation = serde_json::from_value(written.clone()).unwrap();
            assert_eq!(serde_json::to_value(operation).unwrap(), written);
        }
    }
}
