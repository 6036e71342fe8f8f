//! The conversion of Task by example: one fact a test.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use serde_json::{Value, json};
use task_conversion::json::Scanner;
use task_conversion::rest::COMPRESS_OVER;
use task_conversion::task::TASK;
use task_conversion::{Event, Events, TOTAL_LIMIT};

fn convert(object: &Value, desired: &str) -> (Value, Vec<Event>) {
    let text = object.to_string();
    let mut node = TASK.read(&mut Scanner::new(&text)).unwrap();
    let mut events = Events::new();
    TASK.convert(
        &mut node,
        TASK.version(&format!("task.example.io/{desired}")).unwrap(),
        &mut events,
    )
    .unwrap();
    (serde_json::from_str(&node.text()).unwrap(), events.take())
}

fn down(object: &Value) -> Value {
    convert(object, "v1alpha1").0
}

fn up(object: &Value) -> Value {
    convert(object, "v1").0
}

fn v1(spec: Value, status: Value) -> Value {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "a"}, "spec": spec, "status": status})
}

fn v1alpha1(spec: Value, status: Value) -> Value {
    json!({"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "metadata": {"name": "a"}, "spec": spec, "status": status})
}

#[test]
fn nothing_is_annotated_where_nothing_would_be_lost() {
    let hub = v1(
        json!({"env": {"B": "2", "A": "1"}, "operation": {"provider": "p", "parameters": {"a": "x"}, "timeout": "1h"}}),
        json!({}),
    );
    let spoke = v1alpha1(
        json!({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}], "provider": "p",
            "parameters": {"a": "x"}, "timeoutSeconds": 3600}),
        json!({}),
    );
    assert_eq!(down(&hub), spoke);
    assert_eq!(up(&spoke), hub);
}

#[test]
fn what_v1alpha1_cannot_show_rides_in_one_annotation() {
    let hub = v1(
        json!({"operation": {"provider": "p", "completion": "Callback", "timeout": "90s", "parameters": {"n": 10}}}),
        json!({}),
    );
    let spoke = down(&hub);
    assert_eq!(
        spoke["metadata"]["annotations"],
        json!({"task.example.io/v1":
            r#"{"/spec/operation/completion":"Callback","/spec/operation/timeout":"90s","kinds:/spec/operation/parameters":{"n":"number"}}"#})
    );
    assert_eq!(up(&spoke), hub);
}

#[test]
fn an_edited_parameter_keeps_its_kind_while_it_is_json_of_that_kind() {
    for (before, shown, edited, after) in [
        (json!(10), "10", "20", json!(20)),
        (json!(10), "10", "ten", json!("ten")),
        (json!(10), "10", "1e999", json!("1e999")),
        (json!(true), "true", "false", json!(false)),
        (json!(true), "true", "1", json!("1")),
        (
            json!({"a": [1]}),
            r#"{"a":[1]}"#,
            r#"{"a":[]}"#,
            json!({"a": []}),
        ),
        (json!(null), "null", "null", json!(null)),
        (json!("10"), "10", "20", json!("20")),
    ] {
        let mut spoke = down(&v1(
            json!({"operation": {"provider": "p", "parameters": {"k": before}}}),
            json!({}),
        ));
        assert_eq!(spoke["spec"]["parameters"]["k"], shown);
        spoke["spec"]["parameters"]["k"] = json!(edited);
        assert_eq!(
            up(&spoke)["spec"]["operation"]["parameters"]["k"],
            after,
            "{shown} edited to {edited}"
        );
    }
}

#[test]
fn the_order_of_env_outlives_edits_of_the_map() {
    let mut hub = up(&v1alpha1(
        json!({"env": [{"name": "C", "value": "3"}, {"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}),
        json!({}),
    ));
    hub["spec"]["env"] = json!({"A": "new", "C": "3", "E": "5", "D": "4"});
    assert_eq!(
        down(&hub)["spec"]["env"],
        json!([{"name": "C", "value": "3"}, {"name": "A", "value": "new"}, {"name": "D", "value": "4"}, {"name": "E", "value": "5"}])
    );
}

#[test]
fn of_variables_with_one_name_the_last_counts_and_all_come_back() {
    let spoke = v1alpha1(
        json!({"env": [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A", "value": "2"}]}),
        json!({}),
    );
    let hub = up(&spoke);
    assert_eq!(hub["spec"]["env"], json!({"A": "2", "B": ""}));
    assert_eq!(down(&hub), spoke);
}

#[test]
fn an_old_status_name_wins_only_where_it_contradicts() {
    let phase = |task_status: Value, phase: Value| {
        let mut status =
            json!({"operation": {"key": "k", "phase": phase}, "taskStatus": task_status});
        status["operation"]
            .as_object_mut()
            .unwrap()
            .retain(|_, value| *value != "absent");
        status
            .as_object_mut()
            .unwrap()
            .retain(|_, value| *value != "absent");
        let hub = up(&v1alpha1(json!({}), status));
        assert_eq!(hub["status"]["operation"]["key"], "k");
        hub["status"]["operation"].get("phase").cloned()
    };
    for (old, new, result) in [
        (json!("absent"), json!("Creating"), Some(json!("Creating"))),
        (json!(""), json!("Creating"), Some(json!("Creating"))),
        (json!("Running"), json!("Creating"), Some(json!("Creating"))),
        (json!("Completed"), json!("Creating"), Some(json!("Ready"))),
        (json!("Failed"), json!("absent"), Some(json!("Failed"))),
        (json!(""), json!("absent"), None),
    ] {
        assert_eq!(
            phase(old.clone(), new.clone()),
            result,
            "{old} against {new}"
        );
    }
}

#[test]
fn the_same_instant_written_otherwise_is_no_edit() {
    let status = |old: &str| json!({"operation": {"completedAt": "2026-01-02T03:04:05.000Z"}, "completedAt": old});
    let completed = |old: &str| {
        up(&v1alpha1(json!({}), status(old)))["status"]["operation"]["completedAt"].clone()
    };
    assert_eq!(
        completed("2026-01-02T04:04:05+01:00"),
        "2026-01-02T03:04:05.000Z"
    );
    assert_eq!(completed("2026-01-02T03:04:06Z"), "2026-01-02T03:04:06Z");
}

#[test]
fn a_put_without_our_annotation_keeps_the_whole_status() {
    let status =
        json!({"phase": "Pending", "operation": {"key": "k", "phase": "Creating", "attempts": 2}});
    let mut spoke = down(&v1(
        json!({"operation": {"provider": "p", "completion": "Hybrid"}}),
        status.clone(),
    ));
    spoke["metadata"]
        .as_object_mut()
        .unwrap()
        .remove("annotations");
    assert_eq!(up(&spoke)["status"], status);
}

#[test]
fn entries_of_a_newer_server_pass_through_an_older_one() {
    let mut spoke = v1alpha1(json!({"provider": "p"}), json!({}));
    spoke["metadata"]["annotations"] = json!({"task.example.io/v1": r#"{"/spec/operation/tier":"gold","spelling:/spec/image":{"x":1}}"#});
    let hub = up(&spoke);
    assert_eq!(
        hub["spec"]["operation"],
        json!({"provider": "p", "tier": "gold"})
    );
    let mut again = down(&hub);
    again["spec"].as_object_mut().unwrap().remove("operation");
    assert_eq!(again, spoke);
}

#[test]
fn what_a_newer_v1alpha1_has_where_v1_has_a_container_comes_back_every_time() {
    for spec in [
        json!({"operation": {"provider": "q", "tier": "gold"}, "provider": "p"}),
        json!({"operation": {"completion": "Sometimes"}}),
        json!({"operation": {"tier": {"a": 1}}}),
        json!({"operation": 7, "provider": "p"}),
    ] {
        let mut object = v1alpha1(spec, Value::Null);
        let before = object.clone();
        for _ in 0..3 {
            let there = up(&object);
            // Nothing that v1 does not admit without a provider.
            let provider = before["spec"].get("provider");
            assert_eq!(
                there["spec"]
                    .get("operation")
                    .map(|operation| &operation["provider"]),
                provider
            );
            object = down(&there);
            assert_eq!(object, before);
        }
    }
}

#[test]
fn a_reserved_key_on_its_own_version_is_dropped() {
    let mut hub = v1(json!({}), json!({}));
    hub["metadata"]["annotations"] = json!({"task.example.io/v1": "{}", "mine": "x"});
    let (spoke, events) = convert(&hub, "v1alpha1");
    assert_eq!(spoke["metadata"]["annotations"], json!({"mine": "x"}));
    assert_eq!(events, [Event::Misplaced]);
}

#[test]
fn a_large_rest_is_compressed_and_one_that_does_not_fit_is_left_out() {
    let mut hub = v1(json!({"newer": "x".repeat(COMPRESS_OVER)}), json!({}));
    let spoke = down(&hub);
    assert!(
        spoke["metadata"]["annotations"]["task.example.io/v1"]
            .as_str()
            .unwrap()
            .len()
            < 300
    );
    assert_eq!(up(&spoke), hub);

    hub["metadata"]["annotations"] = json!({"mine": "x".repeat(TOTAL_LIMIT - 60)});
    let (spoke, events) = convert(&hub, "v1alpha1");
    assert_eq!(events, [Event::Omitted]);
    assert_eq!(
        spoke["metadata"]["annotations"]["task.example.io/v1"],
        r#"{"omitted":true}"#
    );
    let total: usize = spoke["metadata"]["annotations"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(key, value)| key.len() + value.as_str().unwrap().len())
        .sum();
    assert!(total <= TOTAL_LIMIT);
}

#[test]
fn an_object_without_metadata_gets_some_and_nothing_else_is_invented() {
    let (spoke, _) = convert(
        &json!({"apiVersion": "task.example.io/v1", "kind": "Task"}),
        "v1alpha1",
    );
    assert_eq!(
        spoke,
        json!({"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "metadata": {}})
    );
}
