//! Calls that fail, in every way that matters.

use serde_json::{Value, json};

use crate::{
    V1,
    world::{Provider, create, kubectl, phase, reason, spec, world},
};

/// Starts an operation whose first calls fail like this, and waits until the Task succeeds.
async fn succeeds(namespace: &'static str, provider: Provider, faults: Value) -> Value {
    let kubectl = kubectl(namespace).await;
    create(
        kubectl,
        "web",
        spec(provider, json!({"seconds": 1, "faults": faults})),
    )
    .await;
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await
}

async fn starts(namespace: &str) -> Vec<u32> {
    let operations = world().await.simulator.operations_in(namespace);
    operations
        .iter()
        .map(|operation| operation.starts)
        .collect()
}

#[tokio::test]
async fn a_start_that_timed_out_though_it_was_accepted_is_found_and_not_repeated() {
    let faults = json!({"start": [{"hang": true, "accept": true}]});
    let task = succeeds("accepted", Provider::Steady, faults).await;
    assert_eq!(starts("accepted").await, [1]);
    assert_eq!(task["status"]["operation"]["attempts"], 1);
    assert_eq!(task["status"]["failureDetails"][0]["code"], "NoAnswer");
}

#[tokio::test]
async fn a_start_that_was_never_accepted_is_repeated_with_the_same_key() {
    let faults = json!({"start": [{"status": 503}]});
    let task = succeeds("refused", Provider::Steady, faults).await;
    assert_eq!(starts("refused").await, [2]);
    assert_eq!(task["status"]["operation"]["attempts"], 2);
}

#[tokio::test]
async fn without_look_up_the_same_request_is_sent_again_and_is_the_same_operation() {
    for (namespace, fault) in [
        ("replayed-hang", json!({"hang": true, "accept": true})),
        ("replayed-drop", json!({"drop": true, "accept": true})),
        ("replayed-5xx", json!({"status": 500, "accept": true})),
        ("replayed-409", json!({"status": 409})),
    ] {
        succeeds(namespace, Provider::Replaying, json!({"start": [fault]})).await;
        assert_eq!(starts(namespace).await, [2], "{namespace}");
    }
}

#[tokio::test]
async fn a_start_that_is_not_known_is_for_a_person_once_the_key_is_too_old() {
    let kubectl = kubectl("too-old").await;
    let faults = json!({"start": [{"hang": true, "accept": true}]});
    create(
        kubectl,
        "web",
        spec(Provider::Forgetful, json!({"faults": faults})),
    )
    .await;
    let failed = kubectl
        .until(V1, "web", |task| phase(task) == "Failed")
        .await;
    assert_eq!(reason(&failed, "TerminalError"), "StartUnknown");
    assert_eq!(starts("too-old").await, [1]);
}

#[tokio::test]
async fn a_provider_is_left_alone_for_as_long_as_it_asks() {
    let date = "Thu, 01 Jan 1970 00:00:00 GMT";
    for (namespace, retry_after) in [
        ("wait-seconds", "1"),
        ("wait-date", date),
        ("wait-garbage", "soon"),
    ] {
        let faults = json!({"start": [{"status": 429, "retryAfter": retry_after}]});
        succeeds(namespace, Provider::Steady, faults).await;
        assert_eq!(starts(namespace).await, [2], "{namespace}");
    }
}

#[tokio::test]
async fn a_poll_that_fails_changes_nothing() {
    let faults = json!({"poll": [{"status": 500}, {"status": 403}, {"drop": true}]});
    succeeds("polls", Provider::Steady, faults).await;
    assert_eq!(starts("polls").await, [1]);
}

#[tokio::test]
async fn a_provider_that_refuses_is_not_asked_again() {
    let kubectl = kubectl("refusing").await;
    let faults = json!({"start": [{"status": 400}]});
    create(
        kubectl,
        "web",
        spec(Provider::Steady, json!({"faults": faults})),
    )
    .await;
    let failed = kubectl
        .until(V1, "web", |task| phase(task) == "Failed")
        .await;
    assert_eq!(reason(&failed, "TerminalError"), "Refused");
    assert_eq!(failed["status"]["failureDetails"][0]["code"], "HTTP400");
    assert_eq!(failed["status"]["operation"]["attempts"], 1);
    assert!(starts("refusing").await.is_empty());
}
