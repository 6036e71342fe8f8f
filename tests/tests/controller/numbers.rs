//! What the controller counts.

use serde_json::{Value, json};

use crate::{V1, create, kubectl, succeeded, task, world};

#[tokio::test]
async fn the_numbers_of_a_task_go_with_it_and_those_of_the_whole_stay() {
    let kubectl = kubectl("numbers").await;
    let operator = &world().await.operator;
    create(kubectl, &task("counted", json!({}))).await;
    kubectl.until(V1, "counted", succeeded).await;
    let of_it = r#"task_reconcile_total{namespace="numbers",name="counted",phase="Succeeded"}"#;
    // It is counted after the status is written.
    while !operator.metrics().await.unwrap().contains(of_it) {
        tokio::task::yield_now().await;
    }

    kubectl.ok(&["delete", "task", "counted"]).await;
    kubectl.until("deployment", "counted", Value::is_null).await;
    let numbers = operator.metrics().await.unwrap();
    assert!(!numbers.contains("counted"), "{numbers}");
    for kept in [
        r#"task_api_requests_total{verb="patch",result="200"}"#,
        r#"task_api_requests_total{verb="patch",result="201"}"#,
        r#"task_api_requests_total{verb="create",result="201"}"#,
        r#"task_api_requests_total{verb="watch",result="200"}"#,
        r#"task_reconcile_duration_seconds_bucket{le="10.0"}"#,
        "task_reconcile_queue_depth ",
        "task_controller_build_info{",
    ] {
        assert!(numbers.contains(kept), "{kept} in\n{numbers}");
    }
}
