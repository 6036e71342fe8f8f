//! A controller at rest asks the API server for nothing.

use std::{fs, io, path::Path, time::Duration};

use serde_json::{Value, json};
use task_tests::{Kubectl, Operator};
use tokio::time::sleep;

use crate::{V1, patch_status, phase, v1, v1alpha1};

/// Longer than the longest time after which a Task is looked at again, 60 s.
const REST: Duration = Duration::from_secs(95);

/// How long nothing must happen for all to have come to rest.
const QUIET: Duration = Duration::from_secs(5);

/// Every request, when it has been answered; of a watch also when it begins to be.
const AUDIT_POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata"}]}"#;

/// The audit log of an API server.
struct AuditLog<'p>(&'p Path);

impl AuditLog<'_> {
    /// The requests of the controller so far but for its watches, each in a line.
    fn requests(&self) -> Vec<String> {
        let is_ours = |event: &Value| {
            let agent = event["userAgent"].as_str().unwrap_or_default();
            agent.starts_with("task-controller/") && event["verb"] != "watch"
        };
        fs::read_to_string(self.0)
            .unwrap()
            .lines()
            // The last one may be only half written.
            .filter_map(|line| serde_json::from_str(line).ok())
            .filter(is_ours)
            .map(|event| format!("{} {}", event["verb"], event["requestURI"]))
            .collect()
    }
}

// In a control plane of its own: the other tests of this file keep the controller of theirs busy.
#[tokio::test]
async fn at_rest_the_controller_makes_no_request() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [policy, log] = ["audit-policy.json", "audit.log"].map(|name| folder.join(name));
    fs::write(&policy, AUDIT_POLICY).unwrap();
    match fs::remove_file(&log) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => panic!("{error}"),
        _ => {}
    }
    let args = [
        format!("--audit-policy-file={}", policy.display()),
        format!("--audit-log-path={}", log.display()),
    ];
    let log = AuditLog(&log);
    let operator = Operator::start_with(&folder.join("at-rest"), args.to_vec())
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

    let mut before = Vec::new();
    while before != log.requests() {
        before = log.requests();
        sleep(QUIET).await;
    }
    assert!(!before.is_empty(), "the log is not that of this controller");
    sleep(REST).await;
    assert_eq!(log.requests()[before.len()..], [""; 0]);
}
