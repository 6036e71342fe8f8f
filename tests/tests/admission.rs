//! The admission webhooks as a person meets them, on a real API server.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use serde_json::{Value, json};
use task_tests::{Kubectl, Operator};
use tokio::sync::OnceCell;

const V1: &str = "tasks.v1.task.example.io";
const V1ALPHA1: &str = "tasks.v1alpha1.task.example.io";

/// The namespace of the Tasks that are older than the webhooks.
const OLD: &str = "before-the-webhooks";

static OPERATOR: OnceCell<Operator> = OnceCell::const_new();

/// One operator for all tests of this file, with Tasks that are older than its webhooks and would be refused by them.
async fn operator() -> &'static Operator {
    OPERATOR.get_or_init(start).await
}

async fn start() -> Operator {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("admission");
    let operator = Operator::start(&folder).await.unwrap();
    operator.remove_admission().await.unwrap();
    let kubectl = Kubectl::in_namespace(&operator, OLD).await;
    for name in ["repaired", "deleted"] {
        kubectl
            .ok_with(&["create", "-f", "-"], &v1(name, large()))
            .await;
    }
    for name in ["crowded", "crowded-and-deleted"] {
        kubectl
            .ok_with(&["create", "-f", "-"], &crowded(name))
            .await;
    }

    operator.install_admission().await.unwrap();
    operator
}

fn task(version: &str, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("task.example.io/{version}"), "kind": "Task", "metadata": {"name": name}, "spec": spec})
}

fn v1(name: &str, spec: Value) -> String {
    task("v1", name, spec).to_string()
}

fn v1alpha1(name: &str, spec: Value) -> String {
    task("v1alpha1", name, spec).to_string()
}

/// A spec that the schema admits and the webhook does not.
fn large() -> Value {
    json!({"image": "a:1", "operation": {"provider": "p", "parameters": {"a": "x".repeat(64 * 1024)}}})
}

/// The same.
fn deep() -> Value {
    let value = (0..64).fold(json!("end"), |inner, _| json!([inner]));
    json!({"image": "a:1", "operation": {"provider": "p", "parameters": {"deep": value}}})
}

/// A Task whose annotations leave no room for what v1alpha1 cannot show of it.
fn crowded(name: &str) -> String {
    let operation = json!({"provider": "p", "completion": "Callback", "timeout": "1.5s"});
    let mut task = task("v1", name, json!({"image": "a:1", "operation": operation}));
    task["metadata"]["annotations"] = json!({"a": "x".repeat(262_144 - 60)});
    task.to_string()
}

#[tokio::test]
async fn defaults_of_v1_are_filled_in_for_a_client_of_v1alpha1() {
    let kubectl = Kubectl::in_namespace(operator().await, "defaults").await;
    let create = ["create", "--dry-run=server", "--output=json", "-f", "-"];
    let stored = kubectl
        .ok_with(
            &create,
            &v1alpha1(
                "web",
                json!({"replicas": 0, "image": "a:1", "provider": "p"}),
            ),
        )
        .await;
    let stored: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!(stored["spec"]["timeoutSeconds"], 3600);
    assert_eq!(stored["spec"]["replicas"], 0);
    assert_eq!(
        kubectl.get(V1, "web").await,
        Value::Null,
        "a dry run stores nothing"
    );
}

/// Both ways in which kubectl applies a file.
const APPLY: [&[&str]; 2] = [
    &["apply", "-f", "-"],
    &["apply", "--server-side", "-f", "-"],
];

#[tokio::test]
async fn an_operation_is_removed_by_applying_a_file_without_it() {
    let kubectl = Kubectl::in_namespace(operator().await, "removed").await;
    let lives = [
        &[json!({"provider": "p"}), json!({})][..],
        &[
            json!({"provider": "p", "timeoutSeconds": 90}),
            json!({"provider": "p"}),
            json!({}),
        ],
        &[
            json!({"provider": "p", "parameters": {"size": "10"}}),
            json!({}),
        ],
        &[
            json!({"provider": "p", "parameters": {"a": "1"}, "timeoutSeconds": 90}),
            json!({"replicas": 2}),
        ],
    ];
    for (at, apply) in APPLY.into_iter().enumerate() {
        for (life, files) in lives.into_iter().enumerate() {
            let name = format!("task-{at}-{life}");
            for spec in files {
                kubectl.ok_with(apply, &v1alpha1(&name, spec.clone())).await;
            }
            let spec = kubectl.get(V1, &name).await["spec"].take();
            assert_eq!(spec.get("operation"), None, "{apply:?} {files:?}: {spec}");
        }
        let name = format!("task-{at}-v1");
        for spec in [json!({"operation": {"provider": "p"}}), json!({})] {
            kubectl.ok_with(apply, &v1(&name, spec)).await;
        }
        let spec = kubectl.get(V1, &name).await["spec"].take();
        assert_eq!(spec.get("operation"), None, "{apply:?} at v1: {spec}");
    }
}

#[tokio::test]
async fn what_was_set_of_an_operation_at_v1_goes_with_it() {
    let kubectl = Kubectl::in_namespace(operator().await, "gone").await;
    let edit = r#"{"spec":{"operation":{"completion":"Callback","timeout":"1.5s","parameters":{"size":10}}}}"#;
    for (at, apply) in APPLY.into_iter().enumerate() {
        let name = format!("task-{at}");
        kubectl
            .ok_with(apply, &v1alpha1(&name, json!({"provider": "p"})))
            .await;
        kubectl
            .ok(&["patch", V1, &name, "--type=merge", "--patch", edit])
            .await;
        kubectl.ok_with(apply, &v1alpha1(&name, json!({}))).await;
        let task = kubectl.get(V1, &name).await;
        assert_eq!(task["spec"].get("operation"), None, "{apply:?}: {task}");
    }
}

#[tokio::test]
async fn a_file_that_sets_a_timeout_or_parameters_without_a_provider_is_refused() {
    let kubectl = Kubectl::in_namespace(operator().await, "asked-for").await;
    for (at, apply) in APPLY.into_iter().enumerate() {
        for (case, (field, value)) in [
            ("timeoutSeconds", json!(90)),
            ("parameters", json!({"a": "1"})),
        ]
        .into_iter()
        .enumerate()
        {
            let name = format!("task-{at}-{case}");
            let whole = v1alpha1(&name, json!({"provider": "p", field: value}));
            kubectl.ok_with(apply, &whole).await;
            let rest = v1alpha1(&name, json!({field: value}));
            let outcome = kubectl.run_with(apply, &rest).await;
            let expected = format!("{field} without provider: set provider, or remove {field}");
            assert!(
                !outcome.success && outcome.stderr.contains(&expected),
                "{apply:?}: {}",
                outcome.stderr
            );
        }
    }
}

#[tokio::test]
async fn what_no_schema_can_see_is_refused() {
    let kubectl = Kubectl::in_namespace(operator().await, "unseen").await;
    for (manifest, expected) in [
        (
            v1("large", large()),
            "spec.operation.parameters: Too long: may not be more than 65536 bytes as JSON",
        ),
        (
            v1("deep", deep()),
            "spec.operation.parameters: Invalid value: may not nest more than 64 levels deep",
        ),
        (
            crowded("crowded"),
            "metadata.annotations: Too long: may not be more than 262144 bytes together with what v1alpha1 cannot show",
        ),
    ] {
        let outcome = kubectl.run_with(&["create", "-f", "-"], &manifest).await;
        assert!(
            !outcome.success && outcome.stderr.contains(expected),
            "{}",
            outcome.stderr
        );
    }
}

#[tokio::test]
async fn what_is_rarely_meant_is_warned_of_at_both_versions() {
    let kubectl = Kubectl::in_namespace(operator().await, "warnings").await;
    for manifest in [
        v1("a", json!({"image": "a"})),
        v1alpha1("b", json!({"image": "a:latest"})),
    ] {
        let outcome = kubectl.run_with(&["create", "-f", "-"], &manifest).await;
        assert!(
            outcome.success && outcome.stderr.contains("Warning: spec.image: "),
            "{}",
            outcome.stderr
        );
    }
}

#[tokio::test]
async fn a_replace_with_an_old_file_names_what_it_resets() {
    let kubectl = Kubectl::in_namespace(operator().await, "reset").await;
    let operation = json!({"provider": "p", "completion": "Callback", "timeout": "1.5s"});
    kubectl
        .ok_with(
            &["create", "-f", "-"],
            &v1("web", json!({"image": "a:1", "operation": operation})),
        )
        .await;
    let file = v1alpha1(
        "web",
        json!({"image": "a:1", "provider": "p", "timeoutSeconds": 2}),
    );
    let outcome = kubectl.run_with(&["replace", "-f", "-"], &file).await;
    let expected = "Warning: this write at v1alpha1 resets what only v1 can show: spec.operation.timeout, spec.operation.completion";
    assert!(
        outcome.success && outcome.stderr.contains(expected),
        "{}",
        outcome.stderr
    );
    assert_eq!(
        kubectl.get(V1, "web").await["spec"]["operation"]["completion"],
        "Poll"
    );
}

#[tokio::test]
async fn a_deletion_while_the_operation_runs_is_warned_of() {
    let kubectl = Kubectl::in_namespace(operator().await, "running").await;
    kubectl
        .ok_with(
            &["create", "-f", "-"],
            &v1(
                "op",
                json!({"image": "a:1", "operation": {"provider": "p"}}),
            ),
        )
        .await;
    let patch = r#"{"status":{"operation":{"phase":"Creating","key":"k"}}}"#;
    kubectl
        .ok(&[
            "patch",
            V1,
            "op",
            "--subresource=status",
            "--type=merge",
            "--patch",
            patch,
        ])
        .await;
    let change = r#"{"spec":{"operation":{"provider":"q"}}}"#;
    let outcome = kubectl
        .run(&["patch", V1, "op", "--type=merge", "--patch", change])
        .await;
    assert!(
        outcome.success
            && outcome
                .stderr
                .contains("Warning: spec.operation: changed while"),
        "{}",
        outcome.stderr
    );
    let outcome = kubectl.run(&["delete", V1, "op", "--wait=false"]).await;
    assert!(
        outcome.success
            && outcome
                .stderr
                .contains("Warning: deleted while its operation is running"),
        "{}",
        outcome.stderr
    );
}

#[tokio::test]
async fn a_task_that_is_older_than_a_rule_can_be_changed_repaired_and_deleted() {
    let kubectl = Kubectl::in_namespace(operator().await, OLD).await;
    for resource in [V1, V1ALPHA1] {
        kubectl
            .ok(&[
                "label",
                "--overwrite",
                resource,
                "repaired",
                &format!("by={}", resource.len()),
            ])
            .await;
        kubectl
            .ok(&["scale", resource, "repaired", "--replicas=0"])
            .await;
    }
    let worse = json!({"spec": {"operation": {"parameters": {"b": "more"}}}}).to_string();
    let outcome = kubectl
        .run(&["patch", V1, "repaired", "--type=merge", "--patch", &worse])
        .await;
    assert!(
        !outcome.success
            && outcome
                .stderr
                .contains("spec.operation.parameters: Too long"),
        "{}",
        outcome.stderr
    );
    let better = json!({"spec": {"operation": {"parameters": {"a": "less"}}}}).to_string();
    kubectl
        .ok(&["patch", V1, "repaired", "--type=merge", "--patch", &better])
        .await;
    kubectl
        .ok(&["delete", V1, "deleted", "--timeout=60s"])
        .await;
}

#[tokio::test]
async fn no_write_at_v1alpha1_loses_what_it_has_no_room_to_show_but_a_deletion_goes_through() {
    let kubectl = Kubectl::in_namespace(operator().await, OLD).await;
    let status = r#"{"status":{"taskResult":"r"}}"#;
    for write in [
        &["label", V1ALPHA1, "crowded", "a=b"][..],
        &[
            "patch",
            V1ALPHA1,
            "crowded",
            "--subresource=status",
            "--type=merge",
            "--patch",
            status,
        ],
    ] {
        let outcome = kubectl.run(write).await;
        assert!(
            !outcome.success
                && outcome
                    .stderr
                    .contains("a write at v1alpha1 would lose what was too large to show there"),
            "{write:?}: {}",
            outcome.stderr
        );
    }
    kubectl.ok(&["label", V1, "crowded", "a=b"]).await;
    assert_eq!(
        kubectl.get(V1, "crowded").await["spec"]["operation"]["timeout"],
        "1.5s"
    );
    kubectl
        .ok(&["delete", V1ALPHA1, "crowded-and-deleted", "--timeout=60s"])
        .await;
}
