//! A mutating webhook that undoes what the controller does.

use std::time::Duration;

use serde_json::{Value, json};
use task_tests::Kubectl;
use tokio::time::sleep;

use crate::{V1, operator, v1};

/// Changes the image of each Deployment and, so that each write is a change, an annotation, in the namespace `undone`.
const POLICY: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: undone}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: undone}}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >-
        [JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image", value: "mirror.example/image"},
        JSONPatch{op: "add", path: "/metadata/annotations/before", value: oldObject == null ? "" : oldObject.metadata.resourceVersion}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: undone}
spec: {policyName: undone}
"#;

#[tokio::test]
async fn what_a_webhook_changes_each_time_is_told_and_not_put_right_at_once() {
    let kubectl = Kubectl::in_namespace(operator().await, "undone").await;
    kubectl.ok_with(&["create", "-f", "-"], POLICY).await;
    // The API server takes a policy up after a while, of which it does not tell.
    let probe = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "probe", "annotations": {"x": "y"}},
        "spec": {"selector": {"matchLabels": {"x": "y"}}, "template": {
            "metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "x", "image": "image"}]}}},
    });
    let ask = ["create", "--dry-run=server", "--output=json", "-f", "-"];
    while !kubectl
        .ok_with(&ask, &probe.to_string())
        .await
        .contains("mirror.example/image")
    {
        sleep(Duration::from_millis(200)).await;
    }

    kubectl
        .ok_with(&["create", "-f", "-"], &v1("web", json!({})))
        .await;
    kubectl
        .until(V1, "web", |task| {
            let ready = &task["status"]["conditions"][0]["message"];
            ready.as_str().is_some_and(|message| {
                message.ends_with("others keep changing .spec.template.spec.containers[0].image of Deployment web")
            })
        })
        .await;
    let before = generation(&kubectl.get("deployment", "web").await);
    sleep(Duration::from_secs(10)).await;
    let writes = generation(&kubectl.get("deployment", "web").await) - before;
    assert!(writes <= 4, "{writes} in 10 s");
}

fn generation(deployment: &Value) -> i64 {
    deployment["metadata"]["generation"]
        .as_i64()
        .unwrap_or_default()
}
