//! A controller at rest asks the API server for nothing but to go on watching and to keep its Lease.
//!
//! `TASKS_AT_REST` and `SECONDS_AT_REST` make it more Tasks, and longer, than there is time for in every run of the tests.

use std::{env, path::Path, time::Duration};

use serde_json::json;
use task_tests::{AuditLog, Kubectl, Operator};
use tokio::time::sleep;

use crate::{V1, patch_status, phase, v1, v1alpha1};

/// How many Tasks there are beside those of special kinds.
const TASKS: u64 = 20;

/// Longer than the longest time after which a Task that has not failed is looked at again, 60 s.
const REST: u64 = 95;

/// How long nothing must happen for all to have come to rest: longer than a rollout that goes on is silent.
const QUIET: Duration = Duration::from_secs(12);

fn number(variable: &str, default: u64) -> u64 {
    env::var(variable).map_or(default, |text| text.parse().unwrap())
}

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
    let more = number("TASKS_AT_REST", TASKS);
    let more = (0..more).map(|index| v1(&format!("t{index}"), json!({"env": {"A": "1"}})));
    let tasks: Vec<_> = tasks.into_iter().chain(more).collect();
    kubectl
        .ok_with(&["create", "-f", "-"], &tasks.join("\n"))
        .await;
    let status = json!({"status": {"operation": {"phase": "Ready", "key": "k"}}});
    patch_status(kubectl, V1, &status.to_string()).await;
    kubectl.ok(&["label", "task", "waits", "waits=yes"]).await;
    let all = [
        "--for=condition=Ready",
        "--selector=!waits",
        "task",
        "--timeout=10m",
    ];
    kubectl.ok(&[&["wait"], &all[..]].concat()).await;
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
    sleep(Duration::from_secs(number("SECONDS_AT_REST", REST))).await;
    assert_eq!(requests()[before.len()..], []);
}
