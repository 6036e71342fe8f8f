//! What a Task costs the API server, from its creation to its end.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use task_tests::AuditLog;

use crate::{V1, create, kubectl, succeeded, task, uid, world};

/// How many requests were made for the Tasks of a namespace, by verb and resource.
fn tally(log: &AuditLog, namespace: &str) -> BTreeMap<String, usize> {
    let mut tally = BTreeMap::new();
    for request in log.of_controller().unwrap() {
        if request.namespace == namespace {
            let of_it = format!("{} {}", request.verb, request.resource);
            *tally.entry(of_it).or_default() += 1;
        }
    }
    tally
}

#[tokio::test]
async fn a_task_costs_eight_requests_until_it_succeeds_and_two_to_go() {
    let kubectl = kubectl("cost").await;
    create(kubectl, &task("web", json!({"env": {"A": "1"}}))).await;
    let done = kubectl.until(V1, "web", succeeded).await;
    let uid = uid(&done);
    kubectl
        .until_events(uid, &["FinalizerAdded", "ReconcileSucceeded"])
        .await;

    let mut expected: BTreeMap<_, _> = [
        // Before anything is done for it.
        ("patch tasks", 1),
        ("patch configmaps", 1),
        ("patch services", 1),
        ("patch deployments", 1),
        // Pending, Succeeded.
        ("patch tasks/status", 2),
        ("create events", 2),
    ]
    .map(|(request, times)| (request.to_owned(), times))
    .into();
    let log = &world().await.log;
    assert_eq!(tally(log, "cost"), expected);

    kubectl.ok(&["delete", "task", "web"]).await;
    kubectl.until("deployment", "web", Value::is_null).await;
    kubectl
        .until_events(uid, &["FinalizerAdded", "ReconcileSucceeded", "Deleted"])
        .await;
    *expected.get_mut("patch tasks").unwrap() += 1;
    *expected.get_mut("create events").unwrap() += 1;
    assert_eq!(tally(log, "cost"), expected);
}
