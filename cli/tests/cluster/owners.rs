//! Who has set which field, over a migration.

use http::Method;
use serde_json::{Value, json};

use crate::world::{RUNTIME, World};

fn entries(task: &Value) -> Vec<(String, String, String)> {
    let text = |entry: &Value, name: &str| entry[name].as_str().unwrap_or_default().to_owned();
    let mut entries: Vec<_> = task["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| {
            (
                text(entry, "manager"),
                text(entry, "operation"),
                text(entry, "apiVersion"),
            )
        })
        .collect();
    entries.sort();
    entries
}

#[test]
fn a_manager_that_applied_at_v1alpha1_owns_the_same_fields_at_v1_when_v1alpha1_is_gone() {
    let world = World::take();
    RUNTIME.block_on(async {
        let spec = json!({
            "image": "a:1", "provider": "p", "timeoutSeconds": 90, "parameters": {"size": "1", "zone": "a"},
            "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
        });
        world.apply("v1alpha1", "gitops", "a", &spec).await.unwrap();
        world.apply("v1alpha1", "other", "a", &json!({"env": [{"name": "C", "value": "3"}]})).await.unwrap();
        let status = json!({"status": {"taskStatus": "Running"}});
        let path = World::path("v1alpha1", "/a/status?fieldManager=old-client");
        world.send(Method::PATCH, "application/merge-patch+json", &path, &status).await.unwrap();
        world.store_at("v1").await;

        let ended = world.migrate(&["--yes"]).await;

        assert_eq!(ended.code, Some(0), "{ended:?}");
        let task = world.tasks("v1").await.remove("a").unwrap();
        let v1 = "task.example.io/v1";
        let expected = [("gitops", "Apply"), ("old-client", "Update"), ("other", "Apply")]
            .map(|(manager, operation)| (manager.to_owned(), operation.to_owned(), v1.to_owned()));
        assert_eq!(entries(&task), expected);

        // v1alpha1 is dropped altogether.
        world
            .change_definition(|definition| definition.spec.versions.retain(|version| version.name == "v1"))
            .await;
        // The same at v1 without one variable, one parameter and the timeout.
        let spec = json!({
            "image": "a:1", "env": {"B": "2"},
            "operation": {"provider": "p", "parameters": {"size": "1"}},
        });
        let applied = world.apply("v1", "gitops", "a", &spec).await.unwrap();
        assert_eq!(applied["spec"]["env"], json!({"B": "2", "C": "3"}));
        assert_eq!(applied["spec"]["operation"]["parameters"], json!({"size": "1"}));
        // The default takes its place.
        assert_eq!(applied["spec"]["operation"]["timeout"], "1h");
        // And what another has set is still defended.
        let conflict = world.apply("v1", "gitops", "a", &json!({"env": {"C": "4"}})).await.unwrap_err();
        assert!(conflict.to_string().contains("conflict with \"other\""), "{conflict}");
        world.change_definition(|_| {}).await;
    });
}

#[test]
fn entries_that_an_old_client_makes_after_the_migration_are_rewritten_by_the_next_run() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(3).await;
        world.store_at("v1").await;
        assert_eq!(world.migrate(&["--yes"]).await.code, Some(0));
        let path = World::path("v1alpha1", "/task-00001?fieldManager=old-client");
        let patch = json!({"spec": {"timeoutSeconds": 7}});
        world
            .send(Method::PATCH, "application/merge-patch+json", &path, &patch)
            .await
            .unwrap();

        let ended = world.migrate(&["--yes"]).await;

        assert!(
            ended.stdout.contains("1 rewritten, 2 needed nothing"),
            "{ended:?}"
        );
        for task in world.tasks("v1").await.values() {
            for (_, _, version) in entries(task) {
                assert_eq!(version, "task.example.io/v1");
            }
        }
    });
}
