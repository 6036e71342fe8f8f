//! The certificates of the webhooks as the controller looks after them, on a real API server, with the test in the part of kubelet.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod clients;
mod kubelet;
mod world;

use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use task_tests::balancer::Balancer;
use task_tests::replica::Replica;
use tokio::time::sleep;

use clients::Clients;
use world::{AUTHORITIES, DEFINITION, KINDS, World};

/// How many rotations the test of rotations waits for, unless the variable `ROTATIONS` says otherwise.
const ROTATIONS: usize = 5;

const POLL: Duration = Duration::from_millis(200);

/// For how long a step of the certificates is waited for.
const DEADLINE: Duration = Duration::from_secs(90);

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("certificates")
        .join(name)
}

/// Waits until `holds` says yes.
async fn until(world: &World, what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "not {what}\n{}", world.logs());
        sleep(POLL).await;
    }
}

/// Whether every `caBundle` is what is on record.
async fn is_published(world: &World) -> bool {
    let trusted = world.kubelet.seen().trusted;
    world
        .bundles()
        .await
        .iter()
        .all(|bundle| *bundle == trusted)
}

/// Restarts one replica of task-conversion after the other until it is told to end. Gives how often it did, and the replicas, which run.
async fn keep_restarting(
    mut replicas: Vec<Replica>,
    balancer: Arc<Balancer>,
    goes_on: Arc<AtomicBool>,
) -> (usize, Vec<Replica>) {
    let mut restarts = 0;
    while goes_on.load(Ordering::Relaxed) {
        let index = restarts % replicas.len();
        replicas[index].roll().await;
        restarts += 1;
        let deadline = Instant::now() + DEADLINE;
        while !balancer.is_ready(index) {
            let log = replicas[index].process.log_tail();
            assert!(Instant::now() < deadline, "not ready: {log}");
            sleep(POLL).await;
        }
    }
    (restarts, replicas)
}

/// Two thirds of the lifetimes pass between two rotations, so each takes 20 s.
#[tokio::test(flavor = "multi_thread")]
async fn no_request_fails_while_authority_and_certificate_rotate_and_everything_restarts() {
    let rotations = std::env::var("ROTATIONS").ok();
    let rotations = rotations.map_or(ROTATIONS, |count| count.parse().unwrap());
    let args = [
        "--certs-ca-validity=30s",
        "--certs-serving-validity=30s",
        "--certs-trust-delay=2s",
        // task-conversion looks at its folder every 5 s.
        "--certs-serve-delay=8s",
    ];
    let mut world = World::start(&folder("rotations"), 2, &args).await;
    until(&world, "published", async || is_published(&world).await).await;
    // The API server takes a moment to go by it.
    sleep(Duration::from_secs(2)).await;

    let clients = Clients::start(&world.client, 4);
    let goes_on = Arc::new(AtomicBool::new(true));
    let replicas = mem::take(&mut world.replicas);
    let restarting = keep_restarting(replicas, Arc::clone(&world.balancer), Arc::clone(&goes_on));
    let restarting = tokio::spawn(restarting);
    for rotation in 1..=rotations {
        until(&world, "rotated", async || {
            let seen = world.kubelet.seen();
            assert!(!restarting.is_finished(), "a replica did not restart");
            seen.authorities.len() > rotation && seen.serving.len() > rotation
        })
        .await;
        // Each time one is killed, a little later than the time before.
        let later = (700 * rotation) % 18_000;
        sleep(Duration::from_millis(later.try_into().unwrap())).await;
        let controller = &mut world.controllers[rotation % 2];
        controller.process.restart().unwrap();
    }
    goes_on.store(false, Ordering::Relaxed);
    let (restarts, replicas) = restarting.await.unwrap();
    world.replicas = replicas;
    let outcome = clients.stop().await;
    println!(
        "{restarts} restarts, {} requests, {} sent again",
        outcome.requests, outcome.again
    );
    assert_eq!(outcome.failures, Vec::<String>::new(), "{}", world.logs());
    assert!(outcome.requests > 100 * rotations, "{outcome:?}");
    assert!(2 * restarts >= 5 * rotations, "{restarts} restarts");

    // No authority that one controller made did the other overwrite.
    let made = world.logged("authority_added");
    let authorities = world.kubelet.seen().authorities.len();
    assert!(made <= authorities, "{made} were made, {authorities} used");
}

#[tokio::test(flavor = "multi_thread")]
async fn manifests_without_a_bundle_and_lost_secrets_are_lived_with() {
    let args = ["--certs-trust-delay=2s", "--certs-serve-delay=8s"];
    let world = World::start(&folder("manifests"), 2, &args).await;
    until(&world, "published", async || is_published(&world).await).await;
    assert_eq!(world.kubelet.seen().authorities.len(), 1, "one authority");
    assert_eq!(world.changes("authority_added").await, 1);
    let first = world.kubelet.seen().trusted;
    sleep(Duration::from_secs(2)).await;
    let clients = Clients::start(&world.client, 1);

    // What was published is the controller's own: whoever applies a manifest without it leaves it, and the rest, as it is.
    for kind in KINDS {
        let mut manifest = world.registration(kind).await;
        let published = configs_of(&manifest);
        strip(&mut manifest);
        for flags in [
            &["apply", "-f", "-"][..],
            &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        ] {
            kubectl(&world, flags, &manifest.to_string()).await;
            let after = world.registration(kind).await;
            assert_eq!(configs_of(&after), published, "{kind} {flags:?}");
        }
    }

    // A record that is lost takes nothing with it but the authority's key.
    world.delete_secret(AUTHORITIES).await;
    until(&world, "rotated", async || {
        let seen = world.kubelet.seen();
        seen.authorities.len() == 2
            && seen.serving.len() == 2
            && seen.trusted == seen.authorities[1]
            && is_published(&world).await
    })
    .await;
    assert_ne!(world.kubelet.seen().trusted, first);
    let outcome = clients.stop().await;
    assert_eq!(outcome.failures, Vec::<String>::new(), "{}", world.logs());

    // A replacement does take it away, and it comes back.
    let mut manifest = world.registration(DEFINITION).await;
    strip(&mut manifest);
    kubectl(&world, &["replace", "-f", "-"], &manifest.to_string()).await;
    until(&world, "published", async || is_published(&world).await).await;

    // With cert-manager all is left alone.
    let annotation = json!({"cert-manager.io/inject-ca-from": "a/b"});
    world
        .patch(
            DEFINITION,
            &json!({"metadata": {"annotations": annotation}}),
        )
        .await;
    sleep(Duration::from_secs(1)).await;
    let bundle = json!({"clientConfig": {"caBundle": null}});
    let conversion = json!({"spec": {"conversion": {"webhook": bundle}}});
    world.patch(DEFINITION, &conversion).await;
    sleep(Duration::from_secs(2)).await;
    assert_eq!(world.bundles().await[0], "");
}

/// Makes of an object what a person has as a file: no `caBundle`, and nothing of what the API server adds.
fn strip(object: &mut Value) {
    let name = object["metadata"]["name"].clone();
    object["metadata"] = json!({"name": name});
    object.as_object_mut().unwrap().remove("status");
    let config = |hook: &mut Value| {
        hook["clientConfig"]
            .as_object_mut()
            .unwrap()
            .remove("caBundle");
    };
    match object.get_mut("webhooks").and_then(Value::as_array_mut) {
        Some(hooks) => hooks.iter_mut().for_each(config),
        None => config(&mut object["spec"]["conversion"]["webhook"]),
    }
}

/// How the API server reaches the webhooks of an object.
fn configs_of(object: &Value) -> Vec<Value> {
    match object["webhooks"].as_array() {
        Some(hooks) => hooks
            .iter()
            .map(|hook| hook["clientConfig"].clone())
            .collect(),
        None => vec![object["spec"]["conversion"].clone()],
    }
}

async fn kubectl(world: &World, args: &[&str], input: &str) {
    use tokio::io::AsyncWriteExt;
    let mut command = world.control_plane.kubectl();
    command.args(args).stdin(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    assert!(child.wait().await.unwrap().success(), "kubectl {args:?}");
}
