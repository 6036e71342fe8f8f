//! What is logged, and what never is.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::program::{PATIENCE, Program, review};

/// Waits until the log says `text`.
async fn logged(program: &Program, text: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !program.log().contains(text) {
        assert!(Instant::now() < deadline, "no {text} in {}", program.log());
        sleep(std::time::Duration::from_millis(20)).await;
    }
}

/// Sends what is no TLS, and waits until the server has let go of it.
async fn fail_a_handshake(program: &Program) {
    let mut stream = TcpStream::connect(program.client.address).await.unwrap();
    stream.write_all(b"no TLS at all\r\n\r\n").await.unwrap();
    program.metric("task_conversion_connections 1\n").await;
}

/// A review of an object that cannot be converted, and of one whose annotation is none of ours.
fn bad_review(secret: &str) -> String {
    review(json!([
        {"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "bad", "namespace": "n"},
            "spec": {"operation": secret}},
        {"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "odd", "namespace": "n",
            "annotations": {"task.example.io/v1alpha1": format!("{{{secret}"), "note": secret}},
            "spec": {"env": {"PASSWORD": secret}}},
    ]))
}

#[tokio::test]
async fn rust_log_says_how_much_is_logged() {
    let program = Program::start(&[]).await;
    fail_a_handshake(&program).await;
    assert!(!program.log().contains("the handshake failed"));
    let program = Program::start_with_log("info,task_conversion=debug", &[]).await;
    fail_a_handshake(&program).await;
    logged(&program, "the handshake failed").await;
}

#[tokio::test]
async fn each_line_is_json_if_that_is_asked_for() {
    let program = Program::start(&["--log-format=json"]).await;
    program.client.convert("no json").await;
    logged(&program, "a conversion failed").await;
    for line in program.log().lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["level"].is_string() && line["timestamp"].is_string());
        assert!(line["fields"]["message"].is_string());
    }
}

#[tokio::test]
async fn an_object_is_named_and_nothing_that_it_holds_is_logged() {
    let program = Program::start_with_log("trace", &[]).await;
    program.client.convert(bad_review("hunter2")).await;
    logged(&program, "n/bad").await;
    logged(&program, "n/odd").await;
    assert!(!program.log().contains("hunter2"), "{}", program.log());
}
