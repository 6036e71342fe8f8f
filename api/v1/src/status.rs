//! What was observed.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::schema;

/// What was observed. The operator writes it; absent until it first has.
#[derive(KubeSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = schema::kubernetes)]
pub struct TaskStatus {
    /// The metadata.generation that this status describes. Where it is behind, the rest of the status is
    /// about an older spec.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The workload and the operation together, in a word: "Pending", "Running", "Succeeded" or "Failed".
    /// A summary for people; programs should look at the conditions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<TaskPhase>,

    /// The number of pods that the Deployment has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i32>,

    /// The number of those pods that are available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_replicas: Option<i32>,

    /// The label selector of the pods, as text: what a HorizontalPodAutoscaler reads through the scale
    /// subresource.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,

    /// When anything else in this status last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_update_time: Option<Time>,

    /// The conditions, by type: "Ready"; "AsyncOperation", how the operation stands; "Reconciling" and
    /// "Stalled", as kstatus defines them; and "TerminalError", a failure that is not tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Option<Vec<Condition>>,

    /// The provider's id of the newest operation.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "lastAsyncOperationID"
    )]
    pub last_async_operation_id: Option<String>,

    /// Where a person looks at the operation in the external system.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "externalSystemURL"
    )]
    pub external_system_url: Option<String>,

    /// The newest failures of the operation; the operator keeps ten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub failure_details: Option<Vec<FailureDetail>>,

    /// What the operator keeps of the operation, so that it is started only once and followed to its end
    /// even if the operator is restarted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<OperationStatus>,
}

/// The workload and the operation together, in a word.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskPhase {
    /// Nothing runs yet.
    Pending,
    /// The workload is being rolled out, or the operation is under way.
    Running,
    /// The workload is available and the operation, if there is one, has succeeded.
    Succeeded,
    /// The operation has failed, or the workload cannot be brought up.
    Failed,
}

/// One failure of the operation.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct FailureDetail {
    /// The kind of failure, for programs.
    pub code: String,

    /// What went wrong, for people.
    pub message: String,

    /// When it happened.
    pub timestamp: Time,
}

/// What the operator keeps of an operation.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Debug, Default, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct OperationStatus {
    /// How far the operation has come: "Creating" from the first call on, then "Ready" or "Failed".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<OperationPhase>,

    /// The idempotency key. It is written here before the provider is first called, so that a call that is
    /// repeated after a crash cannot start a second operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,

    /// A hash of the request that the key stands for: another request needs another key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_hash: Option<String>,

    /// The number of calls made to start the operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i32>,

    /// When the operation was started. The timeout counts from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Time>,

    /// When the operator next asks the provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_check_at: Option<Time>,

    /// When the operation ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Time>,

    /// What the provider returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,

    /// The id of the newest event that was taken in, so that one that comes twice counts once.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        rename = "lastEventID"
    )]
    pub last_event_id: Option<String>,
}

/// How far an operation has come.
#[derive(JsonSchema, Serialize, Deserialize, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationPhase {
    /// It was started, or is about to be, and has not ended.
    Creating,
    /// It succeeded.
    Ready,
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
        assert_eq!(
            serde_json::to_value(OperationStatus::default()).unwrap(),
            json!({})
        );
    }

    #[test]
    fn every_field_has_the_name_that_the_api_gives_it() {
        let text = json!({
            "observedGeneration": 3,
            "phase": "Running",
            "replicas": 2,
            "availableReplicas": 1,
            "selector": "a=b",
            "lastUpdateTime": "2026-01-02T03:04:05Z",
            "conditions": [{
                "type": "Ready",
                "status": "False",
                "reason": "Progressing",
                "message": "",
                "lastTransitionTime": "2026-01-02T03:04:05Z",
            }],
            "lastAsyncOperationID": "op-1",
            "externalSystemURL": "https://example.com/op-1",
            "failureDetails": [{"code": "c", "message": "m", "timestamp": "2026-01-02T03:04:05Z"}],
            "operation": {
                "phase": "Creating",
                "key": "k",
                "requestHash": "h",
                "attempts": 1,
                "startedAt": "2026-01-02T03:04:05Z",
                "nextCheckAt": "2026-01-02T03:04:05Z",
                "completedAt": "2026-01-02T03:04:05Z",
                "result": "r",
                "lastEventID": "e",
            },
        });
        let status: TaskStatus = serde_json::from_value(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(status).unwrap(), text);
    }
}
