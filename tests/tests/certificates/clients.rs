//! Clients that read and write Tasks at both versions without a pause.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, Error};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::world::resource;

const NAMESPACE: &str = "default";

const PAUSE: Duration = Duration::from_millis(50);

/// How often a request is sent again where the API server asks for that, as every client of Kubernetes does.
const TRIES: usize = 10;

/// The clients, at work.
pub struct Clients {
    shared: Arc<Shared>,
    clients: JoinSet<()>,
}

/// What became of the requests.
#[derive(Debug)]
pub struct Outcome {
    /// How many there were.
    pub requests: usize,
    /// How many of them the API server asked to send again: it does while a kind's storage is set up anew.
    pub again: usize,
    /// What went wrong, and when.
    pub failures: Vec<String>,
}

struct Shared {
    start: Instant,
    stop: AtomicBool,
    requests: AtomicUsize,
    again: AtomicUsize,
    failures: Mutex<Vec<String>>,
}

impl Clients {
    /// Starts so many, each with a Task of its own.
    pub fn start(client: &Client, count: usize) -> Self {
        let shared = Arc::new(Shared {
            start: Instant::now(),
            stop: AtomicBool::default(),
            requests: AtomicUsize::default(),
            again: AtomicUsize::default(),
            failures: Mutex::default(),
        });
        let mut clients = JoinSet::new();
        for number in 0..count {
            let name = format!("client-{number}");
            clients.spawn(live(client.clone(), name, Arc::clone(&shared)));
        }
        Self { shared, clients }
    }

    /// Ends them and tells how it went.
    pub async fn stop(mut self) -> Outcome {
        self.shared.stop.store(true, Ordering::Relaxed);
        while let Some(ended) = self.clients.join_next().await {
            ended.unwrap();
        }
        let failures = self.shared.failures.lock();
        Outcome {
            requests: self.shared.requests.load(Ordering::Relaxed),
            again: self.shared.again.load(Ordering::Relaxed),
            failures: failures.unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }
}

/// A request for one client's Task.
enum Ask<'a> {
    Create(&'a DynamicObject),
    Patch(&'a Patch<Value>),
    Get,
    List,
}

impl Ask<'_> {
    /// Sends it; the Task as it then is, where the answer tells it.
    async fn send(
        &self,
        tasks: &Api<DynamicObject>,
        name: &str,
    ) -> Result<Option<DynamicObject>, Error> {
        match self {
            Self::Create(task) => tasks.create(&PostParams::default(), task).await.map(Some),
            Self::Patch(patch) => {
                let params = PatchParams::default();
                tasks.patch(name, &params, patch).await.map(Some)
            }
            Self::Get => tasks.get(name).await.map(Some),
            Self::List => tasks.list(&ListParams::default()).await.map(|_| None),
        }
    }
}

impl Shared {
    async fn request(
        &self,
        tasks: &Api<DynamicObject>,
        name: &str,
        ask: Ask<'_>,
    ) -> Option<DynamicObject> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut result = ask.send(tasks, name).await;
        for _ in 1..TRIES {
            match &result {
                Err(Error::Api(status)) if status.code == 429 => {}
                _ => break,
            }
            self.again.fetch_add(1, Ordering::Relaxed);
            sleep(Duration::from_secs(1)).await;
            result = ask.send(tasks, name).await;
        }
        result.unwrap_or_else(|error| {
            self.fail(format!("{}: {error:?}", tasks.resource_url()));
            None
        })
    }

    fn fail(&self, what: String) {
        let at = self.start.elapsed().as_secs_f64();
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        failures.push(format!("at {at:.1} s: {what}"));
    }
}

async fn live(client: Client, name: String, shared: Arc<Shared>) {
    let tasks = |version: &str| -> Api<DynamicObject> {
        let resource = resource(&format!("task.example.io/{version}"), "Task");
        Api::namespaced_with(client.clone(), NAMESPACE, &resource)
    };
    let (new, old) = (tasks("v1"), tasks("v1alpha1"));
    let created: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": name},
        "spec": {"image": "a:1", "env": {"A": "1"}, "operation": {"provider": "p", "completion": "Callback", "timeout": "1.5s"}},
    }))
    .unwrap();
    shared.request(&new, &name, Ask::Create(&created)).await;
    let mut replicas = 0;
    while !shared.stop.load(Ordering::Relaxed) {
        replicas = (replicas + 1) % 100;
        let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        let writer = if replicas % 2 == 0 { &new } else { &old };
        shared.request(writer, &name, Ask::Patch(&patch)).await;
        let at_new = shared.request(&new, &name, Ask::Get).await;
        let at_old = shared.request(&old, &name, Ask::Get).await;
        for (read, expected) in [
            (
                at_new,
                json!([replicas, {"provider": "p", "completion": "Callback", "timeout": "1.5s"}, null]),
            ),
            (at_old, json!([replicas, null, 2])),
        ] {
            let Some(read) = read else { continue };
            let spec: &Value = &read.data["spec"];
            let found = json!([spec["replicas"], spec["operation"], spec["timeoutSeconds"]]);
            if found != expected {
                shared.fail(format!("a field was lost: {found} is not {expected}"));
            }
        }
        shared.request(&old, &name, Ask::List).await;
        sleep(PAUSE).await;
    }
}
