//! Operations against a provider that fails as it is told to, with the real controller on a real control plane.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod callbacks;
mod changes;
mod deletion;
mod faults;
mod queue;
mod world;

use serde_json::json;

use world::{Provider, create, kubectl, phase, spec, world};

const V1: &str = "tasks.v1.task.example.io";

#[tokio::test]
async fn the_workload_is_created_once_the_operation_is_ready() {
    let kubectl = kubectl("happy").await;
    create(
        kubectl,
        "web",
        spec(Provider::Steady, json!({"seconds": 3})),
    )
    .await;
    let running = kubectl
        .until(V1, "web", |task| {
            world::reason(task, "AsyncOperation") == "StatusCheckInProgress"
        })
        .await;
    assert_eq!(running["status"]["phase"], "Pending");
    assert_eq!(running["status"]["operation"]["phase"], "Creating");
    assert_eq!(
        running["status"]["lastAsyncOperationID"],
        running["status"]["operation"]["key"]
    );
    assert!(kubectl.get("deployment", "web").await.is_null());

    let done = kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    let operation = &done["status"]["operation"];
    assert_eq!(operation["phase"], "Ready");
    assert_eq!(operation["result"], "made for web");
    assert_eq!(operation["attempts"], 1);
    assert_eq!(operation["nextCheckAt"], json!(null));
    assert_eq!(world::reason(&done, "AsyncOperation"), "Completed");
    assert!(
        done["status"]["externalSystemURL"]
            .as_str()
            .unwrap()
            .starts_with("https://")
    );

    let [accepted] = &world().await.simulator.operations_in("happy")[..] else {
        panic!("not one operation");
    };
    assert_eq!(json!(accepted.key), operation["key"]);
    assert_eq!(accepted.body["parameters"], json!({"seconds": 3}));
    assert_eq!(accepted.uid, done["metadata"]["uid"]);
    kubectl
        .until_events(
            done["metadata"]["uid"].as_str().unwrap(),
            &[
                "FinalizerAdded",
                "OperationStarted",
                "OperationSucceeded",
                "ReconcileSucceeded",
            ],
        )
        .await;
}

#[tokio::test]
async fn an_operation_that_fails_fails_the_task_until_a_person_asks_again() {
    let kubectl = kubectl("failing").await;
    create(
        kubectl,
        "web",
        spec(Provider::Steady, json!({"outcome": "Failed"})),
    )
    .await;
    let failed = kubectl
        .until(V1, "web", |task| phase(task) == "Failed")
        .await;
    assert_eq!(world::reason(&failed, "Stalled"), "OperationFailed");
    assert_eq!(world::reason(&failed, "TerminalError"), "Failed");
    assert_eq!(failed["status"]["failureDetails"][0]["code"], "Simulated");

    let retry = "task.example.io/retry-operation=1";
    kubectl.ok(&["annotate", "task", "web", retry]).await;
    kubectl
        .until(V1, "web", |task| {
            phase(task) == "Failed"
                && task["status"]["operation"]["key"] != failed["status"]["operation"]["key"]
        })
        .await;
    assert_eq!(world().await.simulator.operations_in("failing").len(), 2);
}

#[tokio::test]
async fn a_provider_that_is_not_configured_stalls_the_task_until_it_is() {
    let kubectl = kubectl("unknown").await;
    let mut spec = spec(Provider::Steady, json!({}));
    spec["operation"]["provider"] = json!("latecomer");
    create(kubectl, "web", spec).await;
    let stalled = kubectl
        .until(V1, "web", |task| {
            world::reason(task, "Stalled") == "UnknownProvider"
                && world::status(task, "Stalled") == "True"
        })
        .await;
    assert_eq!(stalled["status"].get("operation"), None);
    world().await.configure(&["latecomer"]);
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
}

#[tokio::test]
async fn what_only_v1_has_of_an_operation_stays_when_an_old_client_writes_the_status() {
    let kubectl = kubectl("old-client").await;
    create(
        kubectl,
        "web",
        spec(Provider::Steady, json!({"seconds": 4})),
    )
    .await;
    let before = kubectl
        .until(V1, "web", |task| {
            world::reason(task, "AsyncOperation") == "StatusCheckInProgress"
        })
        .await;
    let patch = json!({"status": {"selector": "a=b"}}).to_string();
    let old = "tasks.v1alpha1.task.example.io";
    kubectl
        .ok(&[
            "patch",
            old,
            "web",
            "--subresource=status",
            "--type=merge",
            "--patch",
            &patch,
        ])
        .await;
    let done = kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    let key = |task: &serde_json::Value| task["status"]["operation"]["key"].clone();
    assert_eq!(key(&done), key(&before));
    assert_eq!(world().await.simulator.operations_in("old-client").len(), 1);
}
