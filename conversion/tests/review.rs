//! Answers to ConversionReviews.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use serde_json::{Value, json};
use task_conversion::review::answer;
use task_conversion::task::TASK;

fn review(request: Value) -> Value {
    json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "request": request,
        "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}}})
}

fn answered(body: &str) -> Value {
    serde_json::from_str(&answer(&TASK, body.as_bytes()).body).unwrap()
}

fn message(body: &Value) -> String {
    let answer = answered(&body.to_string());
    assert_eq!(answer["response"]["result"]["status"], "Failure");
    assert_eq!(answer["response"]["convertedObjects"], json!([]));
    answer["response"]["result"]["message"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn task(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"namespace": "n", "name": name}, "spec": spec})
}

#[test]
fn objects_come_back_in_order_with_the_uid_of_the_request() {
    let answer = answered(
        &review(
            json!({"uid": "u1", "desiredAPIVersion": "task.example.io/v1alpha1",
            "objects": [task("a", json!({})), task("b", json!({}))]}),
        )
        .to_string(),
    );
    assert_eq!(answer["response"]["uid"], "u1");
    assert_eq!(answer["response"]["result"], json!({"status": "Success"}));
    let names: Vec<_> = answer["response"]["convertedObjects"]
        .as_array()
        .unwrap()
        .iter()
        .map(|object| {
            (
                object["apiVersion"].clone(),
                object["metadata"]["name"].clone(),
            )
        })
        .collect();
    assert_eq!(
        names,
        [
            ("task.example.io/v1alpha1".into(), "a".into()),
            ("task.example.io/v1alpha1".into(), "b".into())
        ]
    );
}

#[test]
fn the_members_of_a_request_may_come_in_any_order() {
    let body = r#"{"request":{"objects":[{"kind":"Task","apiVersion":"task.example.io/v1"}],
        "desiredAPIVersion":"task.example.io/v1alpha1","uid":"u"},"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"ConversionReview"}"#;
    let answer = answered(body);
    assert_eq!(answer["apiVersion"], "apiextensions.k8s.io/v1beta1");
    assert_eq!(
        answer["response"]["convertedObjects"][0]["apiVersion"],
        "task.example.io/v1alpha1"
    );
}

#[test]
fn no_objects_are_a_success() {
    for objects in [json!([]), json!(null)] {
        let body = review(
            json!({"uid": "u", "desiredAPIVersion": "task.example.io/v1", "objects": objects}),
        );
        assert_eq!(
            answered(&body.to_string())["response"]["result"]["status"],
            "Success"
        );
    }
}

#[test]
fn every_bad_object_is_named_with_its_place_and_both_versions() {
    let body = review(
        json!({"uid": "u", "desiredAPIVersion": "task.example.io/v1alpha1", "objects": [
            task("good", json!({})),
            task("bad", json!({"env": [1]})),
            {"apiVersion": "task.example.io/v1", "kind": "TaskList", "metadata": {}, "items": []},
            task("worse", json!("text")),
        ]}),
    );
    assert_eq!(
        message(&body),
        "objects[1] n/bad: cannot convert from task.example.io/v1 to task.example.io/v1alpha1: /spec/env: expected an object, found array; \
         objects[2] (no name): cannot convert from task.example.io/v1 to task.example.io/v1alpha1: /kind: expected Task, found \"TaskList\"; \
         objects[3] n/worse: cannot convert from task.example.io/v1 to task.example.io/v1alpha1: /spec: expected an object, found string"
    );
}

#[test]
fn only_the_first_bad_objects_are_named() {
    let objects: Vec<_> = (0..3000)
        .map(|index| task(&format!("t{index}"), json!(1)))
        .collect();
    let message = message(&review(
        json!({"uid": "u", "desiredAPIVersion": "task.example.io/v1alpha1", "objects": objects}),
    ));
    assert!(message.ends_with("; and 2990 more"), "{message}");
}

#[test]
fn what_is_no_review_is_told_so_on_one_line() {
    for (body, start) in [
        (json!([]), "the body is no ConversionReview"),
        (
            json!({"kind": "Review\nx", "apiVersion": "apiextensions.k8s.io/v1"}),
            "kind: expected ConversionReview",
        ),
        (
            json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v2"}),
            "apiVersion: expected",
        ),
        (
            json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1"}),
            "request: expected an object, found nothing",
        ),
        (
            review(json!({"uid": "u"})),
            "request.desiredAPIVersion: expected a string, found nothing",
        ),
        (
            review(json!({"uid": "u", "desiredAPIVersion": "task.example.io/v2", "objects": []})),
            "request.desiredAPIVersion: unknown version",
        ),
        (
            review(json!({"uid": "u", "desiredAPIVersion": "task.example.io/v1", "objects": 1})),
            "request.objects: expected an array",
        ),
    ] {
        let message = message(&body);
        assert!(
            message.starts_with(start) && !message.contains('\n'),
            "{message}"
        );
    }
}

#[test]
fn a_broken_body_still_gets_the_uid_that_could_be_read() {
    let answer = answered(
        r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"u","desiredAPIVersion":"task.example.io/v1","objects":[{"a":"#,
    );
    assert_eq!(answer["response"]["uid"], "u");
    assert_eq!(answer["response"]["result"]["status"], "Failure");
}
