//! A rest is an annotation: whoever may write a Task may write that too. What is refused to be believed, one fact a test.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use serde_json::{Value, json};
use task_conversion::json::Scanner;
use task_conversion::rest::{LIMIT, Rest};
use task_conversion::review::answer;
use task_conversion::task::TASK;
use task_conversion::{Event, Events, TOTAL_LIMIT};

fn convert(object: &Value, desired: &str) -> (Value, Vec<Event>) {
    let text = object.to_string();
    let mut node = TASK.read(&mut Scanner::new(&text)).unwrap();
    let mut events = Events::new();
    let desired = TASK.version(&format!("task.example.io/{desired}")).unwrap();
    TASK.convert(&mut node, desired, &mut events).unwrap();
    (serde_json::from_str(&node.text()).unwrap(), events.take())
}

fn down(object: &Value) -> Value {
    convert(object, "v1alpha1").0
}

fn up(object: &Value) -> Value {
    convert(object, "v1").0
}

/// A v1 Task with a rest of v1alpha1.
fn v1(spec: Value, rest: impl ToString) -> Value {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "spec": spec,
        "metadata": {"name": "a", "annotations": {"task.example.io/v1alpha1": rest.to_string()}}})
}

/// A v1alpha1 Task with a rest of v1.
fn v1alpha1(spec: Value, rest: impl ToString) -> Value {
    json!({"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "spec": spec,
        "metadata": {"name": "a", "annotations": {"task.example.io/v1": rest.to_string()}}})
}

fn folded(entries: impl IntoIterator<Item = (String, String)>) -> String {
    let rest = Rest {
        entries: entries.into_iter().collect(),
    };
    rest.to_annotation().unwrap()
}

fn review(desired: &str, objects: &[Value]) -> String {
    json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "u", "desiredAPIVersion": format!("task.example.io/{desired}"), "objects": objects}})
    .to_string()
}

fn nested(levels: usize) -> String {
    "[".repeat(levels) + &"]".repeat(levels)
}

#[test]
fn a_status_is_never_taken_from_an_annotation() {
    let mut hub = v1(
        json!({"operation": {"provider": "p"}}),
        json!({"/status/taskStatus": "Completed", "/status/taskResult": "forged", "/status/x": 1, "/status": {}}),
    );
    assert_eq!(down(&hub).get("status"), None);
    hub["status"] = json!({"operation": {"key": "k"}});
    assert_eq!(down(&hub)["status"], hub["status"]);
    assert_eq!(up(&down(&hub))["status"], hub["status"]);
}

#[test]
fn a_status_is_never_put_into_an_annotation() {
    let hub = json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "a"},
        "status": {"x": 1, "conditions": [{"type": "Ready", "x": 1}], "operation": {"phase": "Ready", "x": 1}}});
    let there = down(&hub);
    assert_eq!(there["metadata"], hub["metadata"]);
    assert_eq!(up(&there), hub);
}

#[test]
fn what_the_schema_refuses_is_not_brought_back() {
    let operation =
        |rest: Value| up(&v1alpha1(json!({"provider": "p"}), rest))["spec"]["operation"].clone();
    for rest in [
        json!({"/spec/operation/completion": 5}),
        json!({"/spec/operation/completion": {}}),
        json!({"/spec/operation/completion": "Sometimes"}),
        json!({"/spec/operation/completion": {"Poll": null}}),
        json!({"/spec/operation/timeout": "soon"}),
        json!({"/spec/operation/timeout": 1}),
        json!({"/spec/operation/provider": "q"}),
        json!({"/spec/operation": {"timeout": "soon"}}),
        json!({"/spec/operation": {"completion": 5}}),
        json!({"/spec/operation": 5}),
        json!({"/spec/port": 0}),
        json!({"/spec/env": 5}),
    ] {
        assert_eq!(operation(rest.clone()), json!({"provider": "p"}), "{rest}");
    }
    let spec = |spec: Value, rest: Value| down(&v1(spec, rest))["spec"].clone();
    for rest in [
        json!({"/spec/timeoutSeconds": 1.5}),
        json!({"/spec/parameters": {}}),
        json!({"/spec/provider": "p"}),
    ] {
        assert_eq!(spec(json!({}), rest.clone()), json!({}), "{rest}");
    }
    assert_eq!(
        spec(
            json!({"operation": {"provider": "p", "parameters": {"k": 10}}}),
            json!({"texts:/spec/parameters": {"k": 10}})
        ),
        json!({"provider": "p", "parameters": {"k": "10"}})
    );
}

#[test]
fn what_is_not_believed_is_told() {
    let (_, events) = convert(
        &v1alpha1(
            json!({"provider": "p"}),
            json!({"/spec/operation/completion": "Sometimes"}),
        ),
        "v1",
    );
    assert!(
        matches!(events.as_slice(), [Event::Restored, Event::Broken(_)]),
        "{events:?}"
    );
}

#[test]
fn a_name_in_the_order_of_env_counts_once() {
    let env = |order: Value| {
        down(&v1(
            json!({"env": {"A": "1", "B": "2"}}),
            json!({"order:/spec/env": order}),
        ))["spec"]["env"]
            .clone()
    };
    let (a, b) = (
        json!({"name": "A", "value": "1"}),
        json!({"name": "B", "value": "2"}),
    );
    assert_eq!(env(json!(["B", "A", "B", "A", "A"])), json!([b, a]));
    assert_eq!(env(json!(vec!["B"; 40_000])), json!([b, a]));
    assert_eq!(env(json!(["C", 5, [], {}, null])), json!([a, b]));
}

#[test]
fn an_answer_stays_in_proportion_to_the_review() {
    let bomb = folded([(
        "/spec/x".to_owned(),
        format!("\"{}\"", "x".repeat(LIMIT - 100)),
    )]);
    let body = review("v1alpha1", &vec![v1(json!({}), &bomb); 200]);
    let answer = answer(&TASK, body.as_bytes());
    assert_eq!(answer.failure, None);
    assert!(
        answer.body.len() < 2 * body.len() + (17 << 20),
        "{} to {}",
        body.len(),
        answer.body.len()
    );
    assert!(answer.events.broken > 100, "{:?}", answer.events);
}

#[test]
fn a_rest_of_many_entries_is_put_back_in_one_go() {
    // With a look at all that was put back before, this took half a minute.
    let many = folded((0..100_000).map(|n| (format!("/spec/{n:x}"), "1".to_owned())));
    let there = down(&v1(json!({}), many));
    assert_eq!(there["spec"].as_object().unwrap().len(), 100_000);
    // Beside what the container has, or below a container that the target does not know.
    let many = json!(
        (0..100_000)
            .map(|n| (format!("{n:x}"), json!(1)))
            .collect::<serde_json::Map<_, _>>()
    );
    let there = up(&v1alpha1(
        json!({"provider": "p"}),
        folded([("/spec/operation".to_owned(), many.to_string())]),
    ));
    assert_eq!(
        there["spec"]["operation"].as_object().unwrap().len(),
        100_001
    );
    for container in ["operation", "z"] {
        let both =
            (0..25_000).flat_map(|n| [format!("/spec/{n:x}"), format!("/spec/{container}/{n:x}")]);
        let many = folded(both.map(|pointer| (pointer, "1".to_owned())));
        let there = down(&v1(json!({"operation": {"provider": "p", "zz": 1}}), many));
        assert!(there["spec"].as_object().unwrap().len() > 25_000);
    }
    let order = folded([(
        "order:/spec/env".to_owned(),
        json!(vec!["Z"; 350_000]).to_string(),
    )]);
    let env: serde_json::Map<_, _> = (0..256).map(|n| (format!("V{n:03}"), json!("1"))).collect();
    let there = down(&v1(json!({"env": env}), order));
    assert_eq!(there["spec"]["env"].as_array().unwrap().len(), 256);
}

#[test]
fn the_deepest_object_that_the_api_server_admits_converts() {
    // With metadata, spec, operation, parameters and the value itself, 10,000 levels.
    let deep = nested(9_996);
    let object = format!(
        r#"{{"apiVersion":"task.example.io/v1","kind":"Task","metadata":{{"name":"a"}},"spec":{{"operation":{{"provider":"p","parameters":{{"k":{deep}}}}}}}}}"#
    );
    let body = format!(
        r#"{{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{{"uid":"u","desiredAPIVersion":"task.example.io/v1alpha1","objects":[{object}]}}}}"#
    );
    let answer = answer(&TASK, body.as_bytes());
    assert_eq!(answer.failure, None);
    assert!(answer.body.contains(&format!("\"{deep}\"")));
}

#[test]
fn no_answer_nests_deeper_than_the_api_server_reads_because_of_a_rest() {
    for (desired, object) in [
        (
            "v1alpha1",
            v1(json!({}), format!(r#"{{"/spec/x":{}}}"#, nested(9_999))),
        ),
        (
            "v1",
            v1alpha1(
                json!({"provider": "p", "parameters": {"k": nested(9_999)}}),
                json!({"kinds:/spec/operation/parameters": {"k": "array"}}),
            ),
        ),
    ] {
        let answer = answer(&TASK, review(desired, &[object]).as_bytes());
        assert_eq!(answer.failure, None);
        assert!(Scanner::new(&answer.body).value().is_ok(), "to {desired}");
    }
}

#[test]
fn the_kind_of_a_parameter_never_changes_what_is_visible() {
    let parameters = |shown: &str, kind: &str| {
        let spoke = v1alpha1(
            json!({"provider": "p", "parameters": {"k": shown}}),
            json!({"kinds:/spec/operation/parameters": {"k": kind}}),
        );
        down(&up(&spoke))["spec"]["parameters"]["k"].clone()
    };
    for (shown, kind) in [
        (" 20 ", "number"),
        ("\"abc\"", "string"),
        ("20", "boolean"),
        ("2.0", "number"),
        ("2.0", "number, as written"),
        (r#"{"z":1, "a":"<"}"#, "object"),
        ("nonsense", "number"),
    ] {
        assert_eq!(parameters(shown, kind), shown, "{shown:?} as {kind}");
    }
}

#[test]
fn a_text_that_the_api_server_wrote_anew_reads_as_it_was_written() {
    let mut hub = up(&v1alpha1(
        json!({"provider": "p", "parameters": {"f": "2.0", "o": "{\"z\":1, \"a\":\"<\"}"}}),
        json!({"kinds:/spec/operation/parameters": {"f": "number", "o": "object"}}),
    ));
    assert_eq!(
        hub["spec"]["operation"]["parameters"]["o"],
        json!({"a": "<", "z": 1})
    );
    hub["spec"]["operation"]["parameters"]["f"] = json!(2);
    let shown = down(&hub)["spec"]["parameters"].clone();
    assert_eq!(shown, json!({"f": "2.0", "o": "{\"z\":1, \"a\":\"<\"}"}));
    hub["spec"]["operation"]["parameters"]["f"] = json!(3);
    assert_eq!(down(&hub)["spec"]["parameters"]["f"], "3");
}

#[test]
fn the_last_of_a_parameter_written_twice_counts() {
    let text = r#"{"apiVersion":"task.example.io/v1","kind":"Task","metadata":{},"spec":{"operation":{"provider":"p","parameters":{"a":1,"a":"2"}}}}"#;
    let mut node = TASK.read(&mut Scanner::new(text)).unwrap();
    TASK.convert(&mut node, "v1alpha1", &mut Events::new())
        .unwrap();
    let there: Value = serde_json::from_str(&node.text()).unwrap();
    assert_eq!(up(&there)["spec"]["operation"]["parameters"]["a"], "2");
}

#[test]
fn a_key_that_looks_escaped_is_not_taken_for_another() {
    let mut there = down(
        &json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {}, "sp\\u0065c": 1, "spec": {}}),
    );
    assert_eq!(
        there.as_object_mut().unwrap().remove("sp\\u0065c"),
        Some(json!(1))
    );
    assert_eq!(up(&there)["sp\\u0065c"], 1);
}

#[test]
fn the_mark_of_a_rest_that_was_left_out_does_not_outlive_the_write() {
    let mut hub = v1(
        json!({"operation": {"provider": "p", "completion": "Hybrid"}}),
        json!({}),
    );
    hub["metadata"]["annotations"] = json!({"mine": "x".repeat(TOTAL_LIMIT - 60)});
    let there = down(&hub);
    assert_eq!(
        there["metadata"]["annotations"]["task.example.io/v1"],
        r#"{"omitted":true}"#
    );
    let (mut back, events) = convert(&there, "v1");
    assert!(events.contains(&Event::Omitted), "{events:?}");
    let mark = back["metadata"]["annotations"]["task.example.io/v1alpha1"].clone();
    assert_eq!(mark, r#"{"unread":{"omitted":true}}"#);
    back["metadata"]["annotations"]["mine"] = json!("small");
    assert_eq!(
        down(&back)["metadata"]["annotations"],
        json!({"mine": "small"})
    );
}

#[test]
fn annotations_that_were_empty_or_null_come_back_so() {
    for before in [json!({}), json!(null)] {
        let mut hub = v1(
            json!({"operation": {"provider": "p", "completion": "Hybrid"}}),
            json!({}),
        );
        hub["metadata"]["annotations"] = before.clone();
        assert_eq!(up(&down(&hub)), hub);
    }
}

#[test]
fn a_rest_does_not_make_a_visible_field_a_known_one() {
    let spec = json!({"operation": {"completion": "Hybrid"}});
    let hub = v1(spec.clone(), json!({"/spec/operation/completion": 5}));
    assert_eq!(up(&down(&hub))["spec"], spec);
}
