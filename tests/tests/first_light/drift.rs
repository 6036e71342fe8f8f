//! Children that somebody edits by hand.

use serde_json::{Value, json};
use task_tests::Kubectl;

use crate::{V1, operator, phase, v1};

/// Edits of what is the Task's alone, by the kind of the child, each of which the API server refuses to see overwritten by an apply.
const EDITS: [(&str, &str); 6] = [
    (
        "service",
        r#"[{"op": "replace", "path": "/spec/ports/0/port", "value": 81}]"#,
    ),
    (
        "service",
        r#"[{"op": "replace", "path": "/spec/ports/0/protocol", "value": "UDP"}]"#,
    ),
    (
        "deployment",
        r#"[{"op": "replace", "path": "/spec/template/spec/containers/0/ports/0/containerPort", "value": 81}]"#,
    ),
    (
        "deployment",
        r#"[{"op": "replace", "path": "/spec/template/spec/containers/0/env/0",
            "value": {"name": "ENV", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}}]"#,
    ),
    (
        "deployment",
        r#"[{"op": "replace", "path": "/spec/template/spec/volumes/0", "value": {"name": "config", "emptyDir": {}}}]"#,
    ),
    (
        "deployment",
        r#"[{"op": "replace", "path": "/spec/template/spec/containers/0/securityContext/seccompProfile",
            "value": {"type": "Localhost", "localhostProfile": "mine.json"}}]"#,
    ),
];

/// What the Task says of a child.
fn ours(kind: &str, child: &Value) -> Value {
    let spec = &child["spec"];
    if kind == "service" {
        return json!([spec["ports"]]);
    }
    let pod = &spec["template"]["spec"];
    let container = &pod["containers"][0];
    json!([
        container["ports"],
        container["env"],
        container["securityContext"],
        pod["volumes"]
    ])
}

#[tokio::test]
async fn what_is_the_tasks_alone_is_put_right_whatever_was_made_of_it() {
    let kubectl = Kubectl::in_namespace(operator().await, "drift").await;
    let spec = json!({"replicas": 1, "port": 80, "env": {"ENV": "prod"}});
    kubectl
        .ok_with(&["apply", "-f", "-"], &v1("web", spec))
        .await;
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    for (kind, edit) in EDITS {
        let before = ours(kind, &kubectl.get(kind, "web").await);
        kubectl
            .ok(&["patch", kind, "web", "--type=json", "--patch", edit])
            .await;
        kubectl
            .until(kind, "web", |child| ours(kind, child) == before)
            .await;
        kubectl
            .until(V1, "web", |task| phase(task) == "Succeeded")
            .await;
    }
}

#[tokio::test]
async fn what_others_added_stays_where_ours_is_put_right() {
    let kubectl = Kubectl::in_namespace(operator().await, "drift-beside").await;
    kubectl
        .ok_with(&["apply", "-f", "-"], &v1("web", json!({"port": 80})))
        .await;
    kubectl
        .until("service", "web", |service| !service.is_null())
        .await;
    let edit = r#"[{"op": "replace", "path": "/spec/ports/0/port", "value": 81},
        {"op": "add", "path": "/spec/ports/-", "value": {"name": "theirs", "port": 9000}}]"#;
    kubectl
        .ok(&["patch", "service", "web", "--type=json", "--patch", edit])
        .await;
    let ports = |service: &Value| {
        let ports = service["spec"]["ports"].as_array().cloned();
        let mut ports: Vec<_> = ports
            .into_iter()
            .flatten()
            .map(|port| port["port"].clone())
            .collect();
        ports.sort_by_key(Value::as_i64);
        ports
    };
    kubectl
        .until("service", "web", |service| ports(service) == [80, 9000])
        .await;
}

#[tokio::test]
async fn a_config_map_that_was_made_immutable_is_replaced_once_its_content_must_change() {
    let kubectl = Kubectl::in_namespace(operator().await, "immutable").await;
    let task = |value: &str| v1("web", json!({"env": {"ENV": value}}));
    kubectl.ok_with(&["apply", "-f", "-"], &task("old")).await;
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    let edit = r#"{"immutable": true}"#;
    kubectl
        .ok(&[
            "patch",
            "configmap",
            "web-config",
            "--type=merge",
            "--patch",
            edit,
        ])
        .await;
    kubectl.ok_with(&["apply", "-f", "-"], &task("new")).await;
    kubectl
        .until("configmap", "web-config", |config| {
            let text = config["data"]["app.conf"].as_str().unwrap_or_default();
            text.contains("ENV: new")
        })
        .await;
    kubectl
        .until(V1, "web", |task| {
            phase(task) == "Succeeded" && task["status"]["observedGeneration"] == 2
        })
        .await;
}
