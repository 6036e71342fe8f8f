//! Tasks that the API server admits without the webhooks, and the controller cannot decode.

use serde_json::json;
use task_tests::Kubectl;

use crate::{V1, operator, phase, v1};

#[tokio::test]
async fn a_task_nested_too_deeply_is_told_so_and_stops_no_other() {
    let operator = operator().await;
    let kubectl = Kubectl::in_namespace(operator, "deep").await;
    let parameters = json!({"a": (0..200).fold(json!(1), |inner, _| json!([inner]))});
    let deep = v1(
        "deep",
        json!({"operation": {"provider": "p", "parameters": parameters}}),
    );
    operator.remove_admission().await.unwrap();
    kubectl.ok_with(&["create", "-f", "-"], &deep).await;
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

    // A list has it too: after a start, and when a watch was interrupted.
    operator.kill_and_restart_controller().unwrap();
    let next = v1("next", json!({}));
    kubectl.ok_with(&["create", "-f", "-"], &next).await;
    kubectl
        .until(V1, "next", |task| phase(task) == "Succeeded")
        .await;
}
