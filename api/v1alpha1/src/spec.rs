//! What is asked for.

use std::collections::BTreeMap;

use kube::{CustomResource, KubeSchema};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use task_api_v1::{defaults, rules, schema};

use crate::status::TaskStatus;

/// What is asked for: a workload, and the operation that it first needs, if any.
#[derive(CustomResource, KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[kube(
    group = "task.example.io",
    version = "v1alpha1",
    kind = "Task",
    doc = "A Task is a workload (a Deployment, a Service and a ConfigMap) that may first need one long-running operation in an external system, such as creating a volume or running a report. This version is deprecated: use task.example.io/v1.",
    namespaced,
    storage = false,
    deprecated = "task.example.io/v1alpha1 Task is deprecated; use task.example.io/v1",
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
    validation = task_api_v1::rules::name()
)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::kubernetes, extend("default" = {}))]
#[x_kube(
    validation = Rule::new("has(self.provider) || !has(self.parameters)")
        .message("parameters without provider: set provider, or remove parameters"),
    validation = Rule::new("has(self.provider) || !has(self.timeoutSeconds)")
        .message("timeoutSeconds without provider: set provider, or remove timeoutSeconds"),
)]
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

    /// The environment of the container: variables, each name once; at most 256. In v1 this is a map.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxItems" = rules::ENV_MAX))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub env: Option<Vec<EnvVar>>,

    /// The name of the provider that carries the operation out: a DNS label, one of those that the
    /// operator's administrator configured. Without it there is no operation. In v1 this is operation.provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = rules::PROVIDER_LENGTH_MAX))]
    #[x_kube(validation = rules::provider())]
    pub provider: Option<String>,

    /// What the provider is told: texts by name, at most 64. Needs a provider. In v1 this is
    /// operation.parameters, which holds any JSON; a value that is no text is shown here as its JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "parameters_schema")]
    pub parameters: Option<BTreeMap<String, String>>,

    /// How long the operation may take, in seconds, 1 to 2592000 (30 days). Needs a provider. In v1 this
    /// is operation.timeout, whose default is one hour; a part of a second is shown here rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = rules::TIMEOUT_SECONDS_MAX))]
    pub timeout_seconds: Option<i32>,
}

impl Default for TaskSpec {
    /// The spec that `spec: {}` means.
    fn default() -> Self {
        Self {
            replicas: defaults::replicas(),
            image: defaults::image(),
            port: defaults::port(),
            env: None,
            provider: None,
            parameters: None,
            timeout_seconds: None,
        }
    }
}

/// One environment variable.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct EnvVar {
    /// The name of the variable: 1 to 64 letters, digits, dashes, underscores or dots, not beginning with a digit.
    #[schemars(length(max = rules::ENV_NAME_LENGTH_MAX))]
    #[x_kube(validation = rules::env_name())]
    pub name: String,

    /// The value of the variable, at most 4096 characters; it may be empty. It may refer to another
    /// variable as $(NAME), whatever the order of writing.
    #[schemars(length(max = rules::ENV_VALUE_LENGTH_MAX))]
    pub value: String,
}

fn parameters_schema(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "maxProperties": rules::PARAMETERS_MAX,
        "additionalProperties": { "type": "string" },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_empty_spec_has_the_defaults_of_v1() {
        let spec: TaskSpec = serde_json::from_value(json!({})).unwrap();
        assert_eq!(spec, TaskSpec::default());
        assert_eq!(
            serde_json::to_value(spec).unwrap(),
            serde_json::to_value(task_api_v1::TaskSpec::default()).unwrap()
        );
    }

    #[test]
    fn every_field_has_the_name_that_the_api_gives_it() {
        let text = json!({
            "replicas": 2,
            "image": "nginx",
            "port": 80,
            "env": [{"name": "B", "value": ""}, {"name": "A", "value": "$(B)"}],
            "provider": "p",
            "parameters": {"size": "10"},
            "timeoutSeconds": 90,
        });
        let spec: TaskSpec = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(spec).unwrap(), text);
    }
}
