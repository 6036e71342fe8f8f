//! Tasks that the API server admits without the webhooks, and the controller cannot decode.

use serde_json::{Value, json};
use task_tests::Kubectl;

use crate::{V1, operator, phase, v1};

fn nested(levels: usize) -> Value {
    let parameters = json!({"a": (0..levels).fold(json!(1), |inner, _| json!([inner]))});
    json!({"operation": {"provider": "p", "parameters": parameters}})
}

#[tokio::test]
async fn a_task_nested_too_deeply_is_told_so_and_stops_no_other() {
    let operator = operator().await;
    let kubectl = Kubectl::in_namespace(operator, "deep").await;
    kubectl
        .ok_with(&["create", "-f", "-"], &v1("deep", json!({})))
        .await;
    let task = kubectl
        .until(V1, "deep", |task| phase(task) == "Succeeded")
        .await;
    let uid = task["metadata"]["uid"].as_str().unwrap();
    operator.remove_admission().await.unwrap();
    let patch = json!({"spec": nested(200)}).to_string();
    kubectl
        .ok(&["patch", V1, "deep", "--type=merge", "--patch", &patch])
        .await;
    operator.install_admission().await.unwrap();
    kubectl
        .ok(&[
            "wait",
            "--for=condition=Stalled",
            "task/deep",
            "--timeout=90s",
        ])
        .await;
    // By kubectl, since here it is too deep to be read, too.
    let reason =
        "--output=jsonpath={.status.phase} {.status.conditions[?(@.type=='Stalled')].reason}";
    assert_eq!(
        kubectl.ok(&["get", V1, "deep", reason]).await,
        "Failed Undecodable"
    );
    let told = ["FinalizerAdded", "ReconcileSucceeded", "ReconcileFailed"];
    kubectl.until_events(uid, &told).await;
    let numbers = operator.metrics().await.unwrap();
    assert!(!numbers.contains("task_undecodable_total 0"), "{numbers}");

    // A list has it too: after a start, and when a watch was interrupted.
    operator.kill_and_restart_controller().unwrap();
    let next = v1("next", json!({}));
    kubectl.ok_with(&["create", "-f", "-"], &next).await;
    kubectl
        .until(V1, "next", |task| phase(task) == "Succeeded")
        .await;

    kubectl
        .ok(&["delete", "task", "deep", "--timeout=60s"])
        .await;
    let told = [
        "FinalizerAdded",
        "ReconcileSucceeded",
        "ReconcileFailed",
        "Deleted",
    ];
    kubectl.until_events(uid, &told).await;
}
