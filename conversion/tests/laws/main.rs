//! The laws of conversion, each over generated objects of both versions.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod generate;
mod json;

use generate::{crafted_rest, edited_text, hub, spoke};
use json::Json;
use proptest::prelude::*;
use task_conversion::Events;
use task_conversion::json::Scanner;
use task_conversion::task::TASK;

fn convert(object: &Json, desired: &str) -> Json {
    let text = object.text();
    let mut node = TASK.read(&mut Scanner::new(&text)).unwrap();
    TASK.convert(
        &mut node,
        TASK.version(&format!("task.example.io/{desired}")).unwrap(),
        &mut Events::new(),
    )
    .unwrap_or_else(|error| panic!("{error}: {text}"));
    Json::parse(&node.text())
}

fn down(object: &Json) -> Json {
    convert(object, "v1alpha1")
}

fn up(object: &Json) -> Json {
    convert(object, "v1")
}

/// The object as the target's schema leaves it: without the members that it does not know. (Generated ones begin with x.)
fn pruned(mut object: Json) -> Json {
    for container in ["", "/spec", "/status", "/status/operation"] {
        if let Some(members) = object.object_mut(container) {
            members.retain(|key, _| !key.starts_with('x'));
        }
    }
    if let Some(spec) = object.object_mut("/spec")
        && spec.contains_key("provider")
    {
        spec.remove("operation");
    }
    if let Some(Json::Array(conditions)) = object
        .object_mut("/status")
        .and_then(|status| status.get_mut("conditions"))
    {
        for condition in conditions {
            if let Some(members) = condition.object_mut("") {
                members.retain(|key, _| !key.starts_with('x'));
            }
        }
    }
    object
}

/// The object without the old names of v1alpha1's status, which agree with the new ones after a round trip.
fn without_old_names(mut object: Json) -> Json {
    if let Some(status) = object.object_mut("/status") {
        for name in ["taskStatus", "taskResult", "completedAt"] {
            status.remove(name);
        }
    }
    object
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn a_hub_object_comes_back_as_it_was(object in hub()) {
        let there = down(&object);
        prop_assert_eq!(up(&there), object, "by way of {}", there.text());
    }

    #[test]
    fn a_spoke_object_comes_back_as_it_was(object in spoke()) {
        let there = up(&object);
        prop_assert_eq!(without_old_names(down(&there)), object, "by way of {}", there.text());
    }

    #[test]
    fn unknown_fields_survive_a_schema_that_prunes_them(object in hub()) {
        let there = pruned(down(&object));
        prop_assert_eq!(up(&there), object, "by way of {}", there.text());
    }

    #[test]
    fn an_edit_wins_and_nothing_else_changes(object in hub(), text in edited_text()) {
        let mut there = down(&object);
        let Some(spec) = there.object_mut("/spec") else { return Ok(()) };
        spec.insert("image".to_owned(), text.clone());
        let mut expected = object;
        expected.object_mut("/spec").unwrap().insert("image".to_owned(), text);
        prop_assert_eq!(up(&there), expected, "by way of {}", there.text());
    }

    #[test]
    fn an_edit_of_the_timeout_leaves_the_rest_of_the_operation(object in hub()) {
        let mut there = down(&object);
        prop_assume!(there.at("/spec/provider").is_some());
        there.object_mut("/spec").unwrap().insert("timeoutSeconds".to_owned(), Json::Scalar("77".to_owned()));
        let mut expected = object;
        let timeout = Json::Scalar("\"1m17s\"".to_owned());
        expected.object_mut("/spec/operation").unwrap().insert("timeout".to_owned(), timeout);
        prop_assert_eq!(up(&there), expected, "by way of {}", there.text());
    }

    #[test]
    fn a_deleted_operation_stays_deleted(object in hub()) {
        let mut there = pruned(down(&object));
        prop_assume!(there.at("/spec/provider").is_some());
        let spec = there.object_mut("/spec").unwrap();
        for name in ["provider", "parameters", "timeoutSeconds"] {
            spec.remove(name);
        }
        prop_assert_eq!(up(&there).at("/spec/operation").cloned(), None, "from {}", there.text());
    }

    #[test]
    fn metadata_is_the_same_but_for_the_rest(object in hub()) {
        let strip = |mut object: Json| {
            if let Some(metadata) = object.object_mut("/metadata") {
                if let Some(Json::Object(annotations)) = metadata.get_mut("annotations") {
                    annotations.remove("task.example.io/v1");
                }
                if metadata.get("annotations") == Some(&Json::object([])) {
                    metadata.remove("annotations");
                }
            }
            object.at("/metadata").cloned()
        };
        prop_assert_eq!(strip(down(&object)), object.at("/metadata").cloned());
    }

    #[test]
    fn a_broken_rest_changes_nothing_that_is_seen(object in hub(), broken in "[{}\\[\\]\":a-z/0-9]{0,12}") {
        let clean = pruned(down(&object));
        let mut without = clean.clone();
        if let Some(annotations) = without.object_mut("/metadata/annotations") {
            annotations.remove("task.example.io/v1");
        }
        let mut with = without.clone();
        let annotations = with.object_mut("/metadata").unwrap().entry("annotations".to_owned()).or_insert(Json::object([]));
        annotations
            .object_mut("")
            .unwrap()
            .insert("task.example.io/v1".to_owned(), Json::Scalar(serde_json::Value::from(broken).to_string()));
        prop_assert_eq!(up(&with).at("/spec").cloned(), up(&without).at("/spec").cloned());
        prop_assert_eq!(up(&with).at("/status").cloned(), up(&without).at("/status").cloned());
    }

    #[test]
    fn whatever_stands_in_a_rest_the_object_stays_convertible(object in spoke(), rest in crafted_rest()) {
        let mut object = pruned(object);
        let annotations = Json::object([("task.example.io/v1", Json::Scalar(serde_json::Value::from(rest.text()).to_string()))]);
        object.object_mut("/metadata").unwrap().insert("annotations".to_owned(), annotations);
        let hub = up(&object);
        prop_assert_eq!(up(&down(&hub)), hub);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        prop_assert!(task_conversion::review::answer(&TASK, &bytes).failure.is_some());
    }
}
