//! While nobody else does anything.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::world::{RUNTIME, World};

/// A Task without what says who wrote it when.
fn without_record(mut task: Value) -> Value {
    let metadata = task["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion");
    metadata.remove("managedFields");
    task
}

async fn contents(world: &World, version: &str) -> BTreeMap<String, Value> {
    let tasks = world.tasks(version).await;
    tasks
        .into_iter()
        .map(|(name, task)| (name, without_record(task)))
        .collect()
}

#[test]
fn every_stored_task_is_at_v1_afterwards_and_no_field_of_it_has_changed() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(60).await;
        let before = [
            contents(&world, "v1").await,
            contents(&world, "v1alpha1").await,
        ];
        world.store_at("v1").await;
        assert_eq!(world.stored_at("v1alpha1").await, 60);

        let ended = world
            .migrate(&["--yes", "--qps=0", "--page-size=25", "--output=json"])
            .await;

        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("60 rewritten"), "{ended:?}");
        assert_eq!(world.stored_at("v1").await, 60);
        assert_eq!(world.stored_versions().await, ["v1"]);
        let after = [
            contents(&world, "v1").await,
            contents(&world, "v1alpha1").await,
        ];
        // The generation is among what is compared.
        assert_eq!(after, before);
        assert_eq!(
            world
                .definition()
                .await
                .metadata
                .annotations
                .unwrap_or_default(),
            BTreeMap::new()
        );
    });
}

#[test]
fn without_yes_it_tells_what_there_is_to_do_and_writes_nothing() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(5).await;
        world.store_at("v1").await;
        let before = (world.tasks("v1").await, world.definition().await);

        let ended = world.migrate(&["--qps=2"]).await;

        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(
            ended
                .stdout
                .contains("5 of 5 Tasks have to be rewritten at v1"),
            "{ended:?}"
        );
        assert!(
            ended
                .stdout
                .contains("--yes rewrites 5 Tasks in 3 s or more"),
            "{ended:?}"
        );
        assert_eq!((world.tasks("v1").await, world.definition().await), before);
    });
}

#[test]
fn a_dry_run_has_every_write_judged_and_stores_none() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(5).await;
        world.store_at("v1").await;
        let before = (world.tasks("v1").await, world.definition().await);

        let ended = world.migrate(&["--yes", "--dry-run"]).await;

        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("5 rewritten"), "{ended:?}");
        assert_eq!((world.tasks("v1").await, world.definition().await), before);
    });
}

#[test]
fn once_it_is_done_there_is_nothing_to_do() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(5).await;
        world.store_at("v1").await;
        assert_eq!(world.migrate(&["--yes"]).await.code, Some(0));
        let before = world.tasks("v1").await;

        let ended = world.migrate(&["--yes"]).await;

        assert!(
            ended.stdout.contains("0 rewritten, 5 needed nothing"),
            "{ended:?}"
        );
        assert_eq!(world.tasks("v1").await, before);
        let plan = world.migrate(&[]).await;
        assert!(plan.stdout.contains("there is nothing to do"), "{plan:?}");
    });
}

#[test]
fn the_way_back_is_the_same_way() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.store_at("v1").await;
        world.create_many(20).await;
        let before = contents(&world, "v1").await;
        world.store_at("v1alpha1").await;

        let ended = world.migrate(&["--yes", "--qps=0"]).await;

        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(world.stored_at("v1alpha1").await, 20);
        assert_eq!(world.stored_versions().await, ["v1alpha1"]);
        assert_eq!(contents(&world, "v1").await, before);
    });
}
