//! While something goes wrong.

use std::fs;
use std::net::TcpListener;
use std::time::Duration;

use futures::future::join_all;
use http::Method;
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::time::sleep;

use crate::world::{Ended, RUNTIME, World};

const MERGE: &str = "application/merge-patch+json";

/// Waits until so many Tasks are stored at v1.
async fn until_rewritten(world: &World, count: usize) {
    let what = format!("{count} Tasks are stored at v1");
    world
        .until(&what, async || world.stored_at("v1").await >= count)
        .await;
}

async fn until_converted(world: &World) {
    world
        .until("Tasks are converted again", async || {
            let path = World::path("v1alpha1", "?limit=1");
            world
                .send(Method::GET, MERGE, &path, &json!(null))
                .await
                .is_ok()
        })
        .await;
}

#[test]
fn after_a_kill_it_goes_on_where_it_was_and_writes_no_task_twice() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(120).await;
        world.store_at("v1").await;
        let before = world.tasks("v1").await;
        let mut first = world.begin(&["--yes", "--qps=60"]);
        until_rewritten(&world, 60).await;
        first.kill().await.unwrap();
        let halfway = world.tasks("v1").await;
        let is_written = |name: &str| {
            halfway[name]["metadata"]["resourceVersion"]
                != before[name]["metadata"]["resourceVersion"]
        };
        let written = before.keys().filter(|name| is_written(name)).count();
        assert!((60..120).contains(&written), "{written}");

        let ended = world.migrate(&["--yes", "--qps=0"]).await;

        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(
            ended.stderr.contains("going on with the migration"),
            "{ended:?}"
        );
        let story = format!("{} rewritten, {written} needed nothing", 120 - written);
        assert!(ended.stdout.contains(&story), "{story}: {ended:?}");
        let after = world.tasks("v1").await;
        for name in before.keys().filter(|name| is_written(name)) {
            assert_eq!(after[name], halfway[name], "{name} was written twice");
        }
        assert_eq!(world.stored_at("v1").await, 120);
        assert_eq!(world.stored_versions().await, ["v1"]);
    });
}

#[test]
fn where_the_storage_version_changes_in_the_middle_it_stops_and_trims_nothing() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(100).await;
        world.store_at("v1").await;
        let migration = world.begin(&["--yes", "--qps=50", "--page-size=10"]);
        until_rewritten(&world, 20).await;
        world.store_at("v1alpha1").await;

        let ended = Ended::from(migration.wait_with_output().await.unwrap());

        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.stdout.contains("its storage version is v1alpha1"),
            "{ended:?}"
        );
        let mut stored = world.stored_versions().await;
        stored.sort();
        assert_eq!(stored, ["v1", "v1alpha1"]);
    });
}

#[test]
fn where_the_storage_version_was_another_for_a_moment_nothing_is_trimmed_either() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(60).await;
        world.store_at("v1").await;
        // All in one page, so that only the last look can notice.
        let migration = world.begin(&["--yes", "--qps=30"]);
        until_rewritten(&world, 10).await;
        world.store_at("v1alpha1").await;
        world.store_at("v1").await;

        let ended = Ended::from(migration.wait_with_output().await.unwrap());

        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert_eq!(world.stored_versions().await.len(), 2);
        assert_eq!(world.migrate(&["--yes", "--qps=0"]).await.code, Some(0));
        assert_eq!(world.stored_at("v1").await, 60);
        assert_eq!(world.stored_versions().await, ["v1"]);
    });
}

#[test]
fn what_is_deleted_or_changed_under_it_is_neither_recreated_nor_reset() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(100).await;
        world.store_at("v1").await;
        let migration = world.begin(&["--yes", "--qps=50"]);
        until_rewritten(&world, 10).await;
        // From the end, where it has not been yet.
        join_all((70..100).map(|number| {
            let world = &world;
            async move {
                let place = format!("/task-{number:05}");
                match number % 3 {
                    0 => world.delete(&place[1..]).await,
                    1 => {
                        world.delete(&place[1..]).await;
                        world
                            .create("v1alpha1", &place[1..], &json!({"port": 9999}))
                            .await;
                    }
                    _ => {
                        let port = json!({"spec": {"port": 9999}});
                        let path = World::path("v1alpha1", &place);
                        world
                            .send(Method::PATCH, MERGE, &path, &port)
                            .await
                            .unwrap();
                    }
                }
            }
        }))
        .await;

        let ended = Ended::from(migration.wait_with_output().await.unwrap());

        assert_eq!(ended.code, Some(0), "{ended:?}");
        let tasks = world.tasks("v1").await;
        assert_eq!(tasks.len(), 90);
        assert_eq!(world.stored_at("v1").await, 90);
        for number in 70..100 {
            let task = tasks.get(&format!("task-{number:05}"));
            match number % 3 {
                0 => assert_eq!(task, None),
                _ => assert_eq!(task.unwrap()["spec"]["port"], 9999),
            }
        }
        assert_eq!(world.stored_versions().await, ["v1"]);
    });
}

#[test]
fn a_broken_webhook_stops_it_with_a_clear_message_and_it_can_be_gone_on_with() {
    let mut world = World::take();
    RUNTIME.block_on(async {
        world.create_many(80).await;
        world.store_at("v1").await;
        let migration = world.begin(&["--yes", "--qps=40", "--page-size=20"]);
        until_rewritten(&world, 20).await;
        world.conversion.process_mut().kill();

        let ended = Ended::from(migration.wait_with_output().await.unwrap());

        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stdout.contains("webhook"), "{ended:?}");
        assert!(ended.stdout.contains("Run it again to go on"), "{ended:?}");
        assert_eq!(world.stored_versions().await.len(), 2);
        assert!(world.stored_at("v1alpha1").await > 0);

        world.conversion.process_mut().restart().unwrap();
        until_converted(&world).await;
        let ended = world.migrate(&["--yes", "--qps=0"]).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(world.stored_at("v1").await, 80);
        assert_eq!(world.stored_versions().await, ["v1"]);
    });
}

#[test]
fn a_webhook_that_hangs_is_waited_for_no_longer_than_is_said() {
    let mut world = World::take();
    RUNTIME.block_on(async {
        world.create_many(40).await;
        world.store_at("v1").await;
        let migration = world.begin(&["--yes", "--qps=20", "--page-size=10"]);
        until_rewritten(&world, 10).await;
        world
            .conversion
            .process_mut()
            .signal(Signal::SIGSTOP)
            .unwrap();

        let stopped = Ended::from(migration.wait_with_output().await.unwrap());
        let checked = world.run(&["check", "--wait", "--timeout=2s"]).await;

        world
            .conversion
            .process_mut()
            .signal(Signal::SIGCONT)
            .unwrap();
        until_converted(&world).await;
        assert_eq!(stopped.code, Some(1), "{stopped:?}");
        assert!(
            stopped.stdout.contains("no answer within 10 s"),
            "{stopped:?}"
        );
        assert_eq!(checked.code, Some(124), "{checked:?}");
        assert!(
            checked.stdout.contains("before all was looked at"),
            "{checked:?}"
        );
        assert_eq!(world.stored_versions().await.len(), 2);
        assert_eq!(world.migrate(&["--yes", "--qps=0"]).await.code, Some(0));
        assert_eq!(world.stored_at("v1").await, 40);
    });
}

#[test]
fn an_api_server_that_says_nothing_is_waited_for_no_longer_than_is_said() {
    let world = World::take();
    RUNTIME.block_on(async {
        // It is connected to, by the system, and never answers.
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = format!("http://{}", silent.local_addr().unwrap());
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubeconfig");
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "a",
            "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
            "clusters": [{"name": "a", "cluster": {"server": server}}],
            "users": [{"name": "a", "user": {}}],
        });
        fs::write(&file, kubeconfig.to_string()).unwrap();
        let file = file.to_str().unwrap();
        for (args, code) in [
            (&["migrate", "--yes", "--timeout=1s"][..], 124),
            (
                &["check", "--wait", "--timeout=1s", "--request-timeout=0"],
                124,
            ),
            (&["status", "--request-timeout=1s"], 2),
            (&["version", "--request-timeout=1s"], 2),
        ] {
            let ended = world.run(&[args, &["--kubeconfig", file]].concat()).await;
            assert_eq!(ended.code, Some(code), "{args:?}: {ended:?}");
        }
    });
}

#[test]
fn when_time_is_up_it_ends_with_124_and_can_be_gone_on_with() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(40).await;
        world.store_at("v1").await;
        sleep(Duration::from_secs(1)).await;

        let ended = world.migrate(&["--yes", "--qps=10", "--timeout=2s"]).await;

        assert_eq!(ended.code, Some(124), "{ended:?}");
        assert!(ended.stdout.contains("rewritten"), "{ended:?}");
        assert!(ended.stdout.contains("time is up"), "{ended:?}");
        let done = world.stored_at("v1").await;
        assert!((1..40).contains(&done), "{done}");
        assert_eq!(world.migrate(&["--yes", "--qps=0"]).await.code, Some(0));
        assert_eq!(world.stored_at("v1").await, 40);
    });
}
