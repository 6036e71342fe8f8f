//! Events: good ones in any order and number, and bad ones of every kind.

use std::{env, time::Duration};

use async_nats::jetstream::{consumer::pull, stream::Stream};
use futures::StreamExt;
use operation_signals::{
    event::Event,
    nats::{DEAD_LETTERS, STREAM},
};
use serde_json::{Value, json};
use task_tests::Kubectl;
use tokio::time::{Instant, sleep};

use crate::{
    V1,
    world::{Provider, create, kubectl, phase, reason, spec_with, task, world},
};

/// How long something of the queue may take on a machine under heavy load.
const DEADLINE: Duration = Duration::from_secs(90);

/// How many messages are published at once if `MESSAGES` does not say so.
const MESSAGES: usize = 300;

/// Starts an operation that runs until an event says otherwise, and gives its `Operation-Id`.
async fn start(kubectl: Kubectl<'static>, provider: Provider) -> String {
    let parameters = json!({"outcome": "Never"});
    create(kubectl, "web", spec_with("Queue", provider, parameters)).await;
    let task = kubectl
        .until(V1, "web", |task| {
            reason(task, "AsyncOperation") == "StatusCheckInProgress"
        })
        .await;
    operation(&task).to_owned()
}

fn operation(task: &Value) -> &str {
    task["status"]["operation"]["key"].as_str().unwrap()
}

fn event(id: &str, operation: &str, status: &str) -> Vec<u8> {
    let stands = json!({"status": status, "error": {"code": "Told", "message": "late"}});
    let event = Event::new("//tests.example", id, operation, &stands).unwrap();
    event.to_message().unwrap()
}

/// Publishes a message where the provider of its operation does.
async fn publish(message: Vec<u8>) {
    let operation =
        Event::parse(&message).map_or_else(|_| "steady.0".to_owned(), |event| event.subject);
    publish_to(&format!("{STREAM}.{operation}"), message).await;
}

/// Publishes a message, under no id by which the server could tell that it comes twice, until it is kept.
async fn publish_to(subject: &str, message: Vec<u8>) {
    let queue = &world().await.queue;
    let deadline = Instant::now() + DEADLINE;
    loop {
        let sent = queue
            .context
            .publish(subject.to_owned(), message.clone().into())
            .await;
        if let Ok(kept) = sent
            && kept.await.is_ok()
        {
            return;
        }
        assert!(Instant::now() < deadline, "the queue keeps nothing");
        sleep(Duration::from_millis(200)).await;
    }
}

/// The reasons of the dead letters that hold this.
async fn dead_letters(holding: &str) -> Vec<String> {
    let stream = dead_letter_stream().await;
    let consumer = stream
        .create_consumer(pull::Config::default())
        .await
        .unwrap();
    let letters = consumer.fetch().max_messages(1000).messages().await;
    let mut letters = letters.unwrap();
    let mut reasons = Vec::new();
    while let Some(Ok(letter)) = letters.next().await {
        if String::from_utf8_lossy(&letter.payload).contains(holding) {
            let headers = letter.headers.as_ref().unwrap();
            reasons.push(headers.get("Task-Reason").unwrap().to_string());
        }
    }
    reasons
}

async fn dead_letter_stream() -> Stream {
    let context = &world().await.queue.context;
    context.get_stream(DEAD_LETTERS).await.unwrap()
}

/// Has dead letters of more than so many bytes refused; -1: none.
async fn take_dead_letters_up_to(bytes: i32) {
    let mut config = dead_letter_stream().await.cached_info().config.clone();
    config.max_message_size = bytes;
    let context = &world().await.queue.context;
    context.update_stream(config).await.unwrap();
}

/// Waits until a dead letter holds this, and gives the reasons of all that do.
async fn until_dead(holding: &str) -> Vec<String> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let reasons = dead_letters(holding).await;
        if !reasons.is_empty() {
            return reasons;
        }
        assert!(Instant::now() < deadline, "{holding} is no dead letter");
        sleep(Duration::from_millis(500)).await;
    }
}

/// The sum of the numbers of the controller whose lines begin like this and hold this.
async fn counted(name: &str, holding: &str) -> u64 {
    let text = world().await.operator.metrics().await.unwrap();
    let lines = text
        .lines()
        .filter(|line| line.starts_with(name) && line.contains(holding));
    lines
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
        .sum()
}

#[tokio::test]
async fn an_event_ends_the_operation_long_before_it_is_asked_about() {
    let kubectl = kubectl("published").await;
    let parameters = json!({"seconds": 1, "events": true});
    create(
        kubectl,
        "web",
        spec_with("Queue", Provider::Steady, parameters),
    )
    .await;
    let done = kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    let event = format!("//simulator.example#{}-Succeeded", operation(&done));
    assert_eq!(done["status"]["operation"]["lastEventID"], json!(event));
    assert_eq!(done["status"]["operation"]["result"], "made for web");
}

#[tokio::test]
async fn one_provider_cannot_end_the_operation_of_another() {
    let kubectl = kubectl("impersonated").await;
    let operation = start(kubectl, Provider::Steady).await;
    for (id, subject) in [
        ("by-another", format!("{STREAM}.counted.{operation}")),
        ("by-nobody", format!("{STREAM}.tests")),
    ] {
        let id = format!("{id}-{operation}");
        publish_to(&subject, event(&id, &operation, "Failed")).await;
        let reasons = until_dead(&id).await;
        let reason = "it was not published below the name of its operation's provider";
        assert_eq!(reasons, [reason], "{subject}");
    }
    assert!(counted("task_operation_signals_total", "result=\"unproved\"").await >= 2);
    publish(event("e-1", &operation, "Succeeded")).await;
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
}

#[tokio::test]
async fn only_the_first_end_counts_whatever_order_events_come_in() {
    let kubectl = kubectl("reordered").await;
    let operation = start(kubectl, Provider::Steady).await;
    for id in ["e-1", "e-1"] {
        publish(event(id, &operation, "Running")).await;
    }
    for id in ["e-2", "e-2", "e-3"] {
        publish(event(id, &operation, "Succeeded")).await;
    }
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    publish(event("e-4", &operation, "Running")).await;
    publish(event("e-5", &operation, "Failed")).await;
    let after = kubectl
        .until(V1, "web", |task| {
            task["status"]["operation"]["lastEventID"] == "//tests.example#e-5"
        })
        .await;
    assert_eq!(after["status"]["operation"]["phase"], "Ready");
    let failures = after["status"]["failureDetails"].as_array().unwrap();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert_eq!(failures[0]["code"], "Contradiction");
}

#[tokio::test]
async fn a_poisoned_message_is_a_dead_letter_once_also_if_there_is_no_place_for_it_at_first() {
    let kubectl = kubectl("poisoned").await;
    let operation = start(kubectl, Provider::Steady).await;
    let silent = json!({"specversion": "1.0", "id": "1", "source": "//tests.example", "type": "t", "subject": operation, "data": {"no": "silent-poison"}});
    let vast = event("1", &operation, "Failed");
    let version = format!(
        "vast-poison{}",
        "-".repeat((1 << 20) - vast.len() - "vast-poison".len())
    );
    let vast = String::from_utf8(vast)
        .unwrap()
        .replacen("1.0", &version, 1);
    let poisons = [
        (
            b"no JSON: text-poison".to_vec(),
            "text-poison",
            "no CloudEvent",
        ),
        // It is as long as the server takes, and quoted in its reason.
        (
            vast.into_bytes(),
            "vast-poison",
            "it is a CloudEvent of version vast-poison",
        ),
        (
            silent.to_string().into_bytes(),
            "silent-poison",
            "does not say",
        ),
        (
            event("e-1", "steady.of-nobody.0", "Succeeded"),
            "of-nobody",
            "after 4 deliveries: no Task has this operation",
        ),
    ];
    take_dead_letters_up_to(1).await;
    for (message, _, _) in &poisons {
        publish(message.clone()).await;
    }
    // It holds up nobody, and stays.
    publish(event("e-1", &operation, "Succeeded")).await;
    kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    sleep(Duration::from_secs(3)).await;
    for (_, holding, _) in &poisons {
        assert_eq!(dead_letters(holding).await, [""; 0], "{holding}");
    }
    take_dead_letters_up_to(-1).await;
    for (_, holding, _) in &poisons {
        until_dead(holding).await;
    }
    sleep(Duration::from_secs(6)).await;
    for (_, holding, reason) in &poisons {
        let reasons = dead_letters(holding).await;
        assert_eq!(reasons.len(), 1, "{holding}: {reasons:?}");
        let reason_given = reasons[0].replace(|c: char| c.is_ascii_digit(), "4");
        assert!(reason_given.contains(reason), "{holding}: {reasons:?}");
    }
    for (reason, least) in [("malformed", 3), ("foreign", 1)] {
        let reason = format!("reason=\"{reason}\"");
        let letters = counted("task_operation_dead_letters_total", &reason).await;
        assert!(letters >= least, "{reason}: {letters}");
    }
}

#[tokio::test]
async fn while_the_queue_is_down_providers_are_asked_and_it_is_found_again() {
    let kubectl = kubectl("queue-down").await;
    world()
        .await
        .queue
        .nats
        .lock()
        .unwrap()
        .process_mut()
        .kill();
    let parameters = json!({"seconds": 1});
    create(
        kubectl,
        "web",
        spec_with("Queue", Provider::Signing, parameters),
    )
    .await;
    let done = kubectl
        .until(V1, "web", |task| phase(task) == "Succeeded")
        .await;
    assert_eq!(done["status"]["operation"].get("lastEventID"), None);
    let restarted = world()
        .await
        .queue
        .nats
        .lock()
        .unwrap()
        .process_mut()
        .restart();
    restarted.unwrap();
    let late = event("e-1", operation(&done), "Failed");
    publish(late).await;
    kubectl
        .until(V1, "web", |task| {
            task["status"]["operation"]["lastEventID"] == "//tests.example#e-1"
        })
        .await;
}

#[tokio::test]
async fn of_many_messages_of_which_some_are_doubled_each_is_applied_once() {
    let count = env::var("MESSAGES").map_or(MESSAGES, |text| text.parse().unwrap());
    let kubectl = kubectl("many").await;
    let parameters = json!({"outcome": "Never"});
    let tasks: Vec<_> = (0..count)
        .map(|number| {
            let spec = spec_with("Queue", Provider::Counted, parameters.clone());
            task(&format!("task-{number}"), spec)
        })
        .collect();
    let begun = Instant::now();
    for tasks in tasks.chunks(500) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": tasks});
        kubectl
            .ok_with(&["create", "-f", "-"], &list.to_string())
            .await;
    }
    let deadline = begun + DEADLINE + Duration::from_millis(200) * u32::try_from(count).unwrap();
    let started = loop {
        let list = kubectl.ok(&["get", V1, "--output=json"]).await;
        let list: Value = serde_json::from_str(&list).unwrap();
        let items = list["items"].as_array().unwrap().clone();
        let runs = |task: &Value| reason(task, "AsyncOperation") == "StatusCheckInProgress";
        if items.iter().filter(|task| runs(task)).count() == count {
            break items;
        }
        assert!(Instant::now() < deadline, "not all operations are started");
        sleep(Duration::from_secs(2)).await;
    };
    println!("{count} operations started in {:?}", begun.elapsed());

    let published = Instant::now();
    for (number, task) in started.iter().enumerate() {
        let message = event("the-end", operation(task), "Failed");
        publish(message.clone()).await;
        if number.is_multiple_of(10) {
            publish(message).await;
        }
    }
    let ended = async || counted("task_operation_total", "provider=\"counted\"").await;
    let count = u64::try_from(count).unwrap();
    while ended().await < count {
        assert!(
            Instant::now() < deadline + DEADLINE,
            "{} of {count} ended",
            ended().await
        );
        sleep(Duration::from_secs(1)).await;
    }
    println!("{count} messages taken in within {:?}", published.elapsed());
    // Those that came twice have come by now, or do so soon.
    sleep(Duration::from_secs(3)).await;
    assert_eq!(ended().await, count);
    let list = kubectl.ok(&["get", V1, "--output=json"]).await;
    let list: Value = serde_json::from_str(&list).unwrap();
    for task in list["items"].as_array().unwrap() {
        let failures = task["status"]["failureDetails"].as_array().unwrap();
        assert_eq!(failures.len(), 1, "{task}");
        assert_eq!(failures[0]["code"], "Told", "{task}");
    }
}
