//! While task-conversion is down nobody reads or writes a Task. So replicas of it come and go without one failed request, and where there
//! is none at all, everything fails loudly and nothing is damaged.
//!
//! `TASK_RESTARTS=50 cargo test …` restarts more often.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod clients;
mod secret;
mod tasks;
mod world;

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::{AtomicBool, Ordering};

use clients::Seen;
use http::Method;
use secret::Secret;
use serde_json::{Value, json};
use task_tests::balancer::{Balancer, served};
use task_tests::replica::Replica;
use tasks::{JSON, MERGE, Requests, V1, V1alpha1, manifest, send, spec, status};
use world::{api_server, client, register, until};

/// How often a replica is restarted, if `TASK_RESTARTS` does not say.
const RESTARTS: usize = 6;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn restarts() -> usize {
    match std::env::var("TASK_RESTARTS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => RESTARTS,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_request_fails_while_replicas_restart_and_their_certificate_changes() {
    let folder = folder("rolling-restarts");
    let control_plane = api_server(&folder).await;
    let mut secret = Secret::new(&folder.join("certificates"));
    let mut replicas: Vec<_> = ["replica-0", "replica-1"]
        .map(|name| Replica::start(name, secret.folder(), &folder))
        .into();
    let addresses: Vec<_> = replicas
        .iter()
        .map(|replica| replica.port.address())
        .collect();
    let authority = secret.authority_pem();
    let balancer = Balancer::start(&addresses, move || authority.clone()).await;
    let all_ready = async || (0..2).all(|replica| balancer.is_ready(replica));
    until("both replicas are ready", all_ready).await;
    let client = client(&control_plane).await;
    register(&client, balancer.address(), secret.folder()).await;

    let requests = Requests::of(client);
    let goes_on = AtomicBool::new(true);
    let seen = [Seen::default(), Seen::default()];
    let restart = async {
        for restart in 0..restarts() {
            let index = restart % 2;
            replicas[index].roll().await;
            secret.renew();
            until("the replica is ready again", async || {
                balancer.is_ready(index)
            })
            .await;
        }
        for &address in &addresses {
            until("the newest certificate is served", async || {
                served(address, &secret.authority_pem()).await == *secret.newest()
            })
            .await;
        }
        goes_on.store(false, Ordering::Relaxed);
    };
    let work = async {
        let (one, two, three, four, (), (), ()) = tokio::join!(
            clients::write(&requests, V1, "a", &goes_on),
            clients::write(&requests, V1, "b", &goes_on),
            clients::write(&requests, V1alpha1, "c", &goes_on),
            clients::write(&requests, V1alpha1, "d", &goes_on),
            clients::list(&requests, V1, &goes_on),
            clients::list(&requests, V1alpha1, &goes_on),
            restart,
        );
        for survivor in [one, two, three, four] {
            let (home, name) = (survivor.home, survivor.name);
            let (replicas, port) = (survivor.replicas, survivor.port);
            requests.compare(home, &name, replicas, port).await;
            for (version, seen) in [V1, V1alpha1].into_iter().zip(&seen) {
                let last = spec(home, version, replicas, port);
                until("the watch has shown the last change", async || {
                    let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.get(&name) == Some(&last) || !requests.faults().is_empty()
                })
                .await;
            }
        }
    };
    tokio::select! {
        () = work => {}
        // A watch ends only where something is wrong, which it has noted.
        ((), ()) = async {
            tokio::join!(
                clients::watch(&requests, V1, &seen[0]),
                clients::watch(&requests, V1alpha1, &seen[1]),
            )
        } => {}
    }

    let (made, faults) = (requests.made(), requests.faults());
    let connections = balancer.connections();
    println!("{made} requests, {connections:?} connections to the replicas");
    assert!(
        faults.is_empty(),
        "{} faults in {made} requests, the first of them:\n{}",
        faults.len(),
        faults[..faults.len().min(5)].join("\n")
    );
    // Each restart of one replica sends the connections to the other.
    let each = restarts() / 2;
    assert!(
        connections.iter().all(|&count| count >= each),
        "{connections:?}"
    );
}

#[tokio::test]
async fn without_a_replica_requests_fail_loudly_until_there_is_one_again_and_nothing_is_damaged() {
    let folder = folder("no-replica");
    let control_plane = api_server(&folder).await;
    let secret = Secret::new(&folder.join("certificates"));
    let mut replica = Replica::start("replica", secret.folder(), &folder);
    let client = client(&control_plane).await;
    register(&client, replica.port.address(), secret.folder()).await;
    let ask = async |method, content_type, version, place: &str, body: &Value| {
        send(&client, method, content_type, version, place, body).await
    };
    for (version, name) in [(V1, "a"), (V1alpha1, "b"), (V1, "c"), (V1, "d")] {
        let task = manifest(version, name, &spec(version, version, 1, 80));
        ask(Method::POST, JSON, version, "", &task).await.unwrap();
    }
    let list = async |version| ask(Method::GET, JSON, version, "", &Value::Null).await;
    let before = [list(V1).await.unwrap(), list(V1alpha1).await.unwrap()];

    replica.process.kill();
    // Tasks are stored at v1, so that is read as it is, and the API server may have a list at v1alpha1 at hand.
    assert_eq!(list(V1).await.unwrap()["items"], before[0]["items"]);
    if let Ok(list) = list(V1alpha1).await {
        assert_eq!(list["items"], before[1]["items"]);
    }
    let port = json!({"spec": {"port": 81}});
    let status = json!({"status": status()});
    for (method, content_type, version, place, body) in [
        (Method::GET, JSON, V1alpha1, "/a", &Value::Null),
        (Method::PATCH, MERGE, V1, "/a", &port),
        (Method::PATCH, MERGE, V1alpha1, "/b", &port),
        // The API server could not keep the record of who has set what at v1alpha1.
        (Method::PATCH, MERGE, V1, "/b/status", &status),
        (Method::DELETE, JSON, V1alpha1, "/a", &Value::Null),
    ] {
        let outcome = ask(method.clone(), content_type, version, place, body).await;
        let error = outcome.unwrap_err().to_string();
        assert!(error.contains("webhook"), "{method} {place}: {error}");
    }
    // What the controller writes, and deletions, need nobody else where all is at v1.
    for (method, content_type, place, body) in [
        (Method::PATCH, MERGE, "/c/status", &status),
        (Method::DELETE, JSON, "/d", &Value::Null),
    ] {
        ask(method, content_type, V1, place, body).await.unwrap();
    }

    replica.process.restart().unwrap();
    until("Tasks are read at v1alpha1 again", async || {
        list(V1alpha1).await.is_ok()
    })
    .await;
    for (version, before) in [V1, V1alpha1].into_iter().zip(before) {
        let [after, before] = [list(version).await.unwrap(), before]
            .map(|list| list["items"].as_array().unwrap().clone());
        assert_eq!(after.len(), 3);
        assert_eq!(after[..2], before[..2]);
        assert_eq!(after[2]["spec"], before[2]["spec"]);
        assert_eq!(after[2]["status"]["operation"]["key"], "key-7");
        let managers = |task: &Value| task["metadata"]["managedFields"].as_array().unwrap().len();
        assert_eq!(
            managers(&after[2]),
            2,
            "who created it, and who wrote its status"
        );
    }
}
