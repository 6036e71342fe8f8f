//! What v1alpha1's status is once its old names agree with the new ones, in words of its own.

use std::collections::BTreeMap;

use task_conversion::laws::Json;

/// The phases, new and old.
const PHASES: [(&str, &str); 3] = [
    ("\"Creating\"", "\"Running\""),
    ("\"Ready\"", "\"Completed\""),
    ("\"Failed\"", "\"Failed\""),
];

/// Two writings of one instant.
const ONE_INSTANT: [&str; 2] = ["\"2026-01-02T03:04:05Z\"", "\"2026-01-02T04:04:05+01:00\""];

/// An old name that says something else than the new one beside it wins; then both say the same.
pub fn in_agreement(mut object: Json) -> Json {
    if let Some(status) = object.object_mut("/status") {
        for (old, new) in [
            ("taskStatus", "phase"),
            ("taskResult", "result"),
            ("completedAt", "completedAt"),
        ] {
            agree(status, old, new);
        }
    }
    object
}

fn agree(status: &mut BTreeMap<String, Json>, old: &str, new: &str) {
    let said = status.remove(old).filter(|said| !is_silent(said));
    let known = |status: &BTreeMap<String, Json>| {
        let value = status.get("operation")?.at(&format!("/{new}"))?.clone();
        Some(in_old_words(value, new))
    };
    if let Some(said) = said
        && !known(status).is_some_and(|known| says_the_same(&known, &said))
    {
        let operation = status
            .entry("operation".to_owned())
            .or_insert(Json::object([]));
        if !matches!(operation, Json::Object(_)) {
            *operation = Json::object([]);
        }
        let members = operation.object_mut("").unwrap();
        members.insert(new.to_owned(), in_new_words(said, new));
    }
    if let Some(known) = known(status) {
        status.insert(old.to_owned(), known);
    }
}

fn is_silent(said: &Json) -> bool {
    matches!(said, Json::Scalar(text) if text == "null" || text == "\"\"")
}

fn says_the_same(a: &Json, b: &Json) -> bool {
    let instant =
        |json: &Json| matches!(json, Json::Scalar(text) if ONE_INSTANT.contains(&text.as_str()));
    a == b || (instant(a) && instant(b))
}

fn in_old_words(value: Json, new: &str) -> Json {
    translate(value, new, |(new, _), text| new == text, |(_, old)| old)
}

fn in_new_words(value: Json, new: &str) -> Json {
    translate(value, new, |(_, old), text| old == text, |(new, _)| new)
}

fn translate(
    value: Json,
    new: &str,
    is_it: impl Fn((&str, &str), &str) -> bool,
    other: impl Fn((&'static str, &'static str)) -> &'static str,
) -> Json {
    match value {
        Json::Scalar(text) if new == "phase" => {
            let pair = PHASES.into_iter().find(|pair| is_it(*pair, &text)).unwrap();
            Json::Scalar(other(pair).to_owned())
        }
        value => value,
    }
}
