//! Clients that read, list, watch and write Tasks all the while, and must not notice anything.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use http::{Method, Request};
use kube::api::{DynamicObject, WatchEvent};
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::world::{JSON, MERGE, World, asks_to_wait, manifest, tasks_path};

/// Their Tasks are in this namespace.
const NAMESPACE: &str = "default";

/// Between two rounds of a client, so that there is time for others on a small machine.
const PAUSE: Duration = Duration::from_millis(50);

/// A version of Task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V1alpha1,
}

impl Version {
    fn name(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1alpha1 => "v1alpha1",
        }
    }

    /// The spec, with something that the other version cannot say.
    fn spec(self, round: usize) -> Value {
        match self {
            Self::V1 => {
                json!({"replicas": 0, "port": 1000 + round, "env": {"A": round.to_string()},
                "operation": {"provider": "p", "timeout": "1.5s", "completion": "Hybrid", "parameters": {"n": [round]}}})
            }
            Self::V1alpha1 => {
                json!({"replicas": 0, "port": 1000 + round, "provider": "p", "timeoutSeconds": 90,
                "env": [{"name": "B", "value": "b"}, {"name": "A", "value": round.to_string()}]})
            }
        }
    }
}

pub struct Clients<'w> {
    world: &'w World,
    requests: AtomicUsize,
    /// How many changes the watches at v1 and at v1alpha1 were told of.
    watched: [AtomicUsize; 2],
    /// How many clients of v1alpha1 have gone.
    gone: AtomicUsize,
    faults: Mutex<Vec<String>>,
}

impl<'w> Clients<'w> {
    pub fn new(world: &'w World) -> Self {
        Self {
            world,
            requests: AtomicUsize::default(),
            watched: Default::default(),
            gone: AtomicUsize::default(),
            faults: Mutex::default(),
        }
    }

    /// Creates, changes, applies, reads and deletes Tasks at its version.
    pub async fn write(&self, version: Version, goes_on: &AtomicBool) {
        let name = format!("survivor-{}", version.name());
        self.apply(version, &name, 0).await;
        let mut round = 0;
        while goes_on.load(Ordering::Relaxed) {
            round = (round + 1) % 5000;
            let mayfly = format!("mayfly-{}-{round}", version.name());
            let task = manifest(version.name(), &mayfly, &version.spec(round));
            self.send(Method::POST, JSON, version, "", &task).await;
            self.apply(version, &name, round).await;
            for name in [&mayfly, &name] {
                let task = self
                    .send(
                        Method::GET,
                        JSON,
                        version,
                        &format!("/{name}"),
                        &Value::Null,
                    )
                    .await;
                self.must_be(version, &task, round);
            }
            let label = json!({"metadata": {"labels": {"round": round.to_string()}}});
            self.send(Method::PATCH, MERGE, version, &format!("/{mayfly}"), &label)
                .await;
            self.send(
                Method::DELETE,
                JSON,
                version,
                &format!("/{mayfly}"),
                &Value::Null,
            )
            .await;
            sleep(PAUSE).await;
        }
        self.gone(version);
    }

    async fn apply(&self, version: Version, name: &str, round: usize) {
        let place = format!("/{name}?fieldManager=client-{}", version.name());
        let task = manifest(version.name(), name, &version.spec(round));
        self.send(
            Method::PATCH,
            "application/apply-patch+yaml",
            version,
            &place,
            &task,
        )
        .await;
    }

    /// Lists all Tasks at its version.
    pub async fn list(&self, version: Version, goes_on: &AtomicBool) {
        while goes_on.load(Ordering::Relaxed) {
            self.send(Method::GET, JSON, version, "", &Value::Null)
                .await;
            sleep(PAUSE).await;
        }
        self.gone(version);
    }

    /// Watches all Tasks at its version, from where the last watch ended.
    pub async fn watch(&self, version: Version, goes_on: &AtomicBool) {
        let mut from = String::new();
        while goes_on.load(Ordering::Relaxed) {
            if from.is_empty() {
                let list = self
                    .send(Method::GET, JSON, version, "", &Value::Null)
                    .await;
                from = list["metadata"]["resourceVersion"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned();
            }
            let query = format!(
                "?watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion={from}"
            );
            self.requests.fetch_add(1, Ordering::Relaxed);
            let request =
                Request::get(tasks_path(version.name(), NAMESPACE, &query)).body(Vec::new());
            let events = self
                .world
                .client
                .request_events::<DynamicObject>(request.unwrap())
                .await;
            let mut events = match events {
                Ok(events) => Box::pin(events),
                Err(error) if asks_to_wait(&error) => {
                    sleep(Duration::from_secs(1)).await;
                    continue;
                }
                Err(error) => {
                    self.note(format!("a watch at {version:?}: {error}"));
                    continue;
                }
            };
            while let Some(event) = events.next().await {
                match event {
                    Ok(
                        WatchEvent::Added(task)
                        | WatchEvent::Modified(task)
                        | WatchEvent::Deleted(task),
                    ) => {
                        self.watched[version as usize].fetch_add(1, Ordering::Relaxed);
                        from = task.metadata.resource_version.unwrap_or_default();
                    }
                    Ok(WatchEvent::Bookmark(bookmark)) => from = bookmark.metadata.resource_version,
                    // Whoever is told so lists anew, as every client does.
                    Ok(WatchEvent::Error(status)) if status.code == 410 => from.clear(),
                    Ok(WatchEvent::Error(status)) => {
                        self.note(format!("a watch at {version:?} was told: {status}"))
                    }
                    Err(error) => self.note(format!("a watch at {version:?}: {error}")),
                }
            }
        }
        self.gone(version);
    }

    async fn send(
        &self,
        method: Method,
        content_type: &str,
        version: Version,
        place: &str,
        body: &Value,
    ) -> Value {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let path = tasks_path(version.name(), NAMESPACE, place);
        match self
            .world
            .send(method.clone(), content_type, &path, body)
            .await
        {
            Ok(answer) => answer,
            Err(error) => {
                self.note(format!("{method} {path}: {error}"));
                Value::Null
            }
        }
    }

    fn must_be(&self, version: Version, task: &Value, round: usize) {
        for (field, value) in version.spec(round).as_object().into_iter().flatten() {
            let found = &task["spec"][field];
            // Of an object there may be more: defaults.
            let is = value.as_object().map_or(found == value, |members| {
                members.iter().all(|(name, value)| found[name] == *value)
            });
            if !is {
                self.note(format!("{version:?}: {field} should be {value}: {task}"));
            }
        }
    }

    fn note(&self, fault: String) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.push(fault);
    }

    fn gone(&self, version: Version) {
        if version == Version::V1alpha1 {
            self.gone.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Whether no client of v1alpha1 is left.
    pub fn old_are_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed) == 3
    }

    /// Not one request may have failed.
    pub fn must_be_content(&self) {
        let faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        let requests = self.requests.load(Ordering::Relaxed);
        println!("{requests} requests");
        let first = &faults[..faults.len().min(5)];
        assert!(
            faults.is_empty(),
            "{} faults in {requests} requests: {first:#?}",
            faults.len()
        );
        assert!(requests > 200, "{requests}");
        for (watched, version) in self.watched.iter().zip(["v1", "v1alpha1"]) {
            assert!(watched.load(Ordering::Relaxed) > 0, "no watch at {version}");
        }
    }
}
