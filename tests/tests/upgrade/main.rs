//! A cluster with many Tasks goes from v1alpha1 to v1 while it is used, back from the middle, and forward again.
//!
//! `TASK_UPGRADE=2000 cargo test …` does it with as many Tasks.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod clients;
mod gitops;
mod namespaces;
mod state;
mod world;

use std::sync::atomic::{AtomicBool, Ordering};

use clients::{Clients, Version};
use serde_json::json;
use state::State;
use world::World;

/// How many Tasks there are, if `TASK_UPGRADE` does not say.
const TASKS: usize = 100;

fn tasks() -> usize {
    match std::env::var("TASK_UPGRADE") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => TASKS,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_live_cluster_goes_to_v1_and_back_and_to_v1_again_without_anybody_noticing() {
    let world = World::start("upgrade").await;
    world.store_at("v1alpha1").await;
    let count = tasks();
    world.create(count).await;
    let before = State::at_rest(&world, count).await;
    namespaces::delete_one(&world, "before").await;

    let clients = Clients::new(&world);
    let (new_goes_on, old_goes_on) = (AtomicBool::new(true), AtomicBool::new(true));
    let story = async {
        // Forward, to the middle.
        assert_eq!(world.plugin(&["check"]).await.code, Some(0));
        world.store_at("v1").await;
        let mut migration = world.begin(&[
            "migrate",
            "--yes",
            "--qps=100",
            "--settle=1s",
            "--engine=own",
        ]);
        world
            .until("half of the Tasks are stored at v1", async || {
                world.stored_at("v1").await >= count / 2
            })
            .await;
        migration.kill().await.unwrap();
        namespaces::delete_one(&world, "during").await;

        // And back.
        world.store_at("v1alpha1").await;
        let back = world
            .plugin(&["migrate", "--yes", "--qps=0", "--settle=1s"])
            .await;
        assert_eq!(back.code, Some(0), "{back:?}");
        assert_eq!(world.stored_versions().await, ["v1alpha1"]);
        before.compare(&State::read(&world).await);

        // Forward, to the end.
        world.store_at("v1").await;
        let forward = world
            .plugin(&["migrate", "--yes", "--qps=0", "--settle=1s"])
            .await;
        assert_eq!(forward.code, Some(0), "{forward:?}");
        assert_eq!(world.stored_versions().await, ["v1"]);
        assert_eq!(world.stored_at("v1alpha1").await, 0);
        before.compare(&State::read(&world).await);

        // Whoever writes v1alpha1 is told by the check, and has to go before it does.
        let not_yet = world.plugin(&["check", "--for=remove-v1alpha1"]).await;
        assert_eq!(not_yet.code, Some(1), "{not_yet:?}");
        old_goes_on.store(false, Ordering::Relaxed);
        world
            .until("the old clients are gone", async || clients.old_are_gone())
            .await;
        let owners = world.plugin(&["migrate", "--yes", "--qps=0"]).await;
        assert_eq!(owners.code, Some(0), "{owners:?}");
        let now = world.plugin(&["check", "--for=remove-v1alpha1"]).await;
        assert_eq!(now.code, Some(0), "{now:?}");

        world
            .change_definition(|definition| {
                let old = definition
                    .spec
                    .versions
                    .iter_mut()
                    .find(|version| version.name == "v1alpha1");
                let old = old.unwrap();
                (old.served, old.storage) = (false, false);
            })
            .await;
        before.compare_new(&State::read_new(&world).await);
        world
            .change_definition(|definition| {
                definition
                    .spec
                    .versions
                    .retain(|version| version.name == "v1")
            })
            .await;
        before.compare_new(&State::read_new(&world).await);
        new_goes_on.store(false, Ordering::Relaxed);
    };
    tokio::join!(
        story,
        clients.write(Version::V1, &new_goes_on),
        clients.write(Version::V1alpha1, &old_goes_on),
        clients.list(Version::V1, &new_goes_on),
        clients.list(Version::V1alpha1, &old_goes_on),
        clients.watch(Version::V1, &new_goes_on),
        clients.watch(Version::V1alpha1, &old_goes_on),
    );

    clients.must_be_content();
    // Without v1alpha1, who applied at it applies at v1, and what he leaves out is gone.
    let applied = world
        .apply(
            "v1",
            "gitops",
            "task-00000",
            &json!({"image": "nginx:alpine"}),
        )
        .await
        .unwrap();
    assert_eq!(applied["spec"]["env"], json!(null));
    assert_eq!(applied["spec"]["replicas"], 1, "another has set it");
    namespaces::delete_one(&world, "after").await;
}
