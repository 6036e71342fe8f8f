//! A namespace with Tasks in it can be deleted at any time.

use http::Method;
use serde_json::{Value, json};

use crate::world::{JSON, World, manifest, tasks_path};

/// Creates a namespace with Tasks of both versions, deletes it, and waits until it is gone.
pub async fn delete_one(world: &World, name: &str) {
    world.create_namespace(name).await;
    for (version, task) in [("v1", "a"), ("v1alpha1", "b")] {
        let path = tasks_path(version, name, "");
        // Once v1alpha1 is dropped there is v1 only.
        let created = world
            .send(
                Method::POST,
                JSON,
                &path,
                &manifest(version, task, &json!({"replicas": 1})),
            )
            .await;
        let is_dropped = name == "after" && version == "v1alpha1";
        assert!(
            created.is_ok() || is_dropped && is_not_found(&created),
            "{created:?}"
        );
    }
    let path = format!("/api/v1/namespaces/{name}");
    world
        .send(Method::DELETE, JSON, &path, &Value::Null)
        .await
        .unwrap();
    world
        .until("the namespace is gone", async || {
            is_not_found(&world.get(&path).await)
        })
        .await;
}

fn is_not_found(answer: &kube::Result<Value>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 404)
}
