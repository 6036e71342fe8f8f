//! A controller at rest asks the API server for nothing but to go on watching and to keep its Lease.

use std::{path::Path, time::Duration};

use serde_json::json;
use task_tests::{AuditLog, Kubectl, Operator};
use tokio::time::sleep;

use crate::{V1, patch_status, phase, v1, v1alpha1};

/// Longer than the longest time after which a Task is looked at again, 60 s.
const REST: Duration = Duration::from_secs(95);

/// How long nothing must happen for all to have come to rest.
const QUIET: Duration = Duration::from_secs(5);

// In a control plane of its own: the other tests of this file keep the controller of theirs busy.
#[tokio::test]
async fn at_rest_the_controller_makes_no_request() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let log = AuditLog::in_folder(&folder.join("at-rest-audit")).unwrap();
    let operator = Operator::start_with(&folder.join("at-rest"), log.api_server_args())
        .await
        .unwrap();
    let kubectl = Kubectl::in_namespace(&operator, "at-rest").await;

    let tasks = [
        v1(
            "new",
            json!({"replicas": 2, "env": {"A": "$(B)", "B": "1", "EMPTY": ""}}),
        ),
        v1alpha1(
            "old",
            json!({"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]}),
        ),
        v1alpha1("none", json!({"replicas": 0})),
        v1(
            "op",
            json!({"operation": {"provider": "p", "timeout": "90s"}}),
        ),
        v1(
            "waits",
            json!({"operation": {"provider": "p", "completion": "Queue"}}),
        ),
    ];
    kubectl
        .ok_with(&["apply", "-f", "-"], &tasks.join("\n"))
        .await;
    let status = json!({"status": {"operation": {"phase": "Ready", "key": "k"}}});
    patch_status(kubectl, V1, &status.to_string()).await;
    for name in ["new", "old", "none", "op"] {
        kubectl
            .until(V1, name, |task| phase(task) == "Succeeded")
            .await;
    }
    kubectl
        .until(V1, "waits", |task| phase(task) == "Pending")
        .await;

    let requests = || log.of_controller().unwrap();
    let mut before = Vec::new();
    while before != requests() {
        before = requests();
        sleep(QUIET).await;
    }
    assert!(!before.is_empty(), "the log is not that of this controller");
    sleep(REST).await;
    assert_eq!(requests()[before.len()..], []);
}
