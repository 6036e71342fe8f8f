//! Reviews as the API server sends them, and what is answered.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use task_conversion::admission::{Answer, mutate, validate};
use task_conversion::json::Scanner;
use task_conversion::task::TASK;
use task_conversion::{Events, TOTAL_LIMIT};

pub const UID: &str = "0c9a8d74-9cb7-44dd-b98e-09fd62def2f4";

/// A review as the API server sends one.
pub fn review(operation: &str, object: Value, old: Value) -> Value {
    let name = [&object, &old].map(|object| object["metadata"]["name"].clone());
    let name = name.into_iter().find(Value::is_string);
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": UID,
            "kind": {"group": "task.example.io", "version": "v1", "kind": "Task"},
            "resource": {"group": "task.example.io", "version": "v1", "resource": "tasks"},
            "requestKind": {"group": "task.example.io", "version": "v1", "kind": "Task"},
            "requestResource": {"group": "task.example.io", "version": "v1", "resource": "tasks"},
            "name": name.unwrap_or_else(|| json!("")),
            "namespace": "default",
            "operation": operation,
            "userInfo": {"username": "jane"},
            "object": object,
            "oldObject": old,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    })
}

pub fn task(spec: Value) -> Value {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "web"}, "spec": spec})
}

pub fn create(spec: Value) -> Value {
    review("CREATE", task(spec), Value::Null)
}

pub fn update(object: Value, old: Value) -> Value {
    review("UPDATE", object, old)
}

/// The same request, made by a client that uses v1alpha1.
pub fn by_v1alpha1(mut review: Value) -> Value {
    for name in ["requestKind", "requestResource"] {
        review["request"][name]["version"] = json!("v1alpha1");
    }
    review
}

pub fn on(subresource: &str, mut review: Value) -> Value {
    review["request"]["subResource"] = json!(subresource);
    review["request"]["requestSubResource"] = json!(subresource);
    review
}

/// The response in an answer, which must be one that the API server takes.
pub fn response(answer: &Answer) -> Value {
    assert_eq!(answer.http_status, 200);
    let mut review: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(review["kind"], "AdmissionReview");
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(review["response"]["uid"], UID);
    assert_eq!(
        review["response"]["patch"].is_null(),
        review["response"]["patchType"].is_null()
    );
    review["response"].take()
}

pub fn validated(review: &Value) -> Value {
    response(&validate(review.to_string().as_bytes()))
}

/// The object of a review as [`mutate`] makes it, and whether that took a patch.
pub fn mutated(review: &Value) -> (Value, bool) {
    let response = response(&mutate(review.to_string().as_bytes()));
    assert_eq!(response["allowed"], true);
    let mut object = review["request"]["object"].clone();
    let Some(patch) = response["patch"].as_str() else {
        return (object, false);
    };
    assert_eq!(response["patchType"], "JSONPatch");
    let patch: json_patch::Patch =
        serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    (object, true)
}

/// An object as a client of v1alpha1 writes it back: what it sees, and the annotations only if it keeps them.
pub fn written_at_v1alpha1(
    task: &Value,
    keeps_annotations: bool,
    edit: impl Fn(&mut Value),
) -> Value {
    let mut shown = converted(task, "v1alpha1");
    if !keeps_annotations {
        shown["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
    }
    edit(&mut shown);
    converted(&shown, "v1")
}

pub fn converted(object: &Value, version: &'static str) -> Value {
    let text = object.to_string();
    let mut node = TASK.read(&mut Scanner::new(&text)).unwrap();
    TASK.convert(&mut node, version, &mut Events::new())
        .unwrap();
    serde_json::from_str(&node.text()).unwrap()
}

pub fn warnings(review: &Value) -> Vec<String> {
    let response = validated(review);
    assert_eq!(response["allowed"], true, "{response}");
    serde_json::from_value(response["warnings"].clone()).unwrap_or_default()
}

pub fn messages(review: &Value) -> Vec<String> {
    let response = validated(review);
    assert_eq!(response["allowed"], false, "{response}");
    let causes = response["status"]["details"]["causes"]
        .as_array()
        .unwrap()
        .clone();
    let text = |cause: Value| {
        format!(
            "{}: {}",
            cause["field"].as_str().unwrap(),
            cause["message"].as_str().unwrap()
        )
    };
    causes.into_iter().map(text).collect()
}

/// A Task whose v1alpha1 form has no room for what only v1 can show.
pub fn crowded(spec: Value) -> Value {
    let mut task = task(spec);
    task["metadata"]["annotations"] = json!({"a": "x".repeat(TOTAL_LIMIT - 60)});
    task
}

/// The same as a client of v1alpha1 makes the API server show it: with the mark that something was left out.
pub fn marked(task: &Value) -> Value {
    let mut task = task.clone();
    task["metadata"]["annotations"] =
        json!({"task.example.io/v1alpha1": r#"{"unread":{"omitted":true}}"#});
    task
}

pub fn exact() -> Value {
    json!({"image": "a:1", "operation": {"provider": "p", "completion": "Queue", "timeout": "1.5s"}})
}

pub fn scale(replicas: i32) -> Value {
    let scale = |replicas: i32| json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "web"}, "spec": {"replicas": replicas}});
    let mut review = on("scale", update(scale(replicas), scale(1)));
    review["request"]["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
    review["request"]["requestKind"] = review["request"]["kind"].clone();
    review
}
