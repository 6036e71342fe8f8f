//! What the webhook fills in and takes out.

use serde_json::{Value, json};

use crate::reviews::{
    by_v1alpha1, create, mutated, on, review, scale, task, update, written_at_v1alpha1,
};

#[test]
fn the_defaults_are_filled_in() {
    let (object, patched) = mutated(&create(json!({"operation": {"provider": "p"}})));
    assert!(patched);
    assert_eq!(
        object["spec"],
        json!({"replicas": 1, "image": "nginx:alpine", "port": 8080,
            "operation": {"provider": "p", "completion": "Poll", "timeout": "1h"}})
    );
}

#[test]
fn a_task_that_says_everything_is_not_patched_and_zero_replicas_stay_zero() {
    let spec = json!({"replicas": 0, "image": "a:1", "port": 80});
    for review in [
        create(spec.clone()),
        update(task(spec.clone()), task(json!({}))),
    ] {
        let (object, patched) = mutated(&review);
        assert!(!patched);
        assert_eq!(object["spec"], spec);
    }
}

/// A Task as a client of v1alpha1 writes it: `managed` are the fields of `spec` that such clients have set, as the API server records it.
fn without_provider(old: &Value, managed: Value) -> Value {
    let mut object = written_at_v1alpha1(old, true, |task| {
        let spec = task["spec"].as_object_mut().unwrap();
        spec.remove("provider");
    });
    object["metadata"]["managedFields"] = json!([
        {"manager": "a", "operation": "Update", "apiVersion": "task.example.io/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:operation": {"f:timeout": {}, "f:parameters": {}}}}},
        {"manager": "b", "operation": "Apply", "apiVersion": "task.example.io/v1alpha1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": managed}},
    ]);
    object
}

#[test]
fn an_operation_that_has_lost_its_provider_at_v1alpha1_is_removed() {
    for operation in [
        json!({"provider": "p", "completion": "Poll", "timeout": "1h"}),
        json!({"provider": "p", "completion": "Callback", "timeout": "1.5s"}),
        json!({"provider": "p", "completion": "Poll", "timeout": "1h", "parameters": {"set": {"at": "v1"}}}),
    ] {
        let old = task(json!({"replicas": 1, "image": "a:1", "port": 1, "operation": operation}));
        let object = without_provider(&old, json!({"f:port": {}}));
        assert!(object["spec"]["operation"].is_object(), "{object}");
        let (object, _) = mutated(&by_v1alpha1(update(object, old)));
        assert_eq!(
            object["spec"],
            json!({"replicas": 1, "image": "a:1", "port": 1})
        );
    }
}

#[test]
fn what_a_client_of_v1alpha1_has_set_itself_is_left_for_the_rules_to_refuse() {
    let operation =
        json!({"provider": "p", "completion": "Poll", "timeout": "90s", "parameters": {"a": "1"}});
    let old = task(json!({"image": "a:1", "operation": operation}));
    for managed in [
        json!({"f:timeoutSeconds": {}}),
        json!({"f:parameters": {"f:a": {}}}),
    ] {
        let object = without_provider(&old, managed);
        let (object, _) = mutated(&by_v1alpha1(update(object, old.clone())));
        assert!(object["spec"]["operation"].is_object(), "{object}");
    }
}

#[test]
fn an_operation_that_lacks_a_provider_for_another_reason_stays() {
    let whole =
        task(json!({"operation": {"provider": "p", "completion": "Poll", "timeout": "1h"}}));
    let without = task(json!({"operation": {"completion": "Poll", "timeout": "1h"}}));
    for review in [
        update(without.clone(), whole.clone()),
        by_v1alpha1(update(without.clone(), without.clone())),
        by_v1alpha1(create(without["spec"].clone())),
        by_v1alpha1(update(whole.clone(), whole)),
    ] {
        let (object, _) = mutated(&review);
        assert!(object["spec"]["operation"].is_object(), "{object}");
    }
}

#[test]
fn only_a_task_is_given_defaults() {
    for review in [
        review("DELETE", Value::Null, task(json!({}))),
        on("status", update(task(json!({})), task(json!({})))),
        scale(1),
    ] {
        assert!(!mutated(&review).1, "{review}");
    }
}
