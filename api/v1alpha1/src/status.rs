//! What was observed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use task_api_v1::schema;

/// What was observed. The operator writes it; absent until it first has.
///
/// It holds the whole of the v1 status, so that a client that writes back what it read at this
/// version loses nothing, and three older names for parts of `operation`.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::kubernetes)]
pub struct TaskStatus {
    /// Every field of the v1 status, in the same place.
    #[serde(flatten)]
    pub v1: task_api_v1::TaskStatus,

    /// The older name of operation.phase: empty for none, "Running" for Creating, "Completed" for Ready,
    /// and "Failed".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_status: Option<TaskState>,

    /// The older name of operation.result: what the provider returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_result: Option<String>,

    /// The older name of operation.completedAt: when the operation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,
}

/// How far an operation has come, in the older words.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TaskState {
    /// There is no operation, or it has not begun: the empty string.
    #[default]
    #[serde(rename = "")]
    None,
    /// It has begun and not ended.
    Running,
    /// It succeeded.
    Completed,
    /// It failed.
    Failed,
}
