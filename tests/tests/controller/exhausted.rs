//! A range of addresses that is exhausted.

use std::path::Path;

use serde_json::{Value, json};
use task_tests::{Kubectl, Operator};

use crate::{V1, create, phase, standing, succeeded, task, uid};

/// How many addresses there are in the range for Services beside the one of the API server itself.
const ADDRESSES: usize = 5;

// In a control plane of its own: the range is that of all namespaces.
#[tokio::test]
async fn a_task_whose_service_gets_no_address_says_so_until_there_is_one() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exhausted");
    let range = "--service-cluster-ip-range=10.96.0.0/29".to_owned();
    let operator = Operator::start_with(&folder, vec![range]).await.unwrap();
    let kubectl = Kubectl::in_namespace(&operator, "exhausted").await;
    for index in 0..ADDRESSES {
        let name = format!("web{index}");
        create(kubectl, &task(&name, json!({}))).await;
        kubectl.until(V1, &name, succeeded).await;
    }
    create(kubectl, &task("late", json!({}))).await;
    let stalled = kubectl
        .until(V1, "late", |task| phase(task) == "Failed")
        .await;
    let (type_, reason, message) = standing(&stalled);
    assert_eq!((type_, reason), ("Stalled", "InternalError"));
    assert!(
        message.starts_with("cannot apply Service late:") && message.contains("range is full"),
        "{message}"
    );
    let told = ["FinalizerAdded", "ReconcileFailed"];
    kubectl.until_events(uid(&stalled), &told).await;

    kubectl.ok(&["delete", "task", "web0"]).await;
    kubectl.until("service", "web0", Value::is_null).await;
    kubectl.until(V1, "late", succeeded).await;
}
