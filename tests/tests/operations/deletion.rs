//! A Task that is deleted while its operation runs.

use serde_json::{Value, json};

use crate::{
    V1,
    world::{Provider, create, kubectl, reason, spec, world},
};

/// Deletes a Task whose operation runs like this, and tells how that stands once the Task is gone.
async fn deleted(namespace: &'static str, provider: Provider, parameters: Value) -> &'static str {
    let kubectl = kubectl(namespace).await;
    create(kubectl, "web", spec(provider, parameters)).await;
    kubectl
        .until(V1, "web", |task| {
            reason(task, "AsyncOperation") == "StatusCheckInProgress"
        })
        .await;
    kubectl.ok(&["delete", "task", "web", "--wait=false"]).await;
    kubectl.until(V1, "web", Value::is_null).await;
    let operations = world().await.simulator.operations_in(namespace);
    assert_eq!(operations.len(), 1);
    operations[0].status()
}

#[tokio::test]
async fn a_deletion_cancels_the_operation() {
    let status = deleted("cancelled", Provider::Steady, json!({"outcome": "Never"})).await;
    assert_eq!(status, "Canceled");
}

#[tokio::test]
async fn a_deletion_waits_for_the_operation_where_the_provider_says_so() {
    let status = deleted("awaited", Provider::Waiting, json!({"seconds": 4})).await;
    assert_eq!(status, "Succeeded");
}

#[tokio::test]
async fn a_deletion_leaves_the_operation_where_the_provider_says_so() {
    let status = deleted("orphaned", Provider::Orphaning, json!({"outcome": "Never"})).await;
    assert_eq!(status, "Running");
}

#[tokio::test]
async fn a_deletion_while_the_start_is_not_known_leaves_no_orphan() {
    for (namespace, provider) in [
        ("ambiguous", Provider::Steady),
        ("ambiguous-replaying", Provider::Replaying),
    ] {
        let kubectl = kubectl(namespace).await;
        let faults = json!({"start": [{"hang": true, "accept": true}]});
        let parameters = json!({"outcome": "Never", "faults": faults});
        create(kubectl, "web", spec(provider, parameters)).await;
        kubectl
            .until(V1, "web", |task| {
                reason(task, "AsyncOperation") == "ProvisioningStarted"
            })
            .await;
        kubectl.ok(&["delete", "task", "web", "--wait=false"]).await;
        kubectl.until(V1, "web", Value::is_null).await;
        let operations = world().await.simulator.operations_in(namespace);
        assert_eq!(operations.len(), 1, "{namespace}");
        assert_eq!(operations[0].status(), "Canceled", "{namespace}");
    }
}

#[tokio::test]
async fn a_task_that_waits_for_its_operation_says_so() {
    let kubectl = kubectl("visible").await;
    let faults = json!({"cancel": [{"status": 503}]});
    let parameters = json!({"outcome": "Never", "faults": faults});
    create(kubectl, "web", spec(Provider::Steady, parameters)).await;
    kubectl
        .until(V1, "web", |task| {
            reason(task, "AsyncOperation") == "StatusCheckInProgress"
        })
        .await;
    kubectl.ok(&["delete", "task", "web", "--wait=false"]).await;
    kubectl
        .until(V1, "web", |task| {
            let conditions = task["status"]["conditions"].to_string();
            conditions.contains("waits for its operation to end")
                && reason(task, "AsyncOperation") == "Canceling"
        })
        .await;
    kubectl.until(V1, "web", Value::is_null).await;
}
