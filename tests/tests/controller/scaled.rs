//! Autoscalers: of the Task, and of its Deployment.

use serde_json::{Value, json};

use crate::{V1, create, kubectl, standing, succeeded, task};

/// An autoscaler that has no metrics, and so does nothing but to see to the least number of replicas.
fn autoscaler(of: &Value) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"minReplicas": 3, "maxReplicas": 5, "scaleTargetRef": {
            "apiVersion": of["apiVersion"], "kind": of["kind"], "name": of["metadata"]["name"]}}})
}

fn replicas(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(-1)
}

#[tokio::test]
async fn what_an_autoscaler_of_the_deployment_sets_is_left_alone_until_the_task_asks_for_another() {
    let kubectl = kubectl("autoscaled").await;
    create(kubectl, &task("web", json!({"replicas": 1}))).await;
    kubectl.until(V1, "web", succeeded).await;
    let deployment = kubectl.get("deployment", "web").await;
    create(kubectl, &autoscaler(&deployment)).await;
    kubectl
        .until("deployment", "web", |deployment| replicas(deployment) == 3)
        .await;
    let message = "3 of 3 replicas are available";
    kubectl
        .until(V1, "web", |task| {
            succeeded(task) && standing(task).2 == message
        })
        .await;

    // Whatever else the Task asks for.
    let patch = json!({"spec": {"image": "nginx:2"}}).to_string();
    kubectl
        .ok(&["patch", V1, "web", "--type=merge", "--patch", &patch])
        .await;
    let task = kubectl.until(V1, "web", succeeded).await;
    assert_eq!(standing(&task).2, message);
    let deployment = kubectl.get("deployment", "web").await;
    assert_eq!(replicas(&deployment), 3);

    kubectl.ok(&["delete", "hpa", "web"]).await;
    kubectl.ok(&["scale", V1, "web", "--replicas=2"]).await;
    let task = kubectl.until(V1, "web", succeeded).await;
    assert_eq!(standing(&task).2, "2 of 2 replicas are available");
}

#[tokio::test]
async fn an_autoscaler_of_the_task_scales_its_deployment() {
    let kubectl = kubectl("autoscaled-task").await;
    let web = task("web", json!({"replicas": 1}));
    create(kubectl, &web).await;
    create(kubectl, &autoscaler(&web)).await;
    kubectl.until(V1, "web", |task| replicas(task) == 3).await;
    let task = kubectl.until(V1, "web", succeeded).await;
    assert_eq!(standing(&task).2, "3 of 3 replicas are available");
}

#[tokio::test]
async fn a_deployment_that_somebody_scales_by_hand_is_put_right() {
    let kubectl = kubectl("scaled-by-hand").await;
    create(kubectl, &task("web", json!({"replicas": 1}))).await;
    kubectl.until(V1, "web", succeeded).await;
    kubectl
        .ok(&["scale", "deployment", "web", "--replicas=4"])
        .await;
    kubectl
        .until("deployment", "web", |deployment| {
            replicas(deployment) == 1 && deployment["metadata"]["generation"].as_i64() > Some(2)
        })
        .await;
}
