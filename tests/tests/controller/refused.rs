//! Children that the API server refuses.

use std::time::Duration;

use serde_json::json;
use tokio::time::sleep;

use crate::{V1, create, kubectl, phase, standing, succeeded, task, uid, world};

/// So many Tasks that are refused, beside some that are not.
const REFUSED: usize = 50;

#[tokio::test]
async fn refused_children_are_told_once_and_asked_for_later_each_time() {
    let refused = kubectl("refused").await;
    let healthy = kubectl("beside-refused").await;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
        "spec": {"hard": {"count/deployments.apps": "0"}}});
    create(refused, &quota).await;
    refused
        .until("resourcequota", "none", |quota| {
            !quota["status"]["hard"].is_null()
        })
        .await;
    let tasks: Vec<_> = (0..REFUSED)
        .map(|index| task(&format!("web{index}"), json!({})).to_string())
        .collect();
    refused
        .ok_with(&["create", "-f", "-"], &tasks.join("\n"))
        .await;
    let last = format!("web{}", REFUSED - 1);
    let stalled = refused
        .until(V1, &last, |task| phase(task) == "Failed")
        .await;
    let (type_, reason, message) = standing(&stalled);
    assert_eq!((type_, reason), ("Stalled", "Forbidden"));
    assert!(
        message.starts_with(&format!("cannot apply Deployment {last}:"))
            && message.contains("exceeded quota: none"),
        "{message}"
    );

    create(healthy, &task("web", json!({}))).await;
    healthy.until(V1, "web", succeeded).await;
    sleep(Duration::from_secs(20)).await;
    let told = ["FinalizerAdded", "ReconcileFailed"];
    assert_eq!(refused.events(uid(&stalled)).await, told);
    let requests = world().await.log.of_controller().unwrap();
    let tries = |name: &str| {
        let is_try = |request: &&task_tests::Request| {
            request.namespace == "refused"
                && request.name == name
                && request.resource == "deployments"
        };
        requests.iter().filter(is_try).count()
    };
    // At once, after 5 s, 15 s and 35 s, each up to a quarter later.
    let tries: Vec<_> = (0..REFUSED)
        .map(|index| tries(&format!("web{index}")))
        .collect();
    assert!(
        tries.iter().all(|&tries| (2..=4).contains(&tries)),
        "{tries:?}"
    );

    refused.ok(&["delete", "resourcequota", "none"]).await;
    refused.until(V1, &last, succeeded).await;
    let told = ["FinalizerAdded", "ReconcileFailed", "ReconcileSucceeded"];
    refused.until_events(uid(&stalled), &told).await;
}
