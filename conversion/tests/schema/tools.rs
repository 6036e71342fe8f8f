//! That the tests' own tools are right: a generator that leaves out a field, or a door that lets all pass, would prove nothing.

use std::collections::BTreeSet;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};

use crate::admission::{Admission, schema};
use crate::generate::{Form, object};

/// The pointers of all fields that a schema names, list items as `*`.
fn fields(schema: &Value, at: &str, found: &mut BTreeSet<String>) {
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        found.insert(format!("{at}/{name}"));
        fields(property, &format!("{at}/{name}"), found);
    }
    if let Some(items) = schema.get("items") {
        fields(items, &format!("{at}/*"), found);
    }
}

fn written(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                found.insert(format!("{at}/{name}"));
                written(value, &format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => items
            .iter()
            .for_each(|item| written(item, &format!("{at}/*"), found)),
        _ => {}
    }
}

#[test]
fn every_field_of_both_schemas_is_generated() {
    for version in ["v1", "v1alpha1"] {
        let (mut known, mut found) = (BTreeSet::new(), BTreeSet::new());
        fields(&schema(version), "", &mut known);
        let mut runner = TestRunner::deterministic();
        let objects = object(version, Form::Whole);
        for _ in 0..300 {
            let object = objects.new_tree(&mut runner).unwrap().current();
            written(&object, "", &mut found);
        }
        let left: Vec<_> = known.difference(&found).collect();
        assert!(left.is_empty(), "{version}: never generated: {left:?}");
    }
}

fn task(version: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": format!("task.example.io/{version}"), "kind": "Task", "metadata": {"name": "a"}, "spec": spec, "status": status})
}

#[test]
fn what_the_server_refuses_is_refused() {
    let time = |text: &str| json!({"lastUpdateTime": text});
    for (version, spec, status) in [
        ("v1", json!({"replicas": -1}), json!({})),
        ("v1", json!({"replicas": 101}), json!({})),
        ("v1", json!({"replicas": 1.5}), json!({})),
        ("v1", json!({"replicas": "1"}), json!({})),
        ("v1", json!({"image": "::"}), json!({})),
        ("v1", json!({"image": "a".repeat(513)}), json!({})),
        ("v1", json!({"env": {"0": ""}}), json!({})),
        ("v1", json!({"env": {"A/B": ""}}), json!({})),
        ("v1", json!({"operation": {}}), json!({})),
        ("v1", json!({"operation": {"provider": "A"}}), json!({})),
        (
            "v1",
            json!({"operation": {"provider": "a", "timeout": "721h"}}),
            json!({}),
        ),
        (
            "v1",
            json!({"operation": {"provider": "a", "timeout": "soon"}}),
            json!({}),
        ),
        (
            "v1",
            json!({"operation": {"provider": "a", "completion": "Never"}}),
            json!({}),
        ),
        (
            "v1",
            json!({"operation": {"provider": "a", "parameters": []}}),
            json!({}),
        ),
        ("v1", json!({}), json!({"replicas": 2_147_483_648_u32})),
        ("v1", json!({}), time("2026-13-01T00:00:00Z")),
        ("v1", json!({}), time("2026-01-01T00:00:60Z")),
        ("v1", json!({}), time("2026-01-01T00:00:00+24:00")),
        ("v1", json!({}), json!({"conditions": [{"type": "Ready"}]})),
        ("v1alpha1", json!({"timeoutSeconds": 60}), json!({})),
        ("v1alpha1", json!({"parameters": {}}), json!({})),
        (
            "v1alpha1",
            json!({"provider": "a", "parameters": {"a": 1}}),
            json!({}),
        ),
        (
            "v1alpha1",
            json!({"provider": "a", "timeoutSeconds": 0}),
            json!({}),
        ),
        ("v1alpha1", json!({"env": [{"name": "A"}]}), json!({})),
        (
            "v1alpha1",
            json!({"env": [{"name": "A", "value": ""}, {"name": "A", "value": "x"}]}),
            json!({}),
        ),
        ("v1alpha1", json!({}), json!({"taskStatus": "Paused"})),
    ] {
        let object = task(version, spec, status);
        assert!(
            !Admission::of(version).refusals(&object).is_empty(),
            "{object}"
        );
    }
    let mut unnamed = task("v1", json!({}), json!({}));
    unnamed["metadata"]["name"] = json!("1a");
    assert!(!Admission::of("v1").refusals(&unnamed).is_empty());
}

#[test]
fn what_the_server_mends_is_admitted() {
    let object = task(
        "v1",
        json!({"replicas": null, "port": 1e3, "env": {"A": null}, "unknown": {}, "operation": {"provider": "a", "timeout": null}}),
        json!({"phase": null}),
    );
    let admission = Admission::of("v1");
    assert_eq!(admission.refusals(&object), Vec::<String>::new());
    let finished = admission.finished(&object);
    assert_eq!(
        finished["spec"],
        json!({"replicas": 1, "image": "nginx:alpine", "port": 1e3, "env": {}, "operation": {"provider": "a", "timeout": "1h", "completion": "Poll"}})
    );
    assert_eq!(finished["status"], json!({}));
}
