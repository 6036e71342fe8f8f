//! Objects of the name of a child that are not the Task's.

use serde_json::{Value, json};

use crate::{V1, create, kubectl, standing, succeeded, task, uid};

#[tokio::test]
async fn an_object_of_somebody_else_is_not_touched_and_the_task_recovers_once_it_is_gone() {
    let kubectl = kubectl("foreign").await;
    for (kind, object) in [
        (
            "service",
            json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"}, "spec": {"ports": [{"port": 1}]}}),
        ),
        (
            "configmap",
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web-config"}, "data": {"a": "b"}}),
        ),
        // One that bears the labels by which the controller finds its own.
        (
            "deployment",
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
                "metadata": {"name": "web", "labels": {"app.kubernetes.io/managed-by": "task-controller"}},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"x": "y"}}, "template": {
                    "metadata": {"labels": {"x": "y"}}, "spec": {"containers": [{"name": "x", "image": "image"}]}}}}),
        ),
    ] {
        create(kubectl, &object).await;
        let name = object["metadata"]["name"].as_str().unwrap();
        let before = kubectl.get(kind, name).await;
        create(kubectl, &task("web", json!({}))).await;
        let stalled = kubectl
            .until(V1, "web", |task| standing(task).1 == "ChildConflict")
            .await;
        let (type_, _, message) = standing(&stalled);
        assert_eq!(type_, "Stalled");
        assert!(message.to_lowercase().contains(kind), "{message}");
        let told = ["FinalizerAdded", "ChildConflict"];
        kubectl.until_events(uid(&stalled), &told).await;
        let after = kubectl.get(kind, name).await;
        assert_eq!(after["spec"], before["spec"]);
        assert_eq!(after["data"], before["data"]);
        assert_eq!(uid(&after), uid(&before));

        kubectl.ok(&["delete", kind, name]).await;
        kubectl.until(V1, "web", succeeded).await;
        let told = ["FinalizerAdded", "ChildConflict", "ReconcileSucceeded"];
        kubectl.until_events(uid(&stalled), &told).await;
        kubectl.ok(&["delete", "task", "web"]).await;
        for (kind, name) in [
            ("deployment", "web"),
            ("service", "web"),
            ("configmap", "web-config"),
        ] {
            kubectl.until(kind, name, Value::is_null).await;
        }
    }
}
