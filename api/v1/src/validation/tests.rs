use serde_json::json;

use super::*;

fn told(spec: Value) -> Vec<String> {
    let task = json!({"metadata": {"name": "a"}, "spec": spec});
    let told = problems(&task.to_string());
    told.iter().map(Problem::to_string).collect()
}

fn told_of_update(spec: Value, old: Value) -> Vec<String> {
    let [new, old] = [spec, old].map(|spec| json!({"spec": spec}).to_string());
    let told = problems_of_update(&new, &old);
    told.iter().map(Problem::to_string).collect()
}

#[test]
fn what_is_absent_or_null_is_no_problem() {
    for task in [
        json!({}),
        json!({"spec": null}),
        json!({"spec": {}}),
        json!({"spec": {"replicas": null, "image": null, "port": null}}),
        json!({"spec": {"operation": {"provider": "p", "completion": null, "timeout": null}}}),
        json!({"spec": {"env": null, "operation": null}}),
        json!({"spec": {"env": {"A": null}, "operation": {"provider": "p", "parameters": null}}}),
        json!({"metadata": null, "status": 5, "spec": {"unknown": [1]}}),
    ] {
        assert_eq!(problems(&task.to_string()), [], "{task}");
    }
}

#[test]
fn each_rule_is_told_in_its_own_words() {
    let long = |length: usize| "a".repeat(length);
    let many =
        |count: usize| -> Value { (0..count).map(|n| (format!("k{n}"), json!(""))).collect() };
    let operation = |name: &str, value: Value| json!({"operation": {"provider": "p", name: value}});
    for (spec, expected) in [
        (json!([]), "spec: Invalid value: []: must be an object"),
        (
            json!({"replicas": -1}),
            "spec.replicas: Invalid value: -1: must be between 0 and 100",
        ),
        (
            json!({"replicas": 1.5}),
            "spec.replicas: Invalid value: 1.5: must be an integer",
        ),
        (
            json!({"port": 0}),
            "spec.port: Invalid value: 0: must be between 1 and 65535",
        ),
        (
            json!({"port": 1e300}),
            "spec.port: Invalid value: 1e+300: must be between 1 and 65535",
        ),
        (
            json!({"port": "80"}),
            "spec.port: Invalid value: \"80\": must be an integer",
        ),
        (
            json!({"image": ""}),
            "spec.image: Invalid value: \"\": must be an OCI image reference: [host[:port]/]path[:tag][@digest], the path in lower case",
        ),
        (
            json!({"image": long(513)}),
            "spec.image: Too long: may not be more than 512 characters",
        ),
        (
            json!({"env": []}),
            "spec.env: Invalid value: []: must be an object",
        ),
        (
            json!({"env": many(257)}),
            "spec.env: Too many: 257: must have at most 256 items",
        ),
        (
            json!({"env": {"1A": ""}}),
            "spec.env[1A]: Invalid value: \"1A\": the name must be 1 to 64 letters, digits, dashes, underscores or dots, not beginning with a digit",
        ),
        (
            json!({"env": {"A": 1}}),
            "spec.env[A]: Invalid value: 1: must be a string",
        ),
        (
            json!({"env": {"A": long(4097)}}),
            "spec.env[A]: Too long: may not be more than 4096 characters",
        ),
        (
            json!({"operation": "p"}),
            "spec.operation: Invalid value: \"p\": must be an object",
        ),
        (
            json!({"operation": {}}),
            "spec.operation.provider: Required value: must be a DNS label: at most 63 characters, lower case letters, digits and '-', beginning and ending with a letter or digit",
        ),
        (
            operation("provider", json!("A")),
            "spec.operation.provider: Invalid value: \"A\": must be a DNS label: at most 63 characters, lower case letters, digits and '-', beginning and ending with a letter or digit",
        ),
        (
            operation("provider", json!(long(64))),
            "spec.operation.provider: Too long: may not be more than 63 characters",
        ),
        (
            operation("completion", json!({"Poll": null})),
            "spec.operation.completion: Unsupported value: {\"Poll\":null}: supported values: \"Poll\", \"Callback\", \"Queue\", \"Hybrid\"",
        ),
        (
            operation("completion", json!("poll")),
            "spec.operation.completion: Unsupported value: \"poll\": supported values: \"Poll\", \"Callback\", \"Queue\", \"Hybrid\"",
        ),
        (
            operation("timeout", json!("721h")),
            "spec.operation.timeout: Invalid value: \"721h\": must be a duration above 0s and at most 720h, such as 90s, 1h30m or 1.5s",
        ),
        (
            operation("parameters", json!("x")),
            "spec.operation.parameters: Invalid value: \"x\": must be an object",
        ),
        (
            operation("parameters", many(65)),
            "spec.operation.parameters: Too many: 65: must have at most 64 items",
        ),
    ] {
        assert_eq!(told(spec), [expected]);
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let spec = json!({"replicas": 101, "image": "::", "port": 0, "env": {"A=B": "", "C": 1}, "operation": {"timeout": "1d"}});
    assert_eq!(told(spec).len(), 7);
}

#[test]
fn a_name_is_a_dns_1035_label_but_may_be_yet_to_come() {
    let told = problems(r#"{"metadata":{"name":"a.b"}}"#);
    assert_eq!(
        told[0].to_string(),
        format!(
            "metadata.name: Invalid value: \"a.b\": {}",
            rules::NAME_RULE
        )
    );
    assert_eq!(problems(r#"{"metadata":{"generateName":"a-"}}"#), []);
}

/// What is told of parameters that are written as `text`.
fn told_of_parameters(text: &str) -> Vec<String> {
    let task = format!(r#"{{"spec":{{"operation":{{"provider":"p","parameters":{text}}}}}}}"#);
    problems(&task).iter().map(Problem::to_string).collect()
}

#[test]
fn parameters_are_at_most_64_kib_however_written() {
    let of_length =
        |length: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(length - r#"{"a":""}"#.len()));
    for text in [of_length(65_536), of_length(65_536).replace(':', " :\n ")] {
        assert_eq!(told_of_parameters(&text), [""; 0]);
    }
    assert_eq!(
        told_of_parameters(&of_length(65_537)),
        ["spec.operation.parameters: Too long: may not be more than 65536 bytes as JSON"]
    );
}

#[test]
fn parameters_nest_at_most_64_levels_and_may_be_too_long_as_well() {
    const TOO_LONG: &str =
        "spec.operation.parameters: Too long: may not be more than 65536 bytes as JSON";
    const TOO_DEEP: &str =
        "spec.operation.parameters: Invalid value: may not nest more than 64 levels deep";
    let of_depth = |depth: usize| {
        let lists = depth - 1;
        format!(r#"{{"a":{}{}}}"#, "[".repeat(lists), "]".repeat(lists))
    };
    for (depth, expected) in [
        (64, &[][..]),
        (65, &[TOO_DEEP]),
        (40_000, &[TOO_LONG, TOO_DEEP]),
    ] {
        assert_eq!(told_of_parameters(&of_depth(depth)), expected, "{depth}");
    }
}

#[test]
fn what_was_wrong_before_and_is_left_as_it_was_is_let_through() {
    let bad = json!({"port": 0, "env": {"1A": "x", "B": 1}, "operation": {"timeout": "0s"}});
    assert_eq!(told_of_update(bad.clone(), bad.clone()), [""; 0]);
    for (pointer, value, told) in [
        ("/replicas", json!(3), 0),
        ("/port", json!(80), 0),
        ("/port", json!(-1), 1),
        ("/env/C", json!("fine"), 0),
        ("/env/1A", json!("changed, and so is looked at anew"), 0),
        ("/env/B", json!(2), 1),
        ("/env/2A", json!(""), 1),
        ("/operation/provider", json!("p"), 0),
        ("/operation/provider", json!("P"), 1),
        ("/operation/timeout", json!("00s"), 1),
    ] {
        let mut new = bad.clone();
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        new.pointer_mut(parent).unwrap()[name] = value;
        assert_eq!(told_of_update(new, bad.clone()).len(), told, "{pointer}");
    }
}

#[test]
fn the_same_value_in_another_writing_is_left_as_it_was() {
    let [new, old] = ["[1, {\"a\":2,\"b\":3}]", "[1,{\"b\":3,\"a\":2}]"]
        .map(|value| format!(r#"{{"spec":{{"env":{value}}}}}"#));
    assert_eq!(problems_of_update(&new, &old), []);
}

#[test]
fn a_field_that_becomes_wrong_is_refused() {
    assert_eq!(told_of_update(json!({"operation": {}}), json!({})).len(), 1);
    assert_eq!(
        told_of_update(json!({"port": 0}), json!({"port": 1})).len(),
        1
    );
}

#[test]
fn a_scale_has_the_bounds_of_replicas() {
    let scale =
        |replicas: Value| json!({"metadata": {}, "spec": {"replicas": replicas}}).to_string();
    let told = problems_of_scale(&scale(json!(101)), Some(scale(json!(1)).as_str()));
    assert_eq!(told.len(), 1);
    assert_eq!(
        told[0].to_string(),
        "spec.replicas: Invalid value: 101: must be between 0 and 100"
    );
    assert_eq!(
        problems_of_scale(&scale(json!(101)), Some(scale(json!(101)).as_str())),
        []
    );
    assert_eq!(problems_of_scale(&scale(json!(100)), None), []);
    assert_eq!(problems_of_scale(r#"{"spec":{}}"#, None), []);
}

#[test]
fn every_completion_is_named_as_it_is_written() {
    for way in Completion::ALL {
        assert_eq!(json!(way), json!(format!("{way:?}")));
    }
}
