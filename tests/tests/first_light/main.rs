//! What a person sees of a Task, at either version, with the operator running.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod anew;
mod at_rest;
mod drift;
mod undecodable;
mod undone;

use std::path::Path;

use serde_json::{Value, json};
use task_tests::{Kubectl, Operator};
use tokio::sync::OnceCell;

const V1: &str = "tasks.v1.task.example.io";
const V1ALPHA1: &str = "tasks.v1alpha1.task.example.io";

static OPERATOR: OnceCell<Operator> = OnceCell::const_new();

/// One operator for all tests of this file; each works in a namespace of its own.
async fn operator() -> &'static Operator {
    let start = || async {
        Operator::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("first-light"))
            .await
            .unwrap()
    };
    OPERATOR.get_or_init(start).await
}

fn v1(name: &str, spec: Value) -> String {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": name}, "spec": spec}).to_string()
}

fn v1alpha1(name: &str, spec: Value) -> String {
    json!({"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "metadata": {"name": name}, "spec": spec}).to_string()
}

fn phase(task: &Value) -> &str {
    task["status"]["phase"].as_str().unwrap_or_default()
}

/// Changes the status of the Task `op`, at the version that `resource` names.
async fn patch_status(kubectl: Kubectl<'_>, resource: &str, patch: &str) {
    let kind = ["--subresource=status", "--type=merge", "--patch", patch];
    kubectl
        .ok(&[&["patch", resource, "op"], &kind[..]].concat())
        .await;
}

/// `kubectl get -o json` without what the API server changes by itself.
fn essence(task: &Value) -> (Value, Value) {
    (task["metadata"]["generation"].clone(), task["spec"].clone())
}

#[tokio::test]
async fn a_v1_task_becomes_a_deployment_a_service_and_a_config_map() {
    let kubectl = Kubectl::in_namespace(operator().await, "children").await;
    let spec = json!({"replicas": 3, "image": "nginx:alpine", "port": 80, "env": {"ENV": "prod"}});
    kubectl
        .ok_with(&["apply", "-f", "-"], &v1("web", spec))
        .await;
    kubectl
        .ok(&["wait", "--for=condition=Ready", "task/web", "--timeout=90s"])
        .await;

    let task = kubectl.get(V1, "web").await;
    assert_eq!(
        (phase(&task), &task["status"]["availableReplicas"]),
        ("Succeeded", &json!(3))
    );
    assert_eq!(
        kubectl.get("deployment", "web").await["status"]["readyReplicas"],
        3
    );
    assert_eq!(
        kubectl.get("service", "web").await["spec"]["ports"][0]["port"],
        80
    );
    let config = kubectl.get("configmap", "web-config").await["data"]["app.conf"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        config.contains("port: 80") && config.contains("ENV: prod"),
        "{config}"
    );
    let owner = &kubectl.get("configmap", "web-config").await["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["controller"], &owner["uid"]),
        (&json!(true), &task["metadata"]["uid"])
    );

    let old = kubectl.get(V1ALPHA1, "web").await;
    assert_eq!(
        old["spec"]["env"],
        json!([{"name": "ENV", "value": "prod"}])
    );
    let warning = kubectl.run(&["get", V1ALPHA1]).await.stderr;
    assert!(
        warning.contains("deprecated; use task.example.io/v1"),
        "{warning}"
    );
}

#[tokio::test]
async fn a_v1alpha1_manifest_is_edited_at_v1_and_applied_again() {
    let kubectl = Kubectl::in_namespace(operator().await, "edits").await;
    let spec = json!({"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}], "provider": "p", "timeoutSeconds": 90});
    let manifest = v1alpha1("old", spec);
    kubectl.ok_with(&["apply", "-f", "-"], &manifest).await;
    let task = kubectl.get(V1, "old").await;
    assert_eq!(task["spec"]["env"], json!({"A": "1", "B": "2"}));
    assert_eq!(task["spec"]["operation"]["timeout"], "1m30s");

    let patch =
        json!({"spec": {"operation": {"completion": "Callback", "parameters": {"size": 10}}}})
            .to_string();
    kubectl
        .ok(&["patch", V1, "old", "--type=merge", "--patch", &patch])
        .await;
    let edited = kubectl.get(V1, "old").await;
    for apply in [
        &["apply", "-f", "-"][..],
        &["apply", "--server-side", "--force-conflicts", "-f", "-"][..],
    ] {
        kubectl.ok_with(apply, &manifest).await;
        assert_eq!(
            essence(&kubectl.get(V1, "old").await),
            essence(&edited),
            "after {apply:?}"
        );
    }
    let again = kubectl.get(V1ALPHA1, "old").await;
    assert_eq!(
        again["spec"]["env"][0]["name"], "B",
        "the order of the manifest"
    );
    assert_eq!(again["spec"]["parameters"], json!({"size": "10"}));
}

#[tokio::test]
async fn an_applied_file_shows_no_difference_at_either_version() {
    let kubectl = Kubectl::in_namespace(operator().await, "differences").await;
    let operation =
        json!({"provider": "p", "completion": "Queue", "timeout": "90s", "parameters": {"n": 1}});
    for manifest in [
        v1(
            "new",
            json!({"env": {"B": "2", "A": "1"}, "operation": operation}),
        ),
        v1alpha1(
            "old",
            json!({"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}], "provider": "p", "parameters": {"n": "1"}}),
        ),
    ] {
        kubectl.ok_with(&["apply", "-f", "-"], &manifest).await;
        let difference = kubectl.ok_with(&["diff", "-f", "-"], &manifest).await;
        assert_eq!(difference, "");
        let before = kubectl
            .ok_with(
                &["get", "--output=jsonpath={.metadata.generation}", "-f", "-"],
                &manifest,
            )
            .await;
        kubectl
            .ok_with(
                &["apply", "--server-side", "--force-conflicts", "-f", "-"],
                &manifest,
            )
            .await;
        let after = kubectl
            .ok_with(
                &["get", "--output=jsonpath={.metadata.generation}", "-f", "-"],
                &manifest,
            )
            .await;
        assert_eq!(
            after, before,
            "a server-side apply of the same file is no change"
        );
    }
}

#[tokio::test]
async fn a_task_is_scaled_and_its_children_go_with_it() {
    let kubectl = Kubectl::in_namespace(operator().await, "scale").await;
    kubectl
        .ok_with(
            &["apply", "-f", "-"],
            &v1alpha1("web", json!({"replicas": 1})),
        )
        .await;
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    kubectl
        .ok(&["scale", V1ALPHA1, "web", "--replicas=2"])
        .await;
    kubectl
        .until(V1, "web", |task| {
            task["status"]["availableReplicas"] == 2 && phase(task) == "Succeeded"
        })
        .await;
    kubectl.ok(&["delete", "task", "web"]).await;
    for (resource, name) in [
        ("deployment", "web"),
        ("service", "web"),
        ("configmap", "web-config"),
    ] {
        kubectl.until(resource, name, Value::is_null).await;
    }
}

#[tokio::test]
async fn writes_by_old_clients_keep_the_whole_status() {
    let kubectl = Kubectl::in_namespace(operator().await, "status").await;
    let manifest = v1alpha1("op", json!({"provider": "p"}));
    kubectl.ok_with(&["create", "-f", "-"], &manifest).await;
    kubectl
        .until(V1, "op", |task| task["status"]["observedGeneration"] == 1)
        .await;
    let status = json!({"status": {
        "lastAsyncOperationID": "id-7", "externalSystemURL": "https://example.com/7",
        "failureDetails": [{"code": "Slow", "message": "m", "timestamp": "2026-01-02T03:04:05Z"}],
        "operation": {"phase": "Creating", "key": "key-7", "requestHash": "h", "attempts": 2, "startedAt": "2026-01-02T03:04:05Z"}}});
    patch_status(kubectl, V1, &status.to_string()).await;
    let kept = |task: &Value| {
        let status = &task["status"];
        json!([
            status["operation"],
            status["lastAsyncOperationID"],
            status["externalSystemURL"],
            status["failureDetails"]
        ])
    };
    let before = kept(&kubectl.get(V1, "op").await);
    assert_eq!(before[0]["key"], "key-7");

    kubectl.ok_with(&["replace", "-f", "-"], &manifest).await;
    assert_eq!(kept(&kubectl.get(V1, "op").await), before, "after replace");
    let patch = json!({"status": {"selector": "a=b"}}).to_string();
    patch_status(kubectl, V1ALPHA1, &patch).await;
    assert_eq!(
        kept(&kubectl.get(V1, "op").await),
        before,
        "after a patch of the status"
    );

    let patch = json!({"status": {"taskStatus": "Completed"}}).to_string();
    patch_status(kubectl, V1ALPHA1, &patch).await;
    let after = kubectl.get(V1, "op").await;
    assert_eq!(
        (
            &after["status"]["operation"]["phase"],
            &after["status"]["operation"]["key"]
        ),
        (&json!("Ready"), &json!("key-7"))
    );
}

#[tokio::test]
async fn bad_objects_are_refused_and_not_stored() {
    let kubectl = Kubectl::in_namespace(operator().await, "refused").await;
    let long = "A".repeat(65);
    let operation = |timeout: &str| json!({"operation": {"provider": "p", "timeout": timeout}});
    let cases = [
        (v1("x", json!({"replicas": 101})), "spec.replicas"),
        (v1("x", json!({"replicas": -1})), "spec.replicas"),
        (v1("x", json!({"port": 0})), "spec.port"),
        (v1("x", json!({"port": 65536})), "spec.port"),
        (v1("x", json!({"image": "::"})), "spec.image"),
        (v1("x", json!({"env": {"a=b": "1"}})), "spec.env"),
        (v1("x", json!({"env": {&long: "1"}})), "spec.env"),
        (v1("x", operation("0s")), "spec.operation.timeout"),
        (v1("x", operation("-1s")), "spec.operation.timeout"),
        (v1("x", operation("721h")), "spec.operation.timeout"),
        (v1("a.b", json!({})), "name"),
        (v1(&"a".repeat(64), json!({})), "name"),
        (v1alpha1("x", json!({"replicas": 101})), "spec.replicas"),
        (v1alpha1("x", json!({"replicas": -1})), "spec.replicas"),
        (v1alpha1("x", json!({"port": 0})), "spec.port"),
        (v1alpha1("x", json!({"port": 65536})), "spec.port"),
        (v1alpha1("x", json!({"image": "::"})), "spec.image"),
        (
            v1alpha1("x", json!({"env": [{"name": "a=b", "value": "1"}]})),
            "spec.env[0].name",
        ),
        (
            v1alpha1("x", json!({"env": [{"name": long, "value": "1"}]})),
            "spec.env[0].name",
        ),
        (v1alpha1("x", json!({"timeoutSeconds": 5})), "provider"),
        (v1alpha1("a.b", json!({})), "name"),
        (v1alpha1(&"a".repeat(64), json!({})), "name"),
    ];
    for (manifest, place) in cases {
        let outcome = kubectl.run_with(&["create", "-f", "-"], &manifest).await;
        assert!(
            !outcome.success && outcome.stderr.contains(place),
            "{manifest}: {}",
            outcome.stderr
        );
    }
    assert_eq!(kubectl.ok(&["get", V1, "--output=name"]).await, "");
}

#[tokio::test]
async fn a_controller_killed_while_it_creates_leaves_one_of_each_child() {
    const TASKS: usize = 30;
    let operator = operator().await;
    let kubectl = Kubectl::in_namespace(operator, "killed").await;
    let manifests: Vec<_> = (0..TASKS)
        .map(|index| v1(&format!("t{index}"), json!({"replicas": 1})))
        .collect();
    let manifests = manifests.join("\n");
    let create = kubectl.ok_with(&["create", "-f", "-"], &manifests);
    let kill = async {
        for begun in ["t0-config", "t10-config", "t20-config"] {
            kubectl
                .until("configmap", begun, |config| !config.is_null())
                .await;
            operator.kill_and_restart_controller().unwrap();
        }
    };
    tokio::join!(create, kill);
    kubectl
        .ok(&[
            "wait",
            "--for=condition=Ready",
            "task",
            "--all",
            "--timeout=120s",
        ])
        .await;
    for (resource, others) in [
        ("deployments", 0),
        ("services", 0),
        ("replicasets", 0),
        ("configmaps", 1),
    ] {
        let names = kubectl.ok(&["get", resource, "--output=name"]).await;
        assert_eq!(names.lines().count(), TASKS + others, "{names}");
    }
}
