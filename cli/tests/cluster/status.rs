//! `kubectl task status`, `events` and `version`.

use http::Method;
use serde_json::json;

use crate::world::{NAMESPACE, RUNTIME, World};

#[test]
fn a_task_that_nobody_has_seen_waits_for_the_operator_and_one_that_failed_is_a_finding() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(2).await;
        let waiting = world.run(&["status"]).await;
        let path = World::path("v1", "/task-00000/status");
        let failed = json!({"status": {"phase": "Failed", "observedGeneration": 1, "conditions": [{
            "type": "Stalled", "status": "True", "reason": "ChildConflict", "message": "the name is taken", "lastTransitionTime": "2026-01-01T00:00:00Z",
        }]}});
        world.send(Method::PATCH, "application/merge-patch+json", &path, &failed).await.unwrap();
        let all = world.run(&["status", "-A", "-o", "json"]).await;
        let one = world.run(&["status", "task-00000"]).await;
        let missing = world.run(&["status", "nobody"]).await;

        assert_eq!(waiting.code, Some(0), "{waiting:?}");
        assert!(waiting.stdout.contains("the operator to see it"), "{waiting:?}");
        assert_eq!(all.code, Some(1), "{all:?}");
        assert!(all.stdout.contains("somebody to act: the name is taken"), "{all:?}");
        assert!(one.stdout.contains("ChildConflict"), "{one:?}");
        assert_eq!(missing.code, Some(2), "{missing:?}");
        assert!(missing.stderr.contains("there is no Task default/nobody"), "{missing:?}");
    });
}

#[test]
fn the_events_of_a_task_are_told_and_those_of_others_are_not() {
    let world = World::take();
    RUNTIME.block_on(async {
        let path = format!("/apis/events.k8s.io/v1/namespaces/{NAMESPACE}/events");
        for (name, version) in [("ours", "task.example.io/v1"), ("theirs", "tekton.dev/v1")] {
            let event = json!({
                "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": format!("{name}.1")},
                "regarding": {"kind": "Task", "name": name, "namespace": NAMESPACE, "apiVersion": version},
                "type": "Warning", "reason": "Stalled", "note": "the name\nis taken", "action": "Reconcile",
                "eventTime": "2026-01-01T00:00:00.000000Z", "reportingController": "c", "reportingInstance": "i",
            });
            world.send(Method::POST, "application/json", &path, &event).await.unwrap();
        }
        let ended = world.run(&["events"]).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("Warning   Stalled   default/ours   1       the name is taken"), "{ended:?}");
        assert!(!ended.stdout.contains("theirs"), "{ended:?}");
    });
}

#[test]
fn the_version_of_the_api_server_is_told_and_one_that_is_not_there_is_an_error() {
    let world = World::take();
    RUNTIME.block_on(async {
        let ended = world.run(&["version", "-o", "json"]).await;
        assert!(ended.stdout.contains("\"server\":\"v1."), "{ended:?}");
        let nowhere = world.run(&["version", "--kubeconfig", "nowhere"]).await;
        assert_eq!(nowhere.code, Some(2), "{nowhere:?}");
        assert!(
            nowhere
                .stderr
                .starts_with("error: cannot use the kubeconfig"),
            "{nowhere:?}"
        );
    });
}
