//! The webhook and the schema refuse the same objects, and fill in the same defaults.
//!
//! The rules stand in two forms: in the schema, bounds and CEL, and in the code that the webhook runs. Here both judge the same
//! objects: such as lie at and just beyond each bound, damaged ones, and fewer of those that are made from the schema alone, which take
//! long to make and are there so that a new field is noticed at once.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

#[allow(dead_code)]
#[path = "schema/admission.rs"]
mod admission;
#[allow(dead_code)]
#[path = "schema/generate.rs"]
mod generate;
#[allow(dead_code)]
#[path = "schema/mutate.rs"]
mod mutate;

use admission::Admission;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use generate::{Form, object};
use mutate::{damage, damaged};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};
use task_conversion::admission::{Outcome, validate};

thread_local! {
    static V1: Admission = Admission::of("v1");
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_global_rejects: 100_000,
        ..ProptestConfig::default()
    }
}

/// A Task that has every field of the spec, each the way most are.
fn whole() -> Value {
    let operation = json!({"provider": "p", "parameters": {"size": 10}, "completion": "Poll", "timeout": "90s"});
    json!({
        "apiVersion": "task.example.io/v1",
        "kind": "Task",
        "metadata": {"name": "a"},
        "spec": {"replicas": 2, "image": "a:1", "port": 80, "env": {"A": "1"}, "operation": operation},
    })
}

/// A place in an object and what stands there.
type Edit = (&'static str, Value);

/// Values at and just beyond each bound, and such as somebody might take for right.
fn edits() -> impl Strategy<Value = Edit> {
    let long = |length: usize| "a".repeat(length);
    let many =
        |count: usize| -> Value { (0..count).map(|n| (format!("k{n}"), json!(""))).collect() };
    let mut edits = Vec::new();
    let mut at =
        |place, values: Vec<Value>| edits.extend(values.into_iter().map(|value| (place, value)));
    at(
        "/metadata/name",
        vec![
            json!("a"),
            json!("A"),
            json!("a.b"),
            json!("1a"),
            json!("a-"),
            json!(long(63)),
            json!(long(64)),
        ],
    );
    at(
        "/spec/replicas",
        vec![
            json!(-1),
            json!(0),
            json!(100),
            json!(101),
            json!(1.0),
            json!(1.5),
            json!("1"),
            json!(1e18),
            json!(null),
        ],
    );
    at(
        "/spec/port",
        vec![
            json!(0),
            json!(1),
            json!(65_535),
            json!(65_536),
            json!(8080.0),
            json!(u64::MAX),
            json!(null),
        ],
    );
    at(
        "/spec/image",
        vec![
            json!(""),
            json!("a:latest"),
            json!("A"),
            json!("A/a"),
            json!("a b"),
            json!("a\n"),
            json!(long(512)),
            json!(long(513)),
            json!("é".repeat(513)),
            json!(format!("a@sha256:{}", "0".repeat(31))),
            json!(format!("a@sha256:{}", "0".repeat(32))),
            json!("[::1]:5000/a"),
            json!(format!("a:{}", long(128))),
            json!(format!("a:{}", long(129))),
            json!(null),
        ],
    );
    at(
        "/spec/env",
        vec![many(256), many(257), json!({}), json!([]), json!(null)],
    );
    for name in ["A", "1A", "A=B", "", "a.b-c_D", "é", "A\n"] {
        at(
            "/spec/env",
            vec![json!({name: "x"}), json!({name: null}), json!({name: 1})],
        );
    }
    for length in [64, 65] {
        at(
            "/spec/env",
            vec![json!({long(length): "x"}), json!({"é".repeat(length): ""})],
        );
    }
    for length in [4096, 4097] {
        at(
            "/spec/env",
            vec![json!({"A": long(length)}), json!({"A": "é".repeat(length)})],
        );
    }
    at(
        "/spec/operation",
        vec![json!({"provider": "p"}), json!({}), json!("p"), json!(null)],
    );
    at(
        "/spec/operation/provider",
        vec![
            json!(""),
            json!("1"),
            json!("A"),
            json!("a.b"),
            json!(long(63)),
            json!(long(64)),
            json!(null),
        ],
    );
    at(
        "/spec/operation/completion",
        vec![
            json!("Hybrid"),
            json!("poll"),
            json!(""),
            json!(1),
            json!({"Poll": null}),
            json!(null),
        ],
    );
    at(
        "/spec/operation/parameters",
        vec![
            many(64),
            many(65),
            json!({}),
            json!({"a": null}),
            json!("{}"),
            json!(null),
        ],
    );
    for text in [
        "720h",
        "720h1ns",
        "719h59m60s",
        "0",
        "0s",
        "1ns",
        "0.9ns",
        "-1s",
        "+1s",
        "1h30m",
        ".5s",
        "5.s",
        "1d",
        "",
        "1",
        " 1s",
        "1s ",
        "1s\n",
        "2562048h",
        "99999999999999999999s",
    ] {
        at("/spec/operation/timeout", vec![json!(text)]);
    }
    at(
        "/spec/operation/timeout",
        vec![
            json!(format!("{}1s", "0".repeat(62))),
            json!(format!("{}1s", "0".repeat(63))),
            json!(5),
            json!(null),
        ],
    );
    select(edits)
}

fn edited(mut object: Value, edits: Vec<Edit>) -> Value {
    for (pointer, value) in edits {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        if let Some(Value::Object(parent)) = object.pointer_mut(parent) {
            parent.insert(name.to_owned(), value);
        }
    }
    object
}

/// A Task as it comes in to be created: its status is not looked at.
fn new_task(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("status");
    object
}

fn review(object: &str) -> String {
    let request = json!({
        "uid": "u",
        "operation": "CREATE",
        "kind": {"group": "task.example.io", "version": "v1", "kind": "Task"},
        "resource": {"group": "task.example.io", "version": "v1", "resource": "tasks"},
        "object": "THE OBJECT",
    });
    let review =
        json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request});
    review.to_string().replace("\"THE OBJECT\"", object)
}

fn agree(object: &str) -> Result<(), TestCaseError> {
    let parsed: Value = serde_json::from_str(object).unwrap();
    let by_schema = V1.with(|door| door.refusals(&parsed));
    let answer = validate(review(object).as_bytes());
    let expected = if by_schema.is_empty() {
        Outcome::Allowed
    } else {
        Outcome::Denied
    };
    prop_assert_eq!(
        answer.outcome,
        expected,
        "{:?}\n{}\n{}",
        by_schema,
        answer.body,
        object
    );
    Ok(())
}

proptest! {
    #![proptest_config(config(10_000))]

    #[test]
    fn the_webhook_refuses_what_the_schema_refuses(edits in prop::collection::vec(edits(), 1..5)) {
        agree(&edited(whole(), edits).to_string())?;
    }

    #[test]
    fn they_agree_on_damaged_objects(damage in prop::collection::vec(damage(), 1..4)) {
        let mut object = whole();
        let damaged = damaged(json!({"spec": object["spec"].take()}), &damage);
        // Damage to the whole may leave no object. A key that stands twice comes from the API server once.
        if let Ok(Value::Object(members)) = serde_json::from_str(&damaged) {
            object.as_object_mut().unwrap().remove("spec");
            let mut members = members;
            members.retain(|name, _| !["apiVersion", "kind", "metadata", "status"].contains(&name.as_str()));
            object.as_object_mut().unwrap().extend(members);
            agree(&object.to_string())?;
        }
    }
}

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn they_agree_on_objects_of_the_schema(object in object("v1", Form::Whole)) {
        agree(&new_task(object).to_string())?;
    }

    #[test]
    fn the_webhook_fills_in_the_defaults_of_the_schema(object in object("v1", Form::Whole)) {
        let object = new_task(object);
        let answer = task_conversion::admission::mutate(review(&object.to_string()).as_bytes());
        let answer: Value = serde_json::from_str(&answer.body).unwrap();
        let mut filled = object.clone();
        if let Some(patch) = answer["response"]["patch"].as_str() {
            let patch: json_patch::Patch = serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
            json_patch::patch(&mut filled, &patch).unwrap();
        }
        let finished = V1.with(|door| door.finished(&object));
        prop_assert_eq!(&filled["spec"], &finished["spec"], "{}", object);
    }
}
