//! Callbacks: good ones at every moment, and bad ones of every kind.

use std::time::{Duration, Instant};

use http::HeaderMap;
use jiff::{SignedDuration, Timestamp};
use operation_signals::signature::WEBHOOK_SIGNATURE;
use provider_simulator::Caller;
use serde_json::{Value, json};
use task_tests::Kubectl;

use crate::{
    V1,
    world::{
        OTHER_SECRET, Provider, SECRET, create, kubectl, phase, reason, spec_with, status, world,
    },
};

/// A Task whose operation runs until it is said otherwise, and the one who says so.
struct Running {
    kubectl: Kubectl<'static>,
    caller: Caller,
    url: String,
    operation: String,
}

impl Running {
    async fn start(namespace: &'static str, provider: Provider) -> Self {
        let kubectl = kubectl(namespace).await;
        let parameters = json!({"outcome": "Never", "callbacks": "Lost"});
        create(kubectl, "web", spec_with("Callback", provider, parameters)).await;
        let task = kubectl
            .until(V1, "web", |task| {
                reason(task, "AsyncOperation") == "StatusCheckInProgress"
            })
            .await;
        let world = world().await;
        let [accepted] = &world.simulator.operations_in(namespace)[..] else {
            panic!("not one operation");
        };
        let url = accepted.callback_url().unwrap();
        let expected = format!("{}/callbacks/{namespace}/web", world.callbacks.url);
        assert_eq!(url, expected);
        Self {
            kubectl,
            caller: world.callbacks.caller(provider, SECRET),
            url,
            operation: task["status"]["operation"]["key"]
                .as_str()
                .unwrap()
                .to_owned(),
        }
    }

    /// A body that says this of the operation.
    fn says(&self, status: &str) -> Vec<u8> {
        json!({"operationId": self.operation, "status": status, "error": {"code": "Told", "message": "late"}})
            .to_string()
            .into_bytes()
    }

    /// Sends it with the proof of a message with this id, which was sent so long ago.
    async fn tell(&self, id: &str, status: &str, age: SignedDuration) -> u16 {
        let body = self.says(status);
        let proof = self.caller.proof(id, &body, Timestamp::now() - age);
        self.caller.send(&self.url, proof, body).await.unwrap()
    }

    async fn tell_now(&self, id: &str, status: &str) -> u16 {
        self.tell(id, status, SignedDuration::ZERO).await
    }

    async fn task(&self) -> Value {
        self.kubectl.get(V1, "web").await
    }
}

#[tokio::test]
async fn a_callback_ends_the_operation_long_before_it_is_asked_about() {
    let kubectl = kubectl("called-back").await;
    let parameters = json!({"seconds": 1});
    create(
        kubectl,
        "web",
        spec_with("Callback", Provider::Steady, parameters),
    )
    .await;
    let done = kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    let operation = &done["status"]["operation"];
    let event = format!("{}-Succeeded", operation["key"].as_str().unwrap());
    assert_eq!(operation["lastEventID"], json!(event));
    assert_eq!(operation["result"], "made for web");
}

#[tokio::test]
async fn a_callback_may_come_before_the_answer_to_the_start() {
    for (namespace, faults) in [
        ("early", json!({})),
        // The answer never comes at all.
        (
            "early-only",
            json!({"start": [{"hang": true, "accept": true}]}),
        ),
    ] {
        let kubectl = kubectl(namespace).await;
        let parameters = json!({"callbacks": "Early", "faults": faults});
        create(
            kubectl,
            "web",
            spec_with("Callback", Provider::Steady, parameters),
        )
        .await;
        let done = kubectl
            .until(V1, "web", |task| phase(task) == "Succeeded")
            .await;
        assert_eq!(done["status"]["operation"]["attempts"], 1, "{namespace}");
        assert_eq!(
            done["status"]["lastAsyncOperationID"], done["status"]["operation"]["key"],
            "{namespace}"
        );
        let operations = world().await.simulator.operations_in(namespace);
        assert_eq!((operations.len(), operations[0].starts), (1, 1));
    }
}

#[tokio::test]
async fn a_callback_that_is_lost_is_made_up_for_by_a_poll() {
    let kubectl = kubectl("lost").await;
    let parameters = json!({"seconds": 1, "callbacks": "Lost"});
    create(
        kubectl,
        "web",
        spec_with("Hybrid", Provider::Signing, parameters),
    )
    .await;
    let done = kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    assert_eq!(done["status"]["operation"].get("lastEventID"), None);
}

#[tokio::test]
async fn only_the_first_end_counts_whatever_comes_after_it_and_however_often() {
    let running = Running::start("told", Provider::Steady).await;
    assert_eq!(running.tell_now("e-1", "Running").await, 204);
    let before = running.task().await;
    assert_eq!(before["status"]["operation"]["lastEventID"], "e-1");

    // Replayed: proved anew or not, it is the same message.
    assert_eq!(running.tell_now("e-1", "Running").await, 204);
    assert_eq!(running.task().await["status"], before["status"]);

    assert_eq!(running.tell_now("e-2", "Succeeded").await, 204);
    let done = running
        .kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    // Doubled, and what was true before comes after it.
    assert_eq!(running.tell_now("e-2", "Succeeded").await, 204);
    assert_eq!(running.tell_now("e-3", "Running").await, 204);
    let after = running.task().await;
    assert_eq!(after["status"]["operation"], done["status"]["operation"]);

    assert_eq!(running.tell_now("e-4", "Failed").await, 204);
    let after = running.task().await;
    assert_eq!(after["status"]["operation"]["phase"], "Ready");
    assert_eq!(status(&after, "AsyncOperation"), "True");
    assert_eq!(
        after["status"]["failureDetails"][0]["code"],
        "Contradiction"
    );
}

#[tokio::test]
async fn a_message_is_good_for_five_minutes() {
    let running = Running::start("aged", Provider::Steady).await;
    for (minutes, expected) in [(6, 401), (-6, 401), (4, 204), (-4, 204)] {
        let id = format!("e{minutes}");
        let age = SignedDuration::from_mins(minutes);
        let answer = running.tell(&id, "Running", age).await;
        assert_eq!(answer, expected, "{minutes} min old");
    }
}

#[tokio::test]
async fn what_is_not_proved_changes_nothing_and_is_told_nothing() {
    let running = Running::start("forged", Provider::Steady).await;
    let before = running.task().await;
    let body = running.says("Succeeded");
    let good = running.caller.proof("e-1", &body, Timestamp::now());
    let callbacks = &world().await.callbacks;
    let stranger = callbacks.caller(Provider::Steady, OTHER_SECRET);
    let forged = stranger.proof("e-1", &body, Timestamp::now());
    let mut unsigned = good.clone();
    unsigned.remove(WEBHOOK_SIGNATURE);
    let other_body = running.says("Failed");
    let other_task = running.url.replace("/web", "/another");
    let no_task = format!("{}/callbacks/-/..%2f..", callbacks.url);
    let other_provider = json!({"operationId": running.operation.replace("steady", "nobody"), "status": "Succeeded"});
    let other_provider = other_provider.to_string().into_bytes();
    for (what, url, proof, body) in [
        ("forged", &running.url, &forged, &body),
        ("unsigned", &running.url, &unsigned, &body),
        ("nothing", &running.url, &HeaderMap::new(), &Vec::new()),
        ("of another body", &running.url, &good, &other_body),
        ("of another provider", &running.url, &good, &other_provider),
        ("for another Task", &other_task, &good, &body),
        ("for no Task", &no_task, &good, &body),
    ] {
        let answer = running
            .caller
            .send(url, proof.clone(), body.clone())
            .await
            .unwrap();
        assert_eq!(answer, 401, "{what}");
    }
    assert_eq!(running.task().await["status"], before["status"]);
}

#[tokio::test]
async fn what_is_too_long_is_not_read() {
    let running = Running::start("oversized", Provider::Steady).await;
    let fill = |length: usize| {
        let mut body = json!({"operationId": running.operation, "status": "Running", "fill": ""});
        let fill = "a".repeat(length - body.to_string().len());
        body["fill"] = json!(fill);
        body.to_string().into_bytes()
    };
    for (length, expected) in [(1024 * 1024, 204), (1024 * 1024 + 1, 413)] {
        let body = fill(length);
        assert_eq!(body.len(), length);
        let proof = running.caller.proof("e-1", &body, Timestamp::now());
        let answer = running.caller.send(&running.url, proof, body).await;
        assert_eq!(answer.unwrap(), expected, "{length}");
    }
}

#[tokio::test]
async fn each_scheme_is_taken_by_who_asks_for_it() {
    for (namespace, provider, another) in [
        ("by-signature", Provider::Signing, Provider::Steady),
        ("by-token", Provider::Bearing, Provider::Signing),
    ] {
        let running = Running::start(namespace, provider).await;
        let body = running.says("Succeeded");
        let wrong = world().await.callbacks.caller(another, SECRET);
        let proof = wrong.proof("e-1", &body, Timestamp::now());
        let answer = wrong.send(&running.url, proof, body).await;
        assert_eq!(answer.unwrap(), 401, "{namespace}");
        for _ in 0..2 {
            assert_eq!(running.tell_now("", "Succeeded").await, 204, "{namespace}");
        }
        running
            .kubectl
            .until(V1, "web", |task| phase(task) == "Succeeded")
            .await;
    }
}

#[tokio::test]
async fn a_secret_is_replaced_while_the_one_before_is_good() {
    let mut running = Running::start("rotated", Provider::Rotating).await;
    let callbacks = &world().await.callbacks;
    let newer = callbacks.caller(Provider::Rotating, OTHER_SECRET);
    let older = std::mem::replace(&mut running.caller, newer);
    assert_eq!(running.tell_now("e-1", "Running").await, 401);
    let both = format!("{OTHER_SECRET}\n{SECRET}\n");
    callbacks.change_secret(Provider::Rotating, &both);
    taken(&running, "e-2", true).await;
    let newer = std::mem::replace(&mut running.caller, older);
    assert_eq!(running.tell_now("e-3", "Running").await, 204);
    callbacks.change_secret(Provider::Rotating, OTHER_SECRET);
    taken(&running, "e-4", false).await;
    running.caller = newer;
    assert_eq!(running.tell_now("e-5", "Running").await, 204);
}

/// Waits until a message is taken, or no longer.
async fn taken(running: &Running, id: &str, expected: bool) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while (running.tell_now(id, "Running").await == 204) != expected {
        assert!(Instant::now() < deadline, "the secret stays as it was");
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

#[tokio::test]
async fn a_thousand_forged_callbacks_at_once_leave_the_good_ones_unharmed() {
    const FORGED: usize = 1000;
    const GOOD: usize = 20;
    let running = Running::start("flooded", Provider::Steady).await;
    let callbacks = &world().await.callbacks;
    let stranger = callbacks.caller(Provider::Steady, OTHER_SECRET);
    let body = running.says("Succeeded");
    let begun = Instant::now();
    let flood = futures::future::join_all((0..20).map(|_| async {
        for _ in 0..FORGED / 20 {
            let proof = stranger.proof("e-1", &body, Timestamp::now());
            let answer = stranger.send(&running.url, proof, body.clone()).await;
            assert_eq!(answer.unwrap(), 401);
        }
        begun.elapsed()
    }));
    let good = async {
        let mut slowest = Duration::ZERO;
        for number in 0..GOOD {
            let sent = Instant::now();
            let answer = running.tell_now(&format!("good-{number}"), "Running").await;
            assert_eq!(answer, 204);
            slowest = slowest.max(sent.elapsed());
        }
        slowest
    };
    let (flood, slowest) = futures::join!(flood, good);
    let flood = flood.into_iter().max().unwrap();
    println!("{FORGED} forged in {flood:?}; the slowest of {GOOD} good ones took {slowest:?}");
    assert!(slowest < Duration::from_secs(5), "{slowest:?}");
    assert_eq!(phase(&running.task().await), "Pending");
}
