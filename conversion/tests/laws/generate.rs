//! Objects of both versions: whole ones as the schemas admit, and partial ones as server-side apply sends them.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::string::string_regex;

use task_conversion::laws::Json;

fn scalar(text: impl Into<String>) -> Json {
    Json::Scalar(text.into())
}

fn quoted(text: &str) -> Json {
    scalar(serde_json::Value::from(text).to_string())
}

/// Texts of a pattern, which is read once: a pattern that stands for a strategy is read anew for each text.
fn like(pattern: &str) -> BoxedStrategy<String> {
    string_regex(pattern).unwrap().boxed()
}

fn word() -> impl Strategy<Value = Json> {
    prop_oneof![
        like("[a-z]{0,6}").prop_map(|text| quoted(&text)),
        like("[\\PC\"\\\\\n]{0,6}").prop_map(|text| quoted(&text)),
        Just(scalar("\"\"")),
        Just(scalar(r#""\u003cb\u003e \ud83d\ude00""#)),
        Just(scalar("\"10\"")),
    ]
}

/// The raw text of keys.
fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => like("[a-z]{1,3}"),
        1 => like("[a-z/~.é]{1,3}"),
        1 => prop::sample::select(vec![r#"\""#, r"\\u0061", r"\n", r"\u00ea", "", "/"]).prop_map(str::to_owned),
    ]
}

/// Any JSON, nested up to a few levels.
fn any_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        word(),
        prop::sample::select(vec![
            "null",
            "true",
            "false",
            "0",
            "-0",
            "1.0",
            "0.1",
            "1e3",
            "1E+2",
            "9007199254740993",
            "18446744073709551616",
        ])
        .prop_map(scalar),
    ];
    leaf.prop_recursive(4, 16, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Json::Array),
            btree_map(keys(), inner, 0..3).prop_map(Json::Object),
        ]
    })
}

/// Members, each present or not.
fn some_of(members: Vec<(&'static str, BoxedStrategy<Json>)>) -> BoxedStrategy<Json> {
    let members: Vec<_> = members
        .into_iter()
        .map(|(name, value)| {
            prop::option::weighted(0.6, value)
                .prop_map(move |value| value.map(|value| (name, value)))
        })
        .collect();
    members
        .prop_map(|members| Json::object(members.into_iter().flatten()))
        .boxed()
}

/// Adds members that no schema knows, sometimes.
fn with_unknown(object: BoxedStrategy<Json>) -> BoxedStrategy<Json> {
    let unknown = btree_map(like("x[a-z~/é]{1,2}"), any_json(), 0..2);
    (object, prop::option::weighted(0.2, unknown))
        .prop_map(|(object, unknown)| match object {
            Json::Object(mut members) => {
                members.extend(unknown.unwrap_or_default());
                Json::Object(members)
            }
            other => other,
        })
        .boxed()
}

fn or_null(value: BoxedStrategy<Json>) -> BoxedStrategy<Json> {
    prop_oneof![12 => value, 1 => Just(scalar("null"))].boxed()
}

fn of(texts: &[&'static str]) -> BoxedStrategy<Json> {
    prop::sample::select(texts.to_vec())
        .prop_map(scalar)
        .boxed()
}

fn times() -> BoxedStrategy<Json> {
    of(&[
        "\"2026-01-02T03:04:05Z\"",
        "\"2026-01-02T03:04:05.120Z\"",
        "\"2026-01-02T04:04:05+01:00\"",
        "\"1999-12-31T23:59:60Z\"",
    ])
}

fn names() -> impl Strategy<Value = String> {
    like("[-._a-zA-C][-._a-c0-9]{0,2}")
}

fn metadata() -> BoxedStrategy<Json> {
    let texts = || {
        btree_map(like("[a-z]{1,4}(/[a-z]{1,3})?"), word(), 1..3)
            .prop_map(Json::Object)
            .boxed()
    };
    some_of(vec![
        ("name", of(&["\"demo\"", "\"a\""])),
        ("namespace", of(&["\"default\""])),
        ("uid", of(&["\"0b1c\""])),
        ("generation", of(&["7"])),
        ("labels", texts()),
        ("annotations", texts()),
        ("managedFields", any_json().boxed()),
    ])
}

fn conditions() -> BoxedStrategy<Json> {
    let condition = |kind: &'static str| {
        with_unknown(some_of(vec![
            ("status", of(&["\"True\"", "\"False\""])),
            ("reason", of(&["\"Why\""])),
            ("message", word().boxed()),
            ("lastTransitionTime", times()),
            ("observedGeneration", of(&["1", "2"])),
        ]))
        .prop_map(move |condition| match condition {
            Json::Object(mut members) => {
                members.insert("type".to_owned(), quoted(kind));
                Json::Object(members)
            }
            other => other,
        })
    };
    (condition("Ready"), condition("Stalled"), 0..3usize)
        .prop_map(|(a, b, count)| Json::Array([a, b].into_iter().take(count).collect()))
        .boxed()
}

fn status(more: Vec<(&'static str, BoxedStrategy<Json>)>) -> BoxedStrategy<Json> {
    let operation = some_of(vec![
        ("phase", of(&["\"Creating\"", "\"Ready\"", "\"Failed\""])),
        ("key", of(&["\"key-1\""])),
        ("requestHash", of(&["\"abc\""])),
        ("attempts", of(&["0", "3"])),
        ("startedAt", times()),
        ("nextCheckAt", times()),
        ("completedAt", times()),
        ("result", word().boxed()),
        ("lastEventID", word().boxed()),
    ]);
    let detail = some_of(vec![
        ("code", word().boxed()),
        ("message", word().boxed()),
        ("timestamp", times()),
    ]);
    let mut members = vec![
        ("observedGeneration", of(&["7"])),
        ("phase", of(&["\"Pending\"", "\"Succeeded\""])),
        ("replicas", of(&["0", "3"])),
        ("availableReplicas", of(&["0", "3"])),
        ("selector", word().boxed()),
        ("lastUpdateTime", times()),
        ("conditions", conditions()),
        ("lastAsyncOperationID", word().boxed()),
        ("externalSystemURL", word().boxed()),
        (
            "failureDetails",
            vec(detail, 0..3).prop_map(Json::Array).boxed(),
        ),
        ("operation", or_null(with_unknown(operation))),
    ];
    members.extend(more);
    or_null(with_unknown(some_of(members)))
}

fn task(
    version: &'static str,
    spec: BoxedStrategy<Json>,
    status: BoxedStrategy<Json>,
) -> BoxedStrategy<Json> {
    with_unknown(some_of(vec![
        ("metadata", metadata()),
        ("spec", or_null(with_unknown(spec))),
        ("status", status),
    ]))
    .prop_map(move |task| match task {
        Json::Object(mut members) => {
            members.insert(
                "apiVersion".to_owned(),
                quoted(&format!("task.example.io/{version}")),
            );
            members.insert("kind".to_owned(), quoted("Task"));
            members
                .entry("metadata".to_owned())
                .or_insert_with(|| Json::object([]));
            Json::Object(members)
        }
        other => other,
    })
    .boxed()
}

fn common_spec() -> Vec<(&'static str, BoxedStrategy<Json>)> {
    vec![
        ("replicas", of(&["0", "1", "100"])),
        (
            "image",
            of(&[
                "\"nginx:alpine\"",
                "\"r.io:5000/a/b@sha256:00112233445566778899aabbccddeeff\"",
            ]),
        ),
        ("port", of(&["1", "8080", "65535"])),
    ]
}

/// A v1 Task.
pub fn hub() -> BoxedStrategy<Json> {
    let operation = with_unknown(some_of(vec![
        ("provider", of(&["\"volumes\"", "\"reports\""])),
        (
            "parameters",
            or_null(
                btree_map(keys(), any_json(), 0..4)
                    .prop_map(Json::Object)
                    .boxed(),
            ),
        ),
        (
            "completion",
            of(&["\"Poll\"", "\"Callback\"", "\"Queue\"", "\"Hybrid\""]),
        ),
        (
            "timeout",
            of(&[
                "\"1h\"",
                "\"90s\"",
                "\"1.5s\"",
                "\"1m30s\"",
                "\"720h\"",
                "\"1ns\"",
                "\"1h0m\"",
                "\"+1h\"",
                "\"719h59m59.999999999s\"",
                "null",
            ]),
        ),
    ]));
    let env = btree_map(names(), word(), 0..4)
        .prop_map(Json::Object)
        .boxed();
    let mut spec = common_spec();
    spec.extend([("env", or_null(env)), ("operation", or_null(operation))]);
    task("v1", some_of(spec), status(Vec::new()))
}

/// A v1alpha1 Task. The old names of its status are absent: they have a law of their own.
pub fn spoke() -> BoxedStrategy<Json> {
    spoke_with(Vec::new())
}

/// A v1alpha1 Task whose status has old names, in agreement with the new ones or not.
pub fn spoke_with_old_names() -> BoxedStrategy<Json> {
    spoke_with(vec![
        (
            "taskStatus",
            of(&["\"\"", "\"Running\"", "\"Completed\"", "\"Failed\"", "null"]),
        ),
        ("taskResult", or_null(word().boxed())),
        ("completedAt", or_null(times())),
    ])
}

fn spoke_with(old_names: Vec<(&'static str, BoxedStrategy<Json>)>) -> BoxedStrategy<Json> {
    let entry = |name: String| {
        with_unknown(some_of(vec![("value", word().boxed())])).prop_map(move |entry| match entry {
            Json::Object(mut members) => {
                members.insert("name".to_owned(), quoted(&name));
                Json::Object(members)
            }
            other => other,
        })
    };
    let names = prop::collection::btree_set(names(), 0..4)
        .prop_map(|names| names.into_iter().collect::<Vec<_>>());
    let env = names
        .prop_shuffle()
        .prop_flat_map(move |names| names.into_iter().map(entry).collect::<Vec<_>>())
        .prop_map(Json::Array);
    let mut spec = common_spec();
    spec.extend([
        ("env", or_null(env.boxed())),
        ("provider", of(&["\"volumes\"", "\"reports\""])),
        (
            "parameters",
            or_null(
                btree_map(keys(), word(), 0..4)
                    .prop_map(Json::Object)
                    .boxed(),
            ),
        ),
        (
            "timeoutSeconds",
            of(&["1", "90", "3600", "2592000", "1e3", "90.0", "null"]),
        ),
    ]);
    task("v1alpha1", some_of(spec), status(old_names))
}

/// Text of any kind.
pub fn edited_text() -> BoxedStrategy<Json> {
    word().boxed()
}

/// A rest of either version as only a hand would write it.
pub fn crafted_rest() -> BoxedStrategy<Json> {
    let keys = prop::sample::select(vec![
        "/xb",
        "/spec",
        "/spec/env",
        "/spec/image",
        "/spec/provider",
        "/spec/parameters",
        "/spec/timeoutSeconds",
        "/spec/operation",
        "/spec/operation/provider",
        "/spec/operation/completion",
        "/spec/operation/timeout",
        "/spec/operation/parameters",
        "/spec/xa",
        "/status",
        "/status/operation",
        "/status/taskStatus",
        "/status/completedAt",
        "/metadata/name",
        "/apiVersion",
        "kinds:/spec/operation/parameters",
        "texts:/spec/parameters",
        "order:/spec/env",
        "unread",
    ]);
    let value = prop_oneof![
        hub().prop_map(|task| task
            .at("/spec/operation")
            .cloned()
            .unwrap_or(Json::Scalar("5".to_owned()))),
        spoke().prop_map(|task| task
            .at("/spec/env")
            .cloned()
            .unwrap_or(Json::Scalar("\"1h\"".to_owned()))),
        btree_map(keys_of_parameters(), kinds(), 0..3).prop_map(Json::Object),
        any_json(),
    ];
    btree_map(keys.prop_map(str::to_owned), value, 1..4)
        .prop_map(Json::Object)
        .boxed()
}

fn keys_of_parameters() -> impl Strategy<Value = String> {
    "[a-z]"
}

fn kinds() -> BoxedStrategy<Json> {
    of(&[
        "\"number\"",
        "\"string\"",
        "\"object\"",
        "\"number, as written\"",
        "\"10\"",
        "5",
    ])
}
