//! Workloads that do not become available: what the Task says of the cause.

use serde_json::json;

use crate::{V1, create, kubectl, phase, standing, succeeded, task, uid};

#[tokio::test]
async fn a_task_whose_pods_exceed_a_quota_says_so_until_there_is_room() {
    let kubectl = kubectl("quota").await;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "two"}, "spec": {"hard": {"pods": "2"}}});
    create(kubectl, &quota).await;
    kubectl
        .until("resourcequota", "two", |quota| {
            !quota["status"]["hard"].is_null()
        })
        .await;
    create(kubectl, &task("web", json!({"replicas": 3}))).await;
    let failed = kubectl
        .until(V1, "web", |task| {
            phase(task) == "Failed" && task["status"]["availableReplicas"] == 2
        })
        .await;
    let (type_, reason, message) = standing(&failed);
    assert_eq!((type_, reason), ("Stalled", "ReplicaFailure"));
    assert!(
        message.starts_with("2 of 3 replicas are available:")
            && message.contains("exceeded quota: two"),
        "{message}"
    );
    let told = ["FinalizerAdded", "ReconcileFailed"];
    kubectl.until_events(uid(&failed), &told).await;
    kubectl.ok(&["delete", "resourcequota", "two"]).await;
    kubectl.until(V1, "web", succeeded).await;
}

#[tokio::test]
async fn a_task_whose_pods_a_policy_refuses_says_so() {
    let kubectl = kubectl("policy").await;
    // Pods that may run as root are refused by the profile.
    kubectl
        .ok(&[
            "label",
            "namespace",
            "policy",
            "pod-security.kubernetes.io/enforce=restricted",
        ])
        .await;
    create(kubectl, &task("web", json!({}))).await;
    let failed = kubectl
        .until(V1, "web", |task| phase(task) == "Failed")
        .await;
    let (_, reason, message) = standing(&failed);
    assert_eq!(reason, "ReplicaFailure");
    assert!(message.contains("violates PodSecurity"), "{message}");
}

#[tokio::test]
async fn no_replicas_is_what_was_asked_for() {
    let kubectl = kubectl("none").await;
    create(kubectl, &task("web", json!({"replicas": 0}))).await;
    let task = kubectl.until(V1, "web", succeeded).await;
    assert_eq!(task["status"]["availableReplicas"], 0);
    assert_eq!(standing(&task).0, "Ready");
}
