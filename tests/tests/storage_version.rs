//! A cluster that stored Tasks at v1alpha1 before it stores them at v1.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::path::Path;

use control_plane::crd;
use serde_json::json;
use task_tests::{Kubectl, Operator};

#[tokio::test]
async fn objects_stored_at_v1alpha1_are_read_at_v1_after_the_definition_has_changed() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("storage-version");
    let operator = Operator::start(&folder).await.unwrap();
    let install = async |storage: &str| {
        let mut definition = operator.webhook().definition();
        for version in &mut definition.spec.versions {
            version.storage = version.name == storage;
        }
        crd::install(operator.control_plane().client().unwrap(), &definition)
            .await
            .unwrap();
    };
    install("v1alpha1").await;
    let kubectl = Kubectl::in_namespace(&operator, "stored").await;
    let task = json!({"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "metadata": {"name": "old"},
        "spec": {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}], "provider": "p", "timeoutSeconds": 61}});
    // The API server takes a moment to store at the new version, so the test looks at what etcd then holds.
    kubectl
        .ok_with(&["create", "-f", "-"], &task.to_string())
        .await;
    let definition = kubectl
        .get("customresourcedefinition", "tasks.task.example.io")
        .await;
    assert!(
        definition["status"]["storedVersions"]
            .as_array()
            .unwrap()
            .contains(&json!("v1alpha1"))
    );
    let before = kubectl.get("tasks.v1alpha1.task.example.io", "old").await;

    install("v1").await;
    let after = kubectl.get("tasks.v1.task.example.io", "old").await;
    assert_eq!(after["spec"]["env"], json!({"A": "1", "B": "2"}));
    assert_eq!(after["spec"]["operation"]["timeout"], "1m1s");
    assert_eq!(
        after["metadata"]["generation"],
        before["metadata"]["generation"]
    );
    assert_eq!(
        kubectl.get("tasks.v1alpha1.task.example.io", "old").await["spec"],
        before["spec"]
    );
}
