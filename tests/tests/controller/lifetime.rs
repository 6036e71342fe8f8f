//! The finalizer, and what is told of the beginning and the end of a Task.

use serde_json::{Value, json};

use crate::{V1, create, kubectl, succeeded, task, uid, world};

const OURS: &str = "task.example.io/finalizer";
const THEIRS: &str = "example.com/theirs";

#[tokio::test]
async fn a_task_bears_the_finalizer_and_goes_with_its_children() {
    let kubectl = kubectl("goes").await;
    create(kubectl, &task("web", json!({}))).await;
    let task = kubectl.until(V1, "web", succeeded).await;
    assert_eq!(task["metadata"]["finalizers"], json!([OURS]));
    let uid = uid(&task);
    kubectl
        .until_events(uid, &["FinalizerAdded", "ReconcileSucceeded"])
        .await;
    kubectl.ok(&["delete", "task", "web"]).await;
    for (resource, name) in [
        ("deployment", "web"),
        ("service", "web"),
        ("configmap", "web-config"),
    ] {
        kubectl.until(resource, name, Value::is_null).await;
    }
    kubectl
        .until_events(uid, &["FinalizerAdded", "ReconcileSucceeded", "Deleted"])
        .await;
}

#[tokio::test]
async fn the_finalizers_of_others_are_kept_and_the_task_says_that_it_is_being_deleted() {
    let kubectl = kubectl("kept").await;
    let mut web = task("web", json!({}));
    web["metadata"]["finalizers"] = json!([THEIRS]);
    create(kubectl, &web).await;
    let task = kubectl.until(V1, "web", succeeded).await;
    assert_eq!(task["metadata"]["finalizers"], json!([THEIRS, OURS]));
    kubectl.ok(&["delete", "task", "web", "--wait=false"]).await;
    kubectl
        .until(V1, "web", |task| {
            task["metadata"]["finalizers"] == json!([THEIRS])
                && task["status"]["conditions"][0]["reason"] == "Deleting"
        })
        .await;
    let patch = r#"{"metadata": {"finalizers": null}}"#;
    kubectl
        .ok(&["patch", V1, "web", "--type=merge", "--patch", patch])
        .await;
    kubectl.until(V1, "web", Value::is_null).await;
}

#[tokio::test]
async fn a_finalizer_that_somebody_took_off_is_put_on_again() {
    let kubectl = kubectl("taken-off").await;
    create(kubectl, &task("web", json!({}))).await;
    kubectl.until(V1, "web", succeeded).await;
    let patch = r#"{"metadata": {"finalizers": null}}"#;
    kubectl
        .ok(&["patch", V1, "web", "--type=merge", "--patch", patch])
        .await;
    kubectl
        .until(V1, "web", |task| {
            task["metadata"]["finalizers"] == json!([OURS])
        })
        .await;
}

#[tokio::test]
async fn a_task_created_again_is_not_confused_with_the_one_before() {
    let kubectl = kubectl("again").await;
    let mut last = String::new();
    for round in 0..5 {
        // At first while the one before is not finished with, then after it.
        if round > 2 {
            kubectl.until(V1, "web", succeeded).await;
        }
        let spec = json!({"env": {"ROUND": round.to_string()}});
        if round > 0 {
            kubectl.ok(&["delete", "task", "web"]).await;
        }
        create(kubectl, &task("web", spec)).await;
        let task = kubectl.get(V1, "web").await;
        assert_ne!(uid(&task), last);
        last = uid(&task).to_owned();
    }
    let task = kubectl.until(V1, "web", succeeded).await;
    assert_eq!(uid(&task), last);
    for (resource, name) in [
        ("deployment", "web"),
        ("service", "web"),
        ("configmap", "web-config"),
    ] {
        let child = kubectl.get(resource, name).await;
        assert_eq!(child["metadata"]["ownerReferences"][0]["uid"], last);
    }
    kubectl
        .until_events(&last, &["FinalizerAdded", "ReconcileSucceeded"])
        .await;
}

#[tokio::test]
async fn a_namespace_goes_with_its_tasks_and_their_children() {
    let kubectl = kubectl("goes-whole").await;
    let names = ["one", "two", "three"];
    for name in names {
        create(kubectl, &task(name, json!({}))).await;
    }
    for name in names {
        kubectl.until(V1, name, succeeded).await;
    }
    kubectl
        .ok(&["delete", "namespace", "goes-whole", "--timeout=90s"])
        .await;
    // What is taken away may be missed, and asked for in vain, before its Task is told to go.
    let requests = world().await.log.of_controller().unwrap();
    let of_it = requests
        .iter()
        .filter(|request| request.namespace == "goes-whole");
    let count = of_it.count();
    assert!(count <= names.len() * 25, "{count}");
    let numbers = world().await.operator.metrics().await.unwrap();
    assert!(!numbers.contains("goes-whole"), "{numbers}");
}
