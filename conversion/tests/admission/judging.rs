//! What is refused, and what is not.

use serde_json::{Value, json};
use task_conversion::admission::{Outcome, mutate, validate};

use crate::reviews::{
    UID, by_v1alpha1, create, marked, messages, review, task, update, validated, warnings,
};

#[test]
fn a_bad_task_is_refused_with_every_problem_and_its_cause() {
    let review = create(json!({"replicas": 1, "image": "a:1", "port": 0, "operation": {}}));
    let response = validated(&review);
    let rule = "must be a DNS label: at most 63 characters, lower case letters, digits and '-', beginning and ending with a letter or digit";
    let text = format!(
        "Task.task.example.io \"web\" is invalid: [spec.port: Invalid value: 0: must be between 1 and 65535, spec.operation.provider: Required value: {rule}]"
    );
    assert_eq!(
        response,
        json!({
            "uid": UID,
            "allowed": false,
            "status": {
                "apiVersion": "v1",
                "kind": "Status",
                "metadata": {},
                "status": "Failure",
                "code": 422,
                "reason": "Invalid",
                "message": text,
                "details": {
                    "name": "web",
                    "group": "task.example.io",
                    "kind": "Task",
                    "causes": [
                        {"field": "spec.port", "reason": "FieldValueInvalid", "message": "Invalid value: 0: must be between 1 and 65535"},
                        {"field": "spec.operation.provider", "reason": "FieldValueRequired", "message": format!("Required value: {rule}")},
                    ],
                },
            },
        })
    );
}

#[test]
fn a_good_task_is_allowed_without_a_word() {
    let spec = json!({"image": "a:1", "operation": {"provider": "p", "parameters": {"n": 1}}});
    assert_eq!(
        validated(&create(spec.clone())),
        json!({"uid": UID, "allowed": true})
    );
    assert_eq!(
        validated(&update(task(spec.clone()), task(spec))),
        json!({"uid": UID, "allowed": true})
    );
}

#[test]
fn an_old_bad_task_can_be_repaired_and_freed_of_its_finalizers() {
    let mut old = task(json!({"port": 0, "image": "a:1"}));
    old["metadata"]["finalizers"] = json!(["task.example.io/finalizer"]);
    old["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    let mut freed = old.clone();
    freed["metadata"]["finalizers"] = json!([]);
    assert_eq!(warnings(&update(freed, old.clone())), [""; 0]);
    let mut scaled = old.clone();
    scaled["spec"]["replicas"] = json!(2);
    assert_eq!(warnings(&update(scaled.clone(), old.clone())), [""; 0]);
    scaled["spec"]["replicas"] = json!(101);
    assert_eq!(
        messages(&update(scaled, old)),
        ["spec.replicas: Invalid value: 101: must be between 0 and 100"]
    );
}

#[test]
fn a_deletion_is_never_refused() {
    let bad = task(json!({"port": 0, "env": 5}));
    assert_eq!(
        warnings(&review("DELETE", Value::Null, bad.clone())),
        [""; 0]
    );
    assert_eq!(
        warnings(&by_v1alpha1(review("DELETE", Value::Null, marked(&bad)))),
        [""; 0]
    );
}

#[test]
fn what_nests_too_deep_is_refused_but_can_still_be_changed() {
    let spec =
        json!({"image": "a:1", "operation": {"provider": "p", "parameters": {"deep": "HERE"}}});
    let deepened = |review: Value| {
        let deep = format!("{}{}", "[".repeat(9_000), "]".repeat(9_000));
        review.to_string().replace("\"HERE\"", &deep)
    };
    let review = deepened(create(spec.clone()));
    let answer = validate(review.as_bytes());
    assert_eq!((&answer.outcome, answer.problems), (&Outcome::Denied, 1));
    let message = "spec.operation.parameters: Invalid value: may not nest more than 64 levels deep";
    assert!(answer.body.contains(message), "{}", answer.body);
    assert_eq!(mutate(review.as_bytes()).outcome, Outcome::Patched);

    let mut changed = task(spec.clone());
    changed["spec"]["port"] = json!(80);
    let review = deepened(update(changed, task(spec)));
    assert_eq!(validate(review.as_bytes()).outcome, Outcome::Allowed);
}
