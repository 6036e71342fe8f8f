//! A controller that is started anew.

use serde_json::json;
use task_tests::Kubectl;

use crate::{V1, operator, phase, v1};

#[tokio::test]
async fn what_was_told_is_not_told_again() {
    let operator = operator().await;
    let kubectl = Kubectl::in_namespace(operator, "anew").await;
    let told = ["FinalizerAdded", "ReconcileSucceeded"];
    let mut first = None;
    for name in ["before", "after"] {
        kubectl
            .ok_with(&["create", "-f", "-"], &v1(name, json!({})))
            .await;
        let task = kubectl
            .until(V1, name, |task| phase(task) == "Succeeded")
            .await;
        let uid = task["metadata"]["uid"].as_str().unwrap();
        kubectl.until_events(uid, &told).await;
        let first = first.get_or_insert_with(|| uid.to_owned());
        assert_eq!(kubectl.events(first).await, told);
        operator.kill_and_restart_controller().unwrap();
    }
}
