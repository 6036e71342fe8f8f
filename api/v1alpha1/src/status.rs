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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_absent_is_not_written() {
        let status = TaskStatus::default();
        assert_eq!(serde_json::to_value(status).unwrap(), json!({}));
    }

    #[test]
    fn the_older_names_stand_beside_the_status_of_v1() {
        let text = json!({
            "observedGeneration": 3,
            "lastAsyncOperationID": "op-1",
            "operation": {"phase": "Ready", "key": "k"},
            "taskStatus": "Completed",
            "taskResult": "r",
            "completedAt": "2026-01-02T03:04:05Z",
        });
        let status: TaskStatus = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(status.v1.last_async_operation_id.as_deref(), Some("op-1"));
        assert_eq!(serde_json::to_value(status).unwrap(), text);
    }

    #[test]
    fn no_task_status_is_the_empty_string() {
        let status: TaskStatus = serde_json::from_value(json!({"taskStatus": ""})).unwrap();
        assert_eq!(status.task_status, Some(TaskState::None));
        assert_eq!(
            serde_json::to_value(status).unwrap(),
            json!({"taskStatus": ""})
        );
    }
}
