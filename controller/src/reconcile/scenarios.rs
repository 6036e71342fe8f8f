//! Passes against an API server that is played: what goes wrong, and which requests it leads to.

use std::sync::{Arc, Mutex};

use axum::http::{Request, Response};
use http_body_util::BodyExt;
use k8s_openapi::api::core::v1::Service;
use kube::{
    Client,
    client::Body,
    runtime::{controller::Action, reflector::ObjectRef},
};
use serde_json::{Value, json};
use task_api_v1::Task;

use super::{Context, Error, Outcome, apply, build, observe::Caches, reconcile, retry_after};
use crate::{
    cache::Cache,
    fixtures::{rolled_out, stored, task},
    retry::{FIRST_WAIT_PASSING, Retries},
    watched::Watched,
};

/// What the API server does beside storing what it is sent.
#[derive(Clone, Copy)]
enum Scenario {
    /// Nothing: it stores.
    Healthy,
    /// A Service of the Task's name is there, of which the watch has not told, and this says whose.
    ServiceIsThere(Whose),
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
    fn answer(self, task: &Task, verb: &str, plural: &str, body: Value) -> (u16, Value) {
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
            (Self::ServiceIsRefused, "services") => status(403, "Forbidden"),
            (Self::ServiceIsInvalid, "services") => match verb {
                "GET" => (200, Whose::Ours.service(task)),
                _ => status(422, "Invalid"),
            },
            (Self::TaskIsGone, "tasks") => status(404, "NotFound"),
            (Self::StatusFails, "tasks") | (Self::AllFails, _) => status(500, "InternalError"),
            (_, "tasks") => {
                let mut written = json!(task);
                written["status"] = body["status"].clone();
                written["metadata"]["resourceVersion"] = json!("100");
                (200, written)
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

fn status(code: u16, reason: &str) -> (u16, Value) {
    let message = format!("the server says {reason}");
    let status = json!({ "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message });
    (code, status)
}

/// A client of an API server that plays the scenario, and the log of what it was asked.
fn played(scenario: Scenario, task: &Task) -> (Client, Log) {
    let log = Log::default();
    let (task, written) = (task.clone(), Arc::clone(&log));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (task, log) = (task.clone(), Arc::clone(&written));
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
                (Value::String(_), _) => " if absent",
                (_, Value::String(_)) => " if same",
                _ => "",
            };
            log.lock()
                .unwrap()
                .push(format!("{verb} {plural}{condition}"));
            let (code, answer) = scenario.answer(&task, &verb, plural, body);
            Response::builder()
                .status(code)
                .body(Body::from(answer.to_string().into_bytes()))
        }
    });
    (Client::new(service, "default"), log)
}

/// A controller that knows of the Task and of none of its children.
fn controller(scenario: Scenario, task: &Task) -> (Context, Log) {
    let (client, log) = played(scenario, task);
    let context = Context {
        client,
        caches: Caches {
            tasks: Cache::of([Watched(Ok(task.clone()))]),
            config_maps: Cache::of([]),
            services: Cache::of([]),
            deployments: Cache::of([]),
        },
        retries: Retries::default(),
    };
    (context, log)
}

async fn pass(context: &Context, task: &Task) -> Result<Outcome, Error> {
    reconcile(&Watched(Ok(task.clone())), context).await
}

fn taken(log: &Log) -> Vec<String> {
    std::mem::take(&mut *log.lock().unwrap())
}

const CREATED: [&str; 4] = [
    "PATCH configmaps if absent",
    "PATCH services if absent",
    "PATCH deployments if absent",
    "PATCH tasks if same",
];

#[tokio::test]
async fn a_new_task_costs_three_creations_and_a_status() {
    let task = task("web").build();
    let (context, log) = controller(Scenario::Healthy, &task);
    pass(&context, &task).await.unwrap();
    assert_eq!(taken(&log), CREATED);
}

#[tokio::test]
async fn a_second_pass_before_the_watch_tells_of_the_first_asks_for_nothing() {
    let task = task("web").build();
    let (context, log) = controller(Scenario::Healthy, &task);
    pass(&context, &task).await.unwrap();
    taken(&log);
    pass(&context, &task).await.unwrap();
    assert_eq!(taken(&log), [""; 0]);
}

#[tokio::test]
async fn a_task_at_rest_costs_nothing() {
    let task = task("web").build();
    let (mut context, log) = controller(Scenario::Healthy, &task);
    let children = build::children(&task).unwrap();
    context.caches.config_maps = Cache::of([stored(children.config_map)]);
    context.caches.services = Cache::of([stored(children.service)]);
    context.caches.deployments = Cache::of([rolled_out(stored(children.deployment), 1, 1, 1)]);
    pass(&context, &task).await.unwrap();
    assert_eq!(taken(&log), ["PATCH tasks if same"]);
    pass(&context, &task).await.unwrap();
    assert_eq!(taken(&log), [""; 0]);
}

#[tokio::test]
async fn a_foreign_object_that_no_watch_told_of_is_not_touched() {
    let task = task("web").build();
    let (context, log) = controller(Scenario::ServiceIsThere(Whose::Foreign), &task);
    let error = pass(&context, &task).await.unwrap_err();
    assert!(
        matches!(error, Error::Apply(apply::Error::Conflict { .. })),
        "{error}"
    );
    let expected = [
        "PATCH configmaps if absent",
        "PATCH services if absent",
        "GET services",
        "PATCH tasks if same",
    ];
    assert_eq!(taken(&log), expected);
}

#[tokio::test]
async fn a_child_that_no_watch_told_of_is_put_right() {
    let task = task("web").build();
    let (context, log) = controller(Scenario::ServiceIsThere(Whose::Ours), &task);
    pass(&context, &task).await.unwrap();
    assert_eq!(
        taken(&log)[1..4],
        [
            "PATCH services if absent",
            "GET services",
            "PATCH services if same"
        ]
    );
}

#[tokio::test]
async fn a_refused_child_is_not_asked_for_again_by_the_next_event() {
    let task = task("web").build();
    let (context, log) = controller(Scenario::ServiceIsRefused, &task);
    pass(&context, &task).await.unwrap_err();
    assert_eq!(
        taken(&log).last().map(String::as_str),
        Some("PATCH tasks if same")
    );
    pass(&context, &task).await.unwrap();
    assert_eq!(taken(&log), [""; 0]);
}

#[tokio::test]
async fn a_child_that_others_keep_changing_is_left_for_a_while() {
    let task = task("web").build();
    let (context, log) = controller(Scenario::ServiceIsContended, &task);
    let error = pass(&context, &task).await.unwrap_err();
    assert!(
        matches!(error, Error::Apply(apply::Error::Contended(_))),
        "{error}"
    );
    let writes = taken(&log)
        .iter()
        .filter(|request| request.starts_with("PATCH services"))
        .count();
    assert_eq!(writes, 4);
}

#[tokio::test]
async fn a_status_that_cannot_be_written_fails_the_pass_but_not_the_children() {
    let task = task("web").build();
    let (context, log) = controller(Scenario::StatusFails, &task);
    let error = pass(&context, &task).await.unwrap_err();
    assert!(matches!(error, Error::Status(_)), "{error}");
    assert_eq!(taken(&log), CREATED);
}

#[tokio::test]
async fn a_status_that_cannot_be_written_is_tried_again_later_each_time() {
    for task in [task("web").build(), task("web").needs_operation().build()] {
        let (context, _) = controller(Scenario::StatusFails, &task);
        let watched = Watched(Ok(task.clone()));
        let mut waits = Vec::new();
        for _ in 0..5 {
            pass(&context, &task).await.unwrap_err();
            waits.push(retry_after(&watched, &context));
            context.retries.come_due();
        }
        assert!(waits.is_sorted(), "{waits:?}");
        assert!(waits[4] >= 16 * FIRST_WAIT_PASSING, "{waits:?}");
    }
}

#[tokio::test]
async fn what_a_child_was_refused_for_is_not_hidden_by_a_status_that_cannot_be_written() {
    let task = task("web").build();
    let (context, _) = controller(Scenario::AllFails, &task);
    let error = pass(&context, &task).await.unwrap_err();
    assert!(matches!(error, Error::Apply(_)), "{error}");
}

#[tokio::test]
async fn a_refusal_that_others_are_not_to_blame_for_is_told_after_a_look() {
    let task = task("web").build();
    let (mut context, log) = controller(Scenario::ServiceIsInvalid, &task);
    let children = build::children(&task).unwrap();
    context.caches.config_maps = Cache::of([stored(children.config_map)]);
    context.caches.services = Cache::of([Service {
        spec: None,
        ..stored(children.service)
    }]);
    let error = pass(&context, &task).await.unwrap_err();
    assert!(
        matches!(error, Error::Apply(apply::Error::Request { .. })),
        "{error}"
    );
    assert_eq!(
        taken(&log),
        [
            "PATCH services if same",
            "GET services",
            "PATCH tasks if same"
        ]
    );
}

#[tokio::test]
async fn what_a_webhook_makes_of_a_child_is_not_put_right_again_by_each_event() {
    let task = task("web").build();
    let (context, log) = controller(Scenario::ImageIsReplaced, &task);
    pass(&context, &task).await.unwrap();
    assert_eq!(taken(&log), CREATED);
    for round in 0..3 {
        pass(&context, &task).await.unwrap();
        assert_eq!(taken(&log)[0], "PATCH deployments if same", "{round}");
        for _ in 0..3 {
            pass(&context, &task).await.unwrap();
        }
        let requests = taken(&log);
        assert!(
            requests
                .iter()
                .all(|request| request == "PATCH tasks if same")
                && requests.len() <= 1,
            "{requests:?}"
        );
        context.retries.come_due();
    }
    let told = context
        .caches
        .tasks
        .get(&ObjectRef::new("web").within("default"));
    let told = told
        .unwrap()
        .0
        .clone()
        .unwrap()
        .status
        .unwrap()
        .conditions
        .unwrap();
    assert!(
        told[0].message.ends_with(
            "others keep changing .spec.template.spec.containers[0].image of Deployment web"
        ),
        "{}",
        told[0].message
    );
}

#[tokio::test]
async fn of_a_task_that_is_being_deleted_only_the_status_says_so_once() {
    let mut task = task("web").build();
    task.metadata.deletion_timestamp = Some(crate::fixtures::at(1));
    let (context, log) = controller(Scenario::Healthy, &task);
    for requests in [&["PATCH tasks if same"][..], &[]] {
        let outcome = pass(&context, &task).await.unwrap();
        assert_eq!(outcome.action, Action::await_change());
        assert_eq!(taken(&log), requests);
    }
    let told = context
        .caches
        .tasks
        .get(&ObjectRef::new("web").within("default"));
    let told = told
        .unwrap()
        .0
        .clone()
        .unwrap()
        .status
        .unwrap()
        .conditions
        .unwrap();
    let told = (told[0].status.as_str(), told[0].reason.as_str());
    assert_eq!(told, ("False", "Deleting"));
}

#[tokio::test]
async fn a_task_that_is_gone_before_its_status_is_written_is_no_failure() {
    let mut task = task("web").build();
    task.metadata.deletion_timestamp = Some(crate::fixtures::at(1));
    let (context, _) = controller(Scenario::TaskIsGone, &task);
    assert_eq!(pass(&context, &task).await.unwrap(), Outcome::NOTHING);
}

#[tokio::test]
async fn a_task_whose_operation_has_not_succeeded_gets_no_children() {
    let task = task("web").needs_operation().build();
    let (context, log) = controller(Scenario::Healthy, &task);
    pass(&context, &task).await.unwrap();
    assert_eq!(taken(&log), ["PATCH tasks if same"]);
}

#[tokio::test]
async fn of_a_workload_that_an_operation_holds_back_the_pods_are_counted() {
    let task = task("web").needs_operation().build();
    let (mut context, log) = controller(Scenario::Healthy, &task);
    let deployment = stored(build::children(&task).unwrap().deployment);
    context.caches.deployments = Cache::of([rolled_out(deployment, 3, 3, 2)]);
    pass(&context, &task).await.unwrap();
    assert_eq!(taken(&log), ["PATCH tasks if same"]);
    let told = context
        .caches
        .tasks
        .get(&ObjectRef::new("web").within("default"));
    let told = told.unwrap().0.clone().unwrap().status.unwrap();
    assert_eq!((told.replicas, told.available_replicas), (Some(3), Some(2)));
}

/// A Task that the schema admits and that cannot be decoded, and its text as the API server has it.
fn undecodable() -> (Task, Watched) {
    let mut task = task("web").needs_operation().build();
    let deep = (0..130).fold(json!(1), |inner, _| json!([inner]));
    task.spec.operation.as_mut().unwrap().parameters =
        Some([("a".to_owned(), deep)].into_iter().collect());
    let watched = serde_json::from_str(&json!(task).to_string()).unwrap();
    (task, watched)
}

#[tokio::test]
async fn a_task_that_cannot_be_decoded_is_told_so_once_and_its_children_are_left_alone() {
    let (task, watched) = undecodable();
    let (mut context, log) = controller(Scenario::Healthy, &task);
    context.caches.tasks = Cache::of([watched.clone()]);
    let outcome = reconcile(&watched, &context).await.unwrap();
    assert_eq!(outcome.action, Action::await_change());
    assert_eq!(taken(&log), ["PATCH tasks if same"]);
    let written = context.caches.tasks.get(&ObjectRef::from_obj(&watched));
    let Watched(Err(written)) = &*written.unwrap() else {
        panic!("decoded");
    };
    let status = written.status.clone().unwrap();
    let stalled = &status.conditions.unwrap()[2];
    assert_eq!(
        (stalled.type_.as_str(), stalled.status.as_str()),
        ("Stalled", "True")
    );
    assert!(
        stalled.message.contains("recursion limit exceeded"),
        "{}",
        stalled.message
    );
    reconcile(&watched, &context).await.unwrap();
    assert_eq!(taken(&log), [""; 0]);
}
