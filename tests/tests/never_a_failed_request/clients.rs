//! Clients that read and write Tasks for as long as they are let.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use http::{Method, Request};
use kube::api::{DynamicObject, WatchEvent};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::tasks::{
    APPLY, JSON, MERGE, Requests, V1, V1alpha1, Version, manifest, path, spec, status,
};

/// Between two rounds of a client, so that there is time for others on a small machine.
const PAUSE: Duration = Duration::from_millis(20);

/// A Task that was written by a writer, as it must be at the end.
pub struct Survivor {
    pub home: Version,
    pub name: String,
    pub replicas: usize,
    pub port: usize,
}

/// Writes at its `home` version and at the other in turn: one Task that stays, and many that come and go.
pub async fn write(
    requests: &Requests,
    home: Version,
    name: &str,
    goes_on: &AtomicBool,
) -> Survivor {
    let mut survivor = Survivor {
        home,
        name: format!("survivor-{name}"),
        replicas: 1,
        port: 1000,
    };
    create(requests, &survivor).await;
    let mut round = 0;
    while goes_on.load(Ordering::Relaxed) {
        round += 1;
        let mut mayfly = Survivor {
            home,
            name: format!("mayfly-{name}-{round}"),
            replicas: 1,
            port: 1000,
        };
        create(requests, &mayfly).await;
        for task in [&mut mayfly, &mut survivor] {
            change(requests, task, round).await;
            requests
                .compare(home, &task.name, task.replicas, task.port)
                .await;
        }
        let version = if round % 2 == 0 { home } else { home.other() };
        let place = format!("/{}", mayfly.name);
        requests
            .send(Method::DELETE, JSON, version, &place, &Value::Null)
            .await;
        sleep(PAUSE).await;
    }
    survivor
}

async fn create(requests: &Requests, task: &Survivor) {
    let (home, name) = (task.home, &task.name);
    let task = manifest(home, name, &spec(home, home, task.replicas, task.port));
    requests.send(Method::POST, JSON, home, "", &task).await;
    let place = format!("/{name}/status");
    let patch = json!({"status": status()});
    requests
        .send(Method::PATCH, MERGE, V1, &place, &patch)
        .await;
}

/// Patches at the version that is not the Task's own, and applies at its own.
async fn change(requests: &Requests, task: &mut Survivor, round: usize) {
    let place = format!("/{}", task.name);
    let other = task.home.other();
    task.port = 1000 + round;
    let patch = json!({"spec": {"port": task.port}});
    requests
        .send(Method::PATCH, MERGE, other, &place, &patch)
        .await;
    let patch = json!({"status": {"lastAsyncOperationID": status()["lastAsyncOperationID"]}});
    let place_of_status = format!("{place}/status");
    requests
        .send(Method::PATCH, MERGE, other, &place_of_status, &patch)
        .await;
    task.replicas = round % 100;
    let applied = manifest(task.home, &task.name, &json!({"replicas": task.replicas}));
    let place = format!("{place}?fieldManager=test&force=true");
    requests
        .send(Method::PATCH, APPLY, task.home, &place, &applied)
        .await;
}

/// Lists all Tasks at a version again and again.
pub async fn list(requests: &Requests, version: Version, goes_on: &AtomicBool) {
    while goes_on.load(Ordering::Relaxed) {
        let list = requests.get(version, "").await;
        for task in list["items"].as_array().into_iter().flatten() {
            complain(requests, version, task);
        }
        sleep(PAUSE).await;
    }
}

/// The newest specs that a watch has shown, by name.
pub type Seen = Mutex<BTreeMap<String, Value>>;

/// Watches all Tasks at a version, from the first event on, until it is cancelled.
pub async fn watch(requests: &Requests, version: Version, seen: &Seen) {
    let mut resource_version = String::from("0");
    loop {
        let query = format!(
            "?watch=true&allowWatchBookmarks=true&timeoutSeconds=20&resourceVersion={resource_version}"
        );
        let request = Request::get(path(version, &query))
            .body(Vec::new())
            .unwrap();
        let events = requests
            .client
            .request_events::<DynamicObject>(request)
            .await;
        let events = match events {
            Ok(events) => events,
            Err(error) => return requests.note(format!("a watch at {version}: {error}")),
        };
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(WatchEvent::Added(task) | WatchEvent::Modified(task)) => {
                    resource_version = task.metadata.resource_version.clone().unwrap_or_default();
                    let name = task.metadata.name.clone().unwrap_or_default();
                    complain(requests, version, &json!(task));
                    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                    seen.insert(name, task.data["spec"].clone());
                }
                Ok(WatchEvent::Deleted(task)) => {
                    resource_version = task.metadata.resource_version.unwrap_or_default();
                }
                Ok(WatchEvent::Bookmark(bookmark)) => {
                    resource_version = bookmark.metadata.resource_version;
                }
                Ok(WatchEvent::Error(status)) => {
                    return requests.note(format!("a watch at {version} was told: {status:?}"));
                }
                Err(error) => return requests.note(format!("a watch at {version}: {error}")),
            }
        }
    }
}

/// Notes it where a Task that was read lacks something that all have.
fn complain(requests: &Requests, version: Version, task: &Value) {
    let name = task["metadata"]["name"].as_str().unwrap_or_default();
    let numbers = ["replicas", "port"].map(|field| task["spec"][field].as_u64());
    let [Some(replicas), Some(port)] = numbers.map(|n| n.and_then(|n| usize::try_from(n).ok()))
    else {
        return requests.note(format!("{name} at {version}: {task}"));
    };
    let is_whole = [V1, V1alpha1]
        .into_iter()
        .any(|home| task["spec"] == spec(home, version, replicas, port));
    if !is_whole {
        requests.note(format!("{name} at {version}: {task}"));
    }
}
