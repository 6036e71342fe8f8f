//! Children that the API server refuses.
//!
//! `TASKS_REFUSED` makes it more Tasks than there is time for in every run of the tests.

use std::{env, time::Duration};

use serde_json::json;
use tokio::time::{Instant, sleep};

use crate::{V1, create, kubectl, phase, standing, succeeded, task, uid, world};

/// How many Tasks are refused, beside one that is not.
const REFUSED: usize = 50;

/// How long it is counted what they ask for.
const WINDOW: Duration = Duration::from_secs(20);

/// How long the one that is not refused may take, which without the others it does in a second or two.
const HEALTHY: Duration = Duration::from_secs(20);

/// Denies each Service of the namespace `denied`.
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: denied}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [services]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: denied}}
  validations: [{expression: "false", message: "no Services here", reason: Forbidden}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: denied}
spec: {policyName: denied, validationActions: [Deny]}
"#;

/// The requests for Deployments of the namespace `refused` so far.
async fn tries() -> usize {
    let requests = world().await.log.of_controller().unwrap();
    requests
        .iter()
        .filter(|request| request.namespace == "refused" && request.resource == "deployments")
        .count()
}

#[tokio::test]
async fn refused_children_are_told_once_and_asked_for_later_each_time() {
    let refused = kubectl("refused").await;
    let healthy = kubectl("beside-refused").await;
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
        "spec": {"hard": {"count/deployments.apps": "0"}}});
    create(refused, &quota).await;
    refused
        .until("resourcequota", "none", |quota| {
            !quota["status"]["hard"].is_null()
        })
        .await;
    let count = env::var("TASKS_REFUSED").map_or(REFUSED, |text| text.parse().unwrap());
    let tasks: Vec<_> = (0..count)
        .map(|index| task(&format!("web{index}"), json!({})).to_string())
        .collect();
    refused
        .ok_with(&["create", "-f", "-"], &tasks.join("\n"))
        .await;
    let last = format!("web{}", count - 1);
    let stalled = refused
        .until(V1, &last, |task| phase(task) == "Failed")
        .await;
    let (type_, reason, message) = standing(&stalled);
    assert_eq!((type_, reason), ("Stalled", "Forbidden"));
    assert!(
        message.starts_with(&format!("cannot apply Deployment {last}:"))
            && message.contains("exceeded quota: none"),
        "{message}"
    );

    let (start, before) = (Instant::now(), tries().await);
    create(healthy, &task("web", json!({}))).await;
    healthy.until(V1, "web", succeeded).await;
    assert!(start.elapsed() < HEALTHY, "{:?}", start.elapsed());
    sleep(WINDOW.saturating_sub(start.elapsed())).await;
    // The waits are 5 s, 10 s and 20 s, and more for those that were refused earlier.
    let tries = tries().await - before;
    assert!(tries > 0 && tries <= 3 * count, "{tries}");
    let told = ["FinalizerAdded", "ReconcileFailed"];
    assert_eq!(refused.events(uid(&stalled)).await, told);

    refused.ok(&["delete", "resourcequota", "none"]).await;
    refused.until(V1, &last, succeeded).await;
    let told = ["FinalizerAdded", "ReconcileFailed", "ReconcileSucceeded"];
    refused.until_events(uid(&stalled), &told).await;
}

#[tokio::test]
async fn a_child_that_a_policy_denies_is_told_with_its_reason() {
    let kubectl = kubectl("denied").await;
    kubectl.ok_with(&["create", "-f", "-"], POLICY).await;
    let probe = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "probe"}, "spec": {"ports": [{"port": 1}]}});
    let ask = ["create", "--dry-run=server", "-f", "-"];
    while kubectl.run_with(&ask, &probe.to_string()).await.success {
        sleep(Duration::from_millis(200)).await;
    }
    create(kubectl, &task("web", json!({}))).await;
    let stalled = kubectl
        .until(V1, "web", |task| phase(task) == "Failed")
        .await;
    let (type_, reason, message) = standing(&stalled);
    assert_eq!((type_, reason), ("Stalled", "Forbidden"));
    assert!(message.contains("no Services here"), "{message}");
    // Nothing that comes after it is there without it.
    let deployment = kubectl.get("deployment", "web").await;
    assert!(deployment.is_null(), "{deployment}");
    kubectl
        .ok(&["delete", "validatingadmissionpolicybinding", "denied"])
        .await;
    kubectl.until(V1, "web", succeeded).await;
}
