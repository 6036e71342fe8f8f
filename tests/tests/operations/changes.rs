//! A spec that changes while an operation runs.

use serde_json::json;

use crate::{
    V1,
    world::{Provider, create, kubectl, phase, reason, spec, world},
};

#[tokio::test]
async fn another_operation_is_started_only_after_the_old_one_is_cancelled() {
    let kubectl = kubectl("changed").await;
    create(
        kubectl,
        "web",
        spec(Provider::Steady, json!({"outcome": "Never"})),
    )
    .await;
    kubectl
        .until(V1, "web", |task| {
            reason(task, "AsyncOperation") == "StatusCheckInProgress"
        })
        .await;
    let patch =
        json!({"spec": {"operation": {"parameters": {"outcome": "Succeeded"}}}}).to_string();
    kubectl
        .ok(&["patch", V1, "web", "--type=merge", "--patch", &patch])
        .await;
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    let statuses: Vec<_> = world()
        .await
        .simulator
        .operations_in("changed")
        .iter()
        .map(|operation| operation.status())
        .collect();
    assert_eq!(statuses, ["Canceled", "Succeeded"]);
}

#[tokio::test]
async fn other_edits_do_not_touch_the_operation() {
    let kubectl = kubectl("edited").await;
    create(
        kubectl,
        "web",
        spec(Provider::Steady, json!({"seconds": 3})),
    )
    .await;
    let before = kubectl
        .until(V1, "web", |task| {
            reason(task, "AsyncOperation") == "StatusCheckInProgress"
        })
        .await;
    kubectl.ok(&["scale", V1, "web", "--replicas=2"]).await;
    let done = kubectl
        .until(V1, "web", |task| {
            phase(task) == "Succeeded" && task["status"]["availableReplicas"] == 2
        })
        .await;
    assert_eq!(
        done["status"]["operation"]["key"],
        before["status"]["operation"]["key"]
    );
    kubectl.ok(&["scale", V1, "web", "--replicas=1"]).await;
    kubectl
        .until(V1, "web", |task| {
            phase(task) == "Succeeded" && task["status"]["availableReplicas"] == 1
        })
        .await;
    assert_eq!(world().await.simulator.operations_in("edited").len(), 1);
}

#[tokio::test]
async fn an_operation_that_takes_too_long_is_cancelled() {
    let kubectl = kubectl("timeout").await;
    let mut spec = spec(Provider::Steady, json!({"outcome": "Never"}));
    spec["operation"]["timeout"] = json!("3s");
    create(kubectl, "web", spec).await;
    let failed = kubectl
        .until(V1, "web", |task| phase(task) == "Failed")
        .await;
    assert_eq!(reason(&failed, "TerminalError"), "Timeout");
    let operations = world().await.simulator.operations_in("timeout");
    assert_eq!(operations.len(), 1);
    assert_eq!(operations[0].status(), "Canceled");
}

#[tokio::test]
async fn an_operation_that_nobody_wants_any_more_is_cancelled() {
    let kubectl = kubectl("removed").await;
    create(
        kubectl,
        "web",
        spec(Provider::Steady, json!({"outcome": "Never"})),
    )
    .await;
    kubectl
        .until(V1, "web", |task| {
            reason(task, "AsyncOperation") == "StatusCheckInProgress"
        })
        .await;
    let patch = json!({"spec": {"operation": null}}).to_string();
    kubectl
        .ok(&["patch", V1, "web", "--type=merge", "--patch", &patch])
        .await;
    kubectl
        .until(V1, "web", |task| {
            phase(task) == "Succeeded" && reason(task, "AsyncOperation") == "Superseded"
        })
        .await;
    let operations = world().await.simulator.operations_in("removed");
    assert_eq!(operations[0].status(), "Canceled");
}
