//! What others own of a child is left to them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use crate::{V1, create, kubectl, succeeded, task, world};

/// Gives each Deployment of the namespace a further container, a volume and an annotation of its pods, as an injector of sidecars does.
const INJECTOR: &str = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: injector}
spec:
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
    namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: injected}}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        Object{
          metadata: Object.metadata{annotations: {"injector.example/injected": "yes"}},
          spec: Object.spec{template: Object.spec.template{
            metadata: Object.spec.template.metadata{annotations: {"injector.example/injected": "yes"}},
            spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "sidecar", image: "sidecar"}]}}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: injector}
spec: {policyName: injector}
"#;

fn names(deployment: &Value) -> Vec<&str> {
    let containers = deployment["spec"]["template"]["spec"]["containers"].as_array();
    containers
        .into_iter()
        .flatten()
        .map(|container| container["name"].as_str().unwrap())
        .collect()
}

/// How many writes of Deployments there were in the namespace.
async fn writes(namespace: &str) -> usize {
    let requests = world().await.log.of_controller().unwrap();
    requests
        .iter()
        .filter(|request| request.namespace == namespace && request.resource == "deployments")
        .count()
}

#[tokio::test]
async fn what_an_injector_adds_stays_and_costs_no_request() {
    let kubectl = kubectl("injected").await;
    kubectl.ok_with(&["create", "-f", "-"], INJECTOR).await;
    let probe = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "probe"},
        "spec": {"selector": {"matchLabels": {"x": "y"}}, "template": {
            "metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "x", "image": "image"}]}}},
    });
    let ask = ["create", "--dry-run=server", "--output=json", "-f", "-"];
    while !kubectl
        .ok_with(&ask, &probe.to_string())
        .await
        .contains("sidecar")
    {
        sleep(Duration::from_millis(200)).await;
    }

    create(kubectl, &task("web", json!({"replicas": 2}))).await;
    kubectl.until(V1, "web", succeeded).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(writes("injected").await, 1);
    let patch = json!({"spec": {"image": "nginx:2"}}).to_string();
    kubectl
        .ok(&["patch", V1, "web", "--type=merge", "--patch", &patch])
        .await;
    kubectl.until(V1, "web", succeeded).await;
    sleep(Duration::from_secs(3)).await;
    assert_eq!(writes("injected").await, 2);
    let deployment = kubectl.get("deployment", "web").await;
    let mut containers = names(&deployment);
    containers.sort_unstable();
    assert_eq!(containers, ["sidecar", "task"]);
    for metadata in [
        &deployment["metadata"],
        &deployment["spec"]["template"]["metadata"],
    ] {
        assert_eq!(metadata["annotations"]["injector.example/injected"], "yes");
    }
}

#[tokio::test]
async fn the_annotations_of_others_stay() {
    let kubectl = kubectl("annotated").await;
    create(kubectl, &task("web", json!({}))).await;
    kubectl.until(V1, "web", succeeded).await;
    for child in ["deployment/web", "service/web", "configmap/web-config"] {
        kubectl.ok(&["annotate", child, "theirs=yes"]).await;
        kubectl.ok(&["label", child, "theirs=yes"]).await;
    }
    let patch = json!({"spec": {"port": 81, "env": {"A": "1"}}}).to_string();
    kubectl
        .ok(&["patch", V1, "web", "--type=merge", "--patch", &patch])
        .await;
    kubectl.until(V1, "web", succeeded).await;
    for (kind, name) in [
        ("deployment", "web"),
        ("service", "web"),
        ("configmap", "web-config"),
    ] {
        let child = kubectl.get(kind, name).await;
        assert_eq!(child["metadata"]["annotations"]["theirs"], "yes");
        assert_eq!(child["metadata"]["labels"]["theirs"], "yes");
    }
}
