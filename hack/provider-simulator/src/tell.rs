//! When the operator is told how an operation stands.

use serde_json::Value;

use crate::{Shared, callbacks::Caller, script::Callbacks};

/// The operation of this id was just accepted: what it is to tell early is told when this returns.
pub async fn of_a_new_one(shared: &Shared, id: &str) {
    let found = {
        let mut ledger = shared.lock();
        let operation = ledger.find(id);
        operation.map(|operation| (operation.callbacks(), operation.takes()))
    };
    let Some((callbacks, takes)) = found.filter(|(callbacks, _)| *callbacks != Callbacks::Lost)
    else {
        return;
    };
    if callbacks == Callbacks::Early {
        now(shared, id).await;
    }
    let (shared, id) = (shared.clone(), id.to_owned());
    tokio::spawn(async move {
        tokio::time::sleep(takes).await;
        now(&shared, &id).await;
    });
}

/// The operation of this id has just come to its end.
pub fn of_an_end(shared: Shared, id: String) {
    tokio::spawn(async move { now(&shared, &id).await });
}

async fn now(shared: &Shared, id: &str) {
    let Some((caller, url, stands)) = message(shared, id) else {
        return;
    };
    let event = format!("{id}-{}", stands["status"].as_str().unwrap_or_default());
    caller
        .deliver(&url, &event, stands.to_string().as_bytes())
        .await;
}

/// What is told, where, and by whom; nothing where it is not asked for, or there is no news.
fn message(shared: &Shared, id: &str) -> Option<(Caller, String, Value)> {
    let mut ledger = shared.lock();
    let caller = ledger.caller.clone()?;
    let operation = ledger.find(id)?;
    let is_news = operation.status() != "Running" || operation.callbacks() == Callbacks::Early;
    let is_told = is_news && operation.callbacks() != Callbacks::Lost;
    let url = operation.callback_url().filter(|_| is_told)?;
    Some((caller, url, operation.stands()))
}
