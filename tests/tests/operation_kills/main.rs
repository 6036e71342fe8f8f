//! The controller is killed again and again, at any moment: there is one operation for each Task all the same.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

#[expect(
    dead_code,
    reason = "shared with the other tests of operations, which use all of it"
)]
#[path = "../operations/world.rs"]
mod world;

use std::{
    env,
    hash::{BuildHasher, RandomState},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::time::sleep;

use world::{Provider, create, kubectl, spec_with, world};

const V1: &str = "tasks.v1.task.example.io";

/// How often the controller is killed if `KILLS` does not say so.
const KILLS: u32 = 8;

/// The longest time between a start and the next kill.
const LIFE_MAX: Duration = Duration::from_millis(4000);

/// What a Task's operation is like: each kind of trouble comes up.
fn script(number: u32) -> Value {
    let faults = match number % 5 {
        0 => json!({}),
        1 => json!({"start": [{"hang": true, "accept": true}]}),
        2 => json!({"start": [{"status": 503}, {"status": 500, "accept": true}]}),
        3 => json!({"start": [{"delayMs": 700}], "poll": [{"drop": true}]}),
        _ => {
            json!({"start": [{"drop": true, "accept": true}], "poll": [{"status": 429, "retryAfter": "1"}]})
        }
    };
    let provider = if number.is_multiple_of(2) {
        Provider::Steady
    } else {
        Provider::Replaying
    };
    // The provider calls back until it is heard, or publishes.
    let (completion, callbacks) = match number % 4 {
        0 => ("Callback", "AtTheEnd"),
        1 => ("Hybrid", "Early"),
        2 => ("Queue", "Lost"),
        _ => ("Poll", "Lost"),
    };
    let parameters = json!({
        "seconds": f64::from(number % 3) / 2.0,
        "callbacks": callbacks,
        "events": matches!(completion, "Queue" | "Hybrid"),
        "faults": faults,
    });
    spec_with(completion, provider, parameters)
}

#[tokio::test]
async fn a_controller_that_is_killed_at_any_moment_starts_one_operation_for_each_task() {
    let kills = env::var("KILLS").map_or(KILLS, |text| text.parse().unwrap());
    let leases = kubectl("default").await;
    let kubectl = kubectl("kills").await;
    let random = RandomState::new();
    let (mut tasks, mut lives_with_calls) = (0, 0);
    let begun = Instant::now();
    for kill in 0..kills {
        for _ in 0..2 {
            create(kubectl, &format!("task-{tasks}"), script(tasks)).await;
            tasks += 1;
        }
        let calls = world().await.simulator.calls();
        let part = (random.hash_one(kill) % 1000) as f64 / 1000.0;
        sleep(LIFE_MAX.mul_f64(part)).await;
        let operator = &world().await.operator;
        operator.kill_controller();
        lives_with_calls += u32::from(world().await.simulator.calls() > calls);
        // Otherwise the next one would wait until the Lease of the dead one has lapsed, and never get to anything.
        leases
            .ok(&["delete", "leases", "--selector", "task.example.io/lease"])
            .await;
        operator.kill_and_restart_controller().unwrap();
    }
    assert!(
        lives_with_calls > kills / 3,
        "of {kills} controllers that were killed only {lives_with_calls} made a call"
    );
    for number in 0..tasks {
        let name = format!("task-{number}");
        kubectl
            .until(V1, &name, |task| {
                task["status"]["operation"]["phase"] == "Ready"
            })
            .await;
    }
    let mut names: Vec<_> = world()
        .await
        .simulator
        .operations_in("kills")
        .into_iter()
        .map(|operation| operation.name)
        .collect();
    names.sort_unstable();
    let expected = names.len();
    names.dedup();
    assert_eq!(names.len(), expected, "a Task has more than one operation");
    assert_eq!(names.len(), usize::try_from(tasks).unwrap());
    println!(
        "{kills} kills, {lives_with_calls} of them after calls, {tasks} operations, {:?}",
        begun.elapsed()
    );
}
