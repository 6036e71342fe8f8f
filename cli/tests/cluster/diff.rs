//! `kubectl task diff`.

use std::fs;

use http::Method;
use serde_json::json;

use crate::world::{RUNTIME, World};

const OLD: &str = "apiVersion: task.example.io/v1alpha1
kind: Task
metadata: {name: a}
spec:
  provider: p
  timeoutSeconds: 90
  env: [{name: B, value: b}, {name: A, value: a}]
";

const NEW: &str = "apiVersion: task.example.io/v1
kind: Task
metadata: {name: a}
spec:
  env: {A: a, B: c}
  operation: {provider: p, timeout: 1m30s}
";

#[test]
fn a_manifest_of_one_version_is_compared_with_a_live_task_of_the_other() {
    let world = World::take();
    RUNTIME.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        fs::write(&file, OLD).unwrap();
        let file = file.to_str().unwrap();
        world.store_at("v1").await;
        assert_eq!(world.run(&["diff", "-f", file]).await.code, Some(1), "there is no such Task");
        let spec = json!({"env": {"A": "a", "B": "b"}, "operation": {"provider": "p", "timeout": "90s"}, "port": 81});
        world.create("v1", "a", &spec).await;

        let other_writing = world.run(&["diff", "-f", file]).await;
        let path = World::path("v1", "/a");
        let patch = json!({"spec": {"operation": {"timeout": "1m30s"}}});
        world.send(Method::PATCH, "application/merge-patch+json", &path, &patch).await.unwrap();
        let same = world.run(&["diff", "-f", file, "--output-version=v1alpha1"]).await;

        // Of the annotation with the order of the variables nothing is said at v1alpha1, where it is shown.
        assert_eq!(other_writing.code, Some(1), "{other_writing:?}");
        assert!(other_writing.stdout.contains(r#".spec.operation.timeout: "1m30s" became "90s""#), "{other_writing:?}");
        assert_eq!(same.code, Some(0), "{same:?}");
    });
}

#[test]
fn two_files_are_compared_across_versions() {
    let world = World::take();
    RUNTIME.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = [("old", OLD), ("new", NEW)].map(|(name, text)| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_owned()
        });
        let ended = world
            .run(&["diff", "-f", &old, "--with", &new, "-o", "markdown"])
            .await;
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.stdout.contains(r#".spec.env.B: "b" became "c""#),
            "{ended:?}"
        );
        assert_eq!(
            world.run(&["diff", "-f", &old, "--with", &old]).await.code,
            Some(0)
        );
    });
}

#[test]
fn a_round_trip_loses_nothing_and_tells_what_rides_in_an_annotation() {
    let world = World::take();
    RUNTIME.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        fs::write(&file, OLD).unwrap();
        let ended = world
            .run(&["diff", "--round-trip", "-f", file.to_str().unwrap()])
            .await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("annotation only"), "{ended:?}");
        assert!(
            ended
                .stdout
                .contains(r#".spec.env (order): ["B","A"] became ["A","B"]"#),
            "{ended:?}"
        );
    });
}
