//! Replicas that come and go, and everything that can go wrong, while 200 Tasks are edited and children are deleted at random. In the end every
//! Task has exactly its children and the true status, and no Task was ever handled by two replicas at once.
//!
//! `make test-faults` does more of each.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod motion;
mod network;
mod owners;
mod world;

use std::env;
use std::path::Path;
use std::time::Duration;

use control_plane::Component;
use http::StatusCode;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use motion::Tasks;
use network::Weather;
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use world::{LEASE, World};

/// How many passes a replica makes at once.
const CONCURRENCY: usize = 10;

/// How many times as long and as often as in the short form everything goes wrong.
fn times() -> u32 {
    env::var("TASK_FAULTS").map_or(1, |times| times.parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_goes_wrong_each_task_ends_as_it_should_and_is_never_handled_by_two_replicas() {
    let mut world = World::start(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("replicas")).await;
    world.scale(3).await;
    let tasks = Tasks::create(world.client.clone()).await;
    world.until_spread().await;
    let motion = tasks.set_in_motion();

    replicas_come_and_go(&mut world).await;
    replicas_are_killed(&mut world).await;
    a_lease_is_stolen(&mut world).await;
    the_network_stalls(&mut world).await;
    a_replica_is_stopped_while_the_network_stalls(&mut world).await;
    requests_fail(&mut world).await;
    the_history_of_changes_is_lost(&mut world, &tasks).await;
    the_control_plane_is_restarted(&mut world).await;

    let (edits, deletions) = motion.stop().await;
    let settled = tasks.until_settled().await;
    assert!(
        edits > 50 && deletions > 10,
        "{edits} edits, {deletions} deletions"
    );
    let proof = owners::prove(&world.audit.events().unwrap())
        .unwrap_or_else(|fault| panic!("{fault}\n{}", world.logs()));
    println!("{edits} edits, {deletions} deletions, settled within {settled:?}, {proof:?}");
    assert!(proof.terms > 20 && proof.writes > 1000, "{proof:?}");
    // Only what was under way when the network of a replica stalled: a pass each, and each one write.
    let stalls = times() as usize + 4;
    assert!(proof.late <= stalls * CONCURRENCY, "{proof:?}");
}

async fn replicas_come_and_go(world: &mut World) {
    for count in [5, 2] {
        world.scale(count).await;
        let took = world.until_spread().await;
        println!("{count} replicas: spread after {took:?}");
        assert!(took < 2 * LEASE, "{took:?} to {count} replicas");
    }
}

async fn replicas_are_killed(world: &mut World) {
    for kill in 0..2 * times() as usize {
        let killed = Instant::now();
        world.restart(kill % 2);
        // What is in its log is of the one before until it says something.
        sleep(Duration::from_secs(2)).await;
        world.until_spread().await;
        println!(
            "a killed replica's shards are owned after {:?}",
            killed.elapsed()
        );
        assert!(killed.elapsed() < 2 * LEASE, "{:?}", killed.elapsed());
    }
}

async fn a_lease_is_stolen(world: &mut World) {
    let leases: Api<Lease> = Api::default_namespaced(world.client.clone());
    let [first, last] = ["task-controller-shard-0", "task-controller-shard-5"];
    for _ in 0..times() {
        let holders = world.holders().await;
        let other = holders[last].clone();
        let steal = async |name: &str, holder: Value| {
            let patch = Patch::Merge(json!({"spec": {"holderIdentity": holder}}));
            leases
                .patch(name, &PatchParams::default(), &patch)
                .await
                .unwrap();
        };
        steal(first, json!(other)).await;
        steal("task-controller-shard-1", json!("a stranger")).await;
        steal("task-controller-shard-2", Value::Null).await;
        leases
            .delete("task-controller-shard-3", &DeleteParams::default())
            .await
            .unwrap();
        // Both know by then.
        sleep(Duration::from_secs(2)).await;
        world.until_spread().await;
    }
}

async fn the_network_stalls(world: &mut World) {
    for turn in 0..times() as usize {
        world.replicas[turn % 2].network.turn(Weather::Stalled);
        // The other one takes over, and works on what had begun.
        sleep(LEASE + Duration::from_secs(8)).await;
        world.turn(Weather::Fair);
        world.until_spread().await;
    }
    // Nobody takes over here.
    world.turn(Weather::Stalled);
    sleep(Duration::from_secs(4) * times()).await;
    world.turn(Weather::Fair);
}

async fn a_replica_is_stopped_while_the_network_stalls(world: &mut World) {
    world.replicas[0].network.turn(Weather::Stalled);
    // So that passes are under way.
    sleep(Duration::from_secs(3)).await;
    let (replica, asked) = (&mut world.replicas[0], Instant::now());
    let status = replica
        .process
        .terminate(Duration::from_secs(30))
        .await
        .unwrap();
    println!("stopped after {:?}", asked.elapsed());
    assert!(status.success(), "{status}: {}", replica.process.log_tail());
    replica.network.turn(Weather::Fair);
    world.restart(0);

    let (replica, asked) = (&mut world.replicas[1], Instant::now());
    replica.network.turn(Weather::Stalled);
    sleep(Duration::from_secs(3)).await;
    replica.process.signal(Signal::SIGTERM).unwrap();
    sleep(Duration::from_millis(500)).await;
    let status = replica
        .process
        .terminate(Duration::from_secs(1))
        .await
        .unwrap();
    assert_eq!(
        status.code(),
        Some(1),
        "{:?}: {}",
        asked.elapsed(),
        replica.process.log_tail()
    );
    replica.network.turn(Weather::Fair);
    world.restart(1);
    sleep(Duration::from_secs(2)).await;
    world.until_spread().await;
}

async fn requests_fail(world: &mut World) {
    for status in [
        StatusCode::INTERNAL_SERVER_ERROR,
        StatusCode::TOO_MANY_REQUESTS,
    ] {
        world.turn(Weather::Failing(status));
        sleep(Duration::from_secs(3) * times()).await;
    }
    world.turn(Weather::Fair);
    world.until_spread().await;
}

/// An API server that starts anew knows of no changes before; one that takes up a watch from there is told so.
async fn the_history_of_changes_is_lost(world: &mut World, tasks: &Tasks) {
    let told = |world: &World| world.log().matches("too old resource version").count();
    let before = told(world);
    world.turn(Weather::Stalled);
    sleep(Duration::from_secs(2)).await;
    world
        .control_plane
        .restart(Component::ApiServer)
        .await
        .unwrap();
    sleep(Duration::from_secs(2)).await;
    // No watch tells of these, only the list by which it is begun anew.
    tasks.create_more().await;
    world.turn(Weather::Fair);
    world.until_spread().await;
    tasks.until_more_have_succeeded().await;
    let deadline = Instant::now() + Duration::from_secs(60);
    while told(world) == before {
        assert!(
            Instant::now() < deadline,
            "no watch was told that it is too late"
        );
        sleep(Duration::from_millis(200)).await;
    }
}

async fn the_control_plane_is_restarted(world: &mut World) {
    for _ in 0..times() {
        for component in [Component::ApiServer, Component::Etcd] {
            world.control_plane.restart(component).await.unwrap();
            sleep(Duration::from_secs(2)).await;
        }
        world.until_spread().await;
    }
}
