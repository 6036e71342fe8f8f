//! When the operator is told how an operation stands, and by which ways.

use std::time::Duration;

use operation_signals::{event::Event, nats};
use serde_json::Value;

use crate::{Shared, ledger::Operation, script::Callbacks};

/// Who made the events.
const SOURCE: &str = "//simulator.example";

/// How often an event is published that is not known to be kept, and the pause between.
const TRIES: u32 = 240;
const PAUSE: Duration = Duration::from_millis(500);

/// The operation of this id was just accepted: what it is to tell early is told when this returns.
pub async fn of_a_new_one(shared: &Shared, id: &str) {
    let found = {
        let mut ledger = shared.lock();
        let operation = ledger.find(id);
        operation.map(|operation| (operation.callbacks(), operation.takes()))
    };
    let Some((callbacks, takes)) = found else {
        return;
    };
    if callbacks == Callbacks::Early {
        by_callback(shared, id).await;
    }
    let (shared, id) = (shared.clone(), id.to_owned());
    tokio::spawn(async move {
        tokio::time::sleep(takes).await;
        at_the_end(shared, id);
    });
}

/// The operation of this id may just have come to its end.
pub fn at_the_end(shared: Shared, id: String) {
    tokio::spawn(async move {
        let is_over = |operation: &mut Operation| operation.status() != "Running";
        if shared.lock().find(&id).is_some_and(is_over) {
            tokio::join!(by_callback(&shared, &id), by_event(&shared, &id));
        }
    });
}

async fn by_callback(shared: &Shared, id: &str) {
    let message = {
        let mut ledger = shared.lock();
        let caller = ledger.caller.clone();
        let operation = ledger.find(id);
        let operation = operation.filter(|operation| operation.callbacks() != Callbacks::Lost);
        operation
            .and_then(|operation| Some((caller?, operation.callback_url()?, operation.stands())))
    };
    if let Some((caller, url, stands)) = message {
        let body = stands.to_string();
        caller
            .deliver(&url, &event_id(id, &stands), body.as_bytes())
            .await;
    }
}

async fn by_event(shared: &Shared, id: &str) {
    let message = {
        let mut ledger = shared.lock();
        let queue = ledger.queue.clone();
        let operation = ledger.find(id).filter(|operation| operation.has_events());
        operation.and_then(|operation| Some((queue?, operation.stands())))
    };
    let Some((queue, stands)) = message else {
        return;
    };
    // It is made of text and JSON.
    let Ok(event) = Event::new(SOURCE, &event_id(id, &stands), id, &stands) else {
        return;
    };
    for _ in 0..TRIES {
        if nats::publish(&queue, &event).await.is_ok() {
            return;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

fn event_id(id: &str, stands: &Value) -> String {
    format!("{id}-{}", stands["status"].as_str().unwrap_or_default())
}
