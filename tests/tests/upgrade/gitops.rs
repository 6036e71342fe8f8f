//! Manifests of v1alpha1 in Git, over and over applied to a cluster that stores v1.

use serde_json::Value;
use task_tests::Kubectl;

use crate::world::World;

const MANIFEST: &str = "apiVersion: task.example.io/v1alpha1
kind: Task
metadata:
  name: synced
  labels: {team: shop}
spec:
  replicas: 0
  image: nginx:alpine
  provider: volumes
  timeoutSeconds: 90
  parameters: {size: \"10\"}
  env:
  - {name: B, value: two}
  - {name: A, value: $(B)}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn syncs_of_v1alpha1_manifests_show_no_difference_before_and_after_the_migration() {
    let world = World::start("gitops").await;
    world.store_at("v1alpha1").await;
    let ways: [(&str, &[&str]); 2] = [("client-side", &[]), ("server-side", &["--server-side"])];
    for (namespace, way) in ways {
        let kubectl = Kubectl::in_namespace(&world.operator, namespace).await;
        kubectl
            .ok_with(&[&["apply", "-f", "-"], way].concat(), MANIFEST)
            .await;
    }
    world.store_at("v1").await;
    for migrated in [false, true] {
        if migrated {
            let ended = world.plugin(&["migrate", "--yes", "--settle=1s"]).await;
            assert_eq!(ended.code, Some(0), "{ended:?}");
        }
        for (namespace, way) in ways {
            let kubectl = Kubectl::in_namespace(&world.operator, namespace).await;
            let before = kubectl
                .get("tasks.v1alpha1.task.example.io", "synced")
                .await;
            for sync in 1..=3 {
                let context = format!("{namespace}, migrated: {migrated}, sync {sync}");
                let diff = kubectl
                    .run_with(&[&["diff", "-f", "-"], way].concat(), MANIFEST)
                    .await;
                assert!(
                    diff.success && diff.stdout.is_empty(),
                    "{context}: {diff:?}"
                );
                kubectl
                    .ok_with(&[&["apply", "-f", "-"], way].concat(), MANIFEST)
                    .await;
                let after = kubectl
                    .get("tasks.v1alpha1.task.example.io", "synced")
                    .await;
                let part =
                    |task: &Value| (task["metadata"]["generation"].clone(), task["spec"].clone());
                assert_eq!(part(&after), part(&before), "{context}");
            }
        }
    }
}
