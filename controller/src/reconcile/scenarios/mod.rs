//! Passes against an API server that is played: what goes wrong, and which requests it leads to.

use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use futures::FutureExt;
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Service;
use kube::{
    Client, Resource, ResourceExt,
    client::Body,
    runtime::{controller::Action, reflector::ObjectRef},
};
use serde::Serialize;
use serde_json::{Value, json};
use task_api_v1::{Task, TaskStatus};

use super::{
    Context, Error, Outcome, Rests, apply, build, observe::Caches, reconcile, retry_after,
};
use crate::{
    cache::Cache,
    events::{self, Events, Notes},
    fixtures::{rolled_out, stored, task},
    metrics::Metrics,
    operations::{driver::Operations, providers::registry::Registry, signals::Ways},
    retry::{FIRST_WAIT_PASSING, Retries},
    shards::{Identity, Replica},
    stored::Stored,
    watched::Watched,
    work_queue::Limits,
};

mod children;
mod lifetime;
mod status;
mod undecodable;

/// What the API server does beside storing what it is sent.
#[derive(Clone, Copy)]
enum Scenario {
    /// Nothing: it stores.
    Healthy,
    /// A Service of the Task's name is there, of which the watch has not told, and this says whose.
    ServiceIsThere(Whose),
    /// The API server has trouble with the Service.
    ServiceFails,
    /// The Service is refused by a quota.
    ServiceIsRefused,
    /// The Service is changed by others all the time.
    ServiceIsContended,
    /// The Service is refused as invalid, for no reason that others are to blame for.
    ServiceIsInvalid,
    /// The image of the Deployment is replaced by a webhook.
    ImageIsReplaced,
    /// The Task is gone.
    TaskIsGone,
    /// Somebody else has put a finalizer on the Task, of which the watch has not told.
    TaskIsChanged,
    /// The Task was deleted and created again, of which the watch has not told.
    TaskIsReplaced,
    /// No finalizer can be put on or taken off.
    FinalizerIsRefused,
    /// The status cannot be written.
    StatusFails,
    /// Nothing can be written.
    AllFails,
}

#[derive(Clone, Copy)]
enum Whose {
    Ours,
    Foreign,
}

/// A request, in short: the verb and the kind, and what must hold for a write.
type Log = Arc<Mutex<Vec<String>>>;

impl Scenario {
    /// The answer to a request, with its code.
    fn answer(self, task: &mut Task, verb: &str, plural: &str, body: Value) -> (u16, Value) {
        let creates = body["metadata"]["resourceVersion"] == "1";
        match (self, plural) {
            (Self::ServiceIsThere(whose), "services") => match verb {
                "GET" => (200, whose.service(task)),
                _ if creates => status(409, "Conflict"),
                _ => (200, body),
            },
            (Self::ServiceIsContended, "services") => match verb {
                "GET" => (200, Whose::Ours.service(task)),
                _ => status(409, "Conflict"),
            },
            (Self::ServiceFails, "services") => status(500, "InternalError"),
            (Self::ServiceIsRefused, "services") => status(403, "Forbidden"),
            (Self::ServiceIsInvalid, "services") => match verb {
                "GET" => (200, Whose::Ours.service(task)),
                _ => status(422, "Invalid"),
            },
            (Self::TaskIsGone, "tasks") => status(404, "NotFound"),
            (Self::StatusFails, "tasks") | (Self::AllFails, _) => status(500, "InternalError"),
            (Self::TaskIsChanged | Self::TaskIsReplaced, "tasks") if verb == "GET" => {
                (200, json!(task))
            }
            (Self::TaskIsReplaced, "tasks") if !body.is_array() => status(409, "Conflict"),
            (Self::FinalizerIsRefused, "tasks") if body.is_array() => status(403, "Forbidden"),
            (_, "tasks") if body.is_array() => patched(task, body),
            (_, "tasks") => {
                task.status = serde_json::from_value(body["status"].clone()).unwrap();
                stored_anew(task)
            }
            _ => {
                let mut written = body;
                written["metadata"]["resourceVersion"] = json!("100");
                written["metadata"]["uid"] = json!("uid-of-child");
                if matches!(self, Self::ImageIsReplaced) && plural == "deployments" {
                    written["spec"]["template"]["spec"]["containers"][0]["image"] =
                        json!("mirror/image");
                }
                (201, written)
            }
        }
    }
}

impl Whose {
    /// The Service that is there, as somebody else left it.
    fn service(self, task: &Task) -> Value {
        let mut service: Service = stored(build::children(task).unwrap().service);
        service.spec = None;
        if matches!(self, Self::Foreign) {
            service.metadata.owner_references = None;
        }
        json!(service)
    }
}

/// The answer to a JSON Patch of a Task.
fn patched(task: &mut Task, patch: Value) -> (u16, Value) {
    let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
    let mut written = json!(task);
    // Unlike the API server, it does not take what is absent for null.
    if task.metadata.finalizers.is_none() {
        written["metadata"]["finalizers"] = Value::Null;
    }
    if json_patch::patch(&mut written, &patch).is_err() {
        return status(422, "");
    }
    *task = serde_json::from_value(written).unwrap();
    stored_anew(task)
}

fn stored_anew(task: &mut Task) -> (u16, Value) {
    let version: u64 = task.resource_version().unwrap().parse().unwrap();
    task.metadata.resource_version = Some((version + 1).to_string());
    (200, json!(task))
}

fn status(code: u16, reason: &str) -> (u16, Value) {
    let message = format!("the server says {reason}");
    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message });
    (code, status)
}

/// A client of an API server that plays the scenario, and the log of what it was asked.
fn played(scenario: Scenario, task: &Task) -> (Client, Log) {
    let log = Log::default();
    let mut task = task.clone();
    match scenario {
        Scenario::TaskIsChanged => {
            let finalizers = task.metadata.finalizers.get_or_insert_default();
            finalizers.push("example.com/theirs".to_owned());
        }
        Scenario::TaskIsReplaced => task.metadata.uid = Some("another".to_owned()),
        _ => {}
    }
    let (task, written) = (Arc::new(Mutex::new(task)), Arc::clone(&log));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (task, log) = (Arc::clone(&task), Arc::clone(&written));
        async move {
            let verb = request.method().to_string();
            let plural = request.uri().path().split('/').rev().find_map(|part| {
                ["tasks", "services", "configmaps", "deployments"]
                    .into_iter()
                    .find(|plural| *plural == part)
            });
            let plural = plural.unwrap();
            let bytes = request.into_body().collect().await.unwrap().to_bytes();
            let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
            let metadata = &body["metadata"];
            let condition = match (&metadata["resourceVersion"], &metadata["uid"]) {
                _ if body.is_array() => " by JSON patch",
                (Value::String(_), Value::String(_)) => " if same",
                (Value::String(_), _) => " if absent",
                _ => "",
            };
            log.lock()
                .unwrap()
                .push(format!("{verb} {plural}{condition}"));
            let (code, answer) = scenario.answer(&mut task.lock().unwrap(), &verb, plural, body);
            Response::builder()
                .status(code)
                .body(Body::from(answer.to_string().into_bytes()))
        }
    });
    (Client::new(service, "default"), log)
}

/// A controller, the API server that it talks to, and what came of it.
struct World {
    context: Context,
    log: Log,
    notes: Notes,
}

/// Operations that get no turn, as when the controller is about to stop.
fn operations(tasks: &Arc<Cache<Watched>>, events: &Events) -> Arc<Operations> {
    let limits = Limits {
        workers: 1,
        queue_size: 1,
    };
    let (operations, _woken) = Operations::new(
        Replica::new(Identity::drawn(), 1).0.shards(),
        Arc::clone(tasks),
        Registry::default(),
        limits,
        events.clone(),
        Metrics::new(false).operations(),
        Ways::default(),
    );
    // It stops when it is first polled.
    let _ = operations.queue.drain().now_or_never();
    operations
}

/// A controller that knows of the Task and of none of its children.
fn controller(scenario: Scenario, task: &Task) -> World {
    let (client, log) = played(scenario, task);
    let (events, notes) = events::channel();
    let tasks = Cache::of([Watched(Ok(task.clone()))]);
    let operations = operations(&tasks, &events);
    let context = Context {
        client,
        caches: Caches {
            tasks,
            config_maps: Cache::of([]),
            services: Cache::of([]),
            deployments: Cache::of([]),
        },
        retries: Retries::default(),
        events,
        operations,
        rests: Rests::default(),
        metrics: Arc::new(Metrics::new(false)),
    };
    World {
        context,
        log,
        notes,
    }
}

/// A cache that holds this child.
fn known<K>(child: &K) -> Arc<Cache<Stored<K>>>
where
    K: Resource<DynamicType = ()> + Clone + Serialize + 'static,
{
    Cache::of([Stored::of(child)])
}

impl World {
    async fn pass(&self, task: &Task) -> Result<Outcome, Error> {
        reconcile(
            &ObjectRef::from_obj(task).into_kind_unchecked(()),
            &self.context,
        )
        .await
    }

    /// The requests since this was last asked.
    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut *self.log.lock().unwrap())
    }

    /// The Events since this was last asked.
    fn events(&mut self) -> Vec<&'static str> {
        self.notes.reasons()
    }

    /// The status of the Task `web`.
    fn status(&self) -> TaskStatus {
        let key = ObjectRef::new("web").within("default");
        let task = self.context.caches.tasks.get(&key).unwrap();
        task.0.clone().unwrap().status.unwrap()
    }
}

const CREATED: [&str; 4] = [
    "PATCH configmaps if absent",
    "PATCH services if absent",
    "PATCH deployments if absent",
    "PATCH tasks if same",
];
