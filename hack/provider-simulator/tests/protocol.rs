//! The simulator keeps to the protocol, and fails as it is told to.

#![allow(missing_docs, clippy::unwrap_used)]

use std::time::Duration;

use provider_simulator::Simulator;
use reqwest::{Client, Response};
use serde_json::{Value, json};

fn client() -> Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::new()
}

async fn start(simulator: &Simulator, key: &str, parameters: Value) -> reqwest::Result<Response> {
    let body =
        json!({"task": {"namespace": "n", "name": "t", "uid": "u"}, "parameters": parameters});
    client()
        .post(format!("{}/operations", simulator.url()))
        .header("Idempotency-Key", format!("\"{key}\""))
        .header("Operation-Id", key)
        .timeout(Duration::from_millis(300))
        .body(body.to_string())
        .send()
        .await
}

async fn ask(simulator: &Simulator, key: &str) -> (u16, Value) {
    let answer = client()
        .get(format!("{}/operations/{key}", simulator.url()))
        .send()
        .await
        .unwrap();
    let code = answer.status().as_u16();
    (
        code,
        serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap(),
    )
}

#[tokio::test]
async fn a_known_key_is_the_same_operation() {
    let simulator = Simulator::start().await.unwrap();
    for _ in 0..3 {
        assert_eq!(
            start(&simulator, "k", json!({})).await.unwrap().status(),
            202
        );
    }
    let operations = simulator.operations();
    assert_eq!((operations.len(), operations[0].starts), (1, 3));
    let other = start(&simulator, "k", json!({"seconds": 1})).await.unwrap();
    assert_eq!(other.status(), 422);
}

#[tokio::test]
async fn an_operation_ends_as_its_parameters_say() {
    let simulator = Simulator::start().await.unwrap();
    start(&simulator, "ok", json!({})).await.unwrap();
    start(&simulator, "bad", json!({"outcome": "Failed"}))
        .await
        .unwrap();
    start(&simulator, "runs", json!({"outcome": "Never"}))
        .await
        .unwrap();
    assert_eq!(ask(&simulator, "ok").await.1["status"], "Succeeded");
    assert_eq!(ask(&simulator, "bad").await.1["error"]["code"], "Simulated");
    assert_eq!(ask(&simulator, "runs").await.1["status"], "Running");
    let url = format!("{}/operations/runs", simulator.url());
    client().delete(url).send().await.unwrap();
    assert_eq!(ask(&simulator, "runs").await.1["status"], "Canceled");
}

#[tokio::test]
async fn a_call_may_fail_with_its_effect_or_without() {
    let simulator = Simulator::start().await.unwrap();
    for (key, fault, is_accepted) in [
        ("a", json!({"hang": true}), false),
        ("b", json!({"hang": true, "accept": true}), true),
        ("c", json!({"status": 503}), false),
        ("d", json!({"status": 503, "accept": true}), true),
    ] {
        let answer = start(&simulator, key, json!({"faults": {"start": [fault]}})).await;
        let succeeded = answer.is_ok_and(|answer| answer.status() == 202);
        assert!(!succeeded, "{key}");
        assert_eq!(ask(&simulator, key).await.0 == 200, is_accepted, "{key}");
        let again = start(&simulator, key, json!({"faults": {"start": [fault]}})).await;
        assert_eq!(again.unwrap().status(), 202, "{key}");
    }
}

#[tokio::test]
async fn a_connection_may_break_in_the_middle_of_the_answer() {
    let simulator = Simulator::start().await.unwrap();
    let faults = json!({"faults": {"start": [{"drop": true, "accept": true}]}});
    let is_whole = match start(&simulator, "k", faults).await {
        Ok(answer) => answer.bytes().await.is_ok(),
        Err(_) => false,
    };
    assert!(!is_whole);
    assert_eq!(simulator.operations().len(), 1);
}
