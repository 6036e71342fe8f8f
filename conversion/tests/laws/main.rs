//! The laws of conversion, each over generated objects of both versions.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod generate;
mod old_names;

use generate::{crafted_rest, edited_text, hub, spoke, spoke_with_old_names};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use task_conversion::Event;
use task_conversion::laws::{self, Json};
use task_conversion::task::TASK;

fn converted(object: &Json, desired: &str) -> (Json, Vec<Event>) {
    laws::converted(&TASK, object, desired).unwrap_or_else(|broken| panic!("{broken}"))
}

fn down(object: &Json) -> Json {
    converted(object, "v1alpha1").0
}

fn up(object: &Json) -> Json {
    converted(object, "v1").0
}

/// The object as the target's schema leaves it: without the members that it does not know. (Generated ones begin with x.) Of the
/// status both versions know the same.
fn pruned(mut object: Json) -> Json {
    for container in ["", "/spec", "/spec/operation"] {
        if let Some(members) = object.object_mut(container) {
            members.retain(|key, _| !key.starts_with('x'));
        }
    }
    if let Some(Json::Array(env)) = object
        .object_mut("/spec")
        .and_then(|spec| spec.get_mut("env"))
    {
        for entry in env {
            if let Some(members) = entry.object_mut("") {
                members.retain(|key, _| !key.starts_with('x'));
            }
        }
    }
    let is_spoke =
        object.at("/apiVersion") == Some(&Json::Scalar("\"task.example.io/v1alpha1\"".to_owned()));
    if let Some(spec) = object.object_mut("/spec")
        && is_spoke
    {
        spec.remove("operation");
    }
    object
}

/// The same with the annotation `key`.
fn annotated(mut object: Json, key: &str, value: &str) -> Json {
    let metadata = object.object_mut("/metadata").unwrap();
    let annotations = metadata
        .entry("annotations".to_owned())
        .or_insert(Json::object([]));
    let value = Json::Scalar(serde_json::Value::from(value).to_string());
    annotations
        .object_mut("")
        .unwrap()
        .insert(key.to_owned(), value);
    object
}

/// The same 10,000 cases in each run, unless `PROPTEST_CASES` and `PROPTEST_RNG_SEED` say otherwise.
fn config() -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig {
        cases: std::env::var_os("PROPTEST_CASES").map_or(10_000, |_| config.cases),
        failure_persistence: None,
        max_global_rejects: 100_000,
        rng_seed: match config.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            fixed => fixed,
        },
        ..config
    }
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
    #![proptest_config(config())]

    #[test]
    fn a_hub_object_comes_back_as_it_was(object in hub()) {
        prop_assert_eq!(laws::comes_back(&TASK, &object, "v1", "v1alpha1"), Ok(()));
    }

    #[test]
    fn a_spoke_object_comes_back_as_it_was(object in spoke()) {
        let there = up(&object);
        prop_assert_eq!(without_old_names(down(&there)), object, "by way of {}", there.text());
    }

    #[test]
    fn old_names_come_back_in_agreement_with_the_new_ones(object in spoke_with_old_names()) {
        let there = up(&object);
        prop_assert_eq!(down(&there), old_names::in_agreement(object), "by way of {}", there.text());
    }

    #[test]
    fn unknown_fields_of_a_spoke_object_survive_a_schema_that_prunes_them(object in spoke()) {
        let there = pruned(up(&object));
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
    fn an_edit_of_a_variable_leaves_the_order_of_the_others(object in spoke(), value in edited_text()) {
        let mut there = up(&object);
        let Some(name) = there.object_mut("/spec/env").and_then(|env| env.keys().next().cloned()) else { return Ok(()) };
        there.object_mut("/spec/env").unwrap().insert(name.clone(), value.clone());
        let mut expected = object;
        let Some(Json::Array(env)) = expected.object_mut("/spec").unwrap().get_mut("env") else { panic!("a list") };
        let entry = env.iter_mut().find(|entry| entry.at("/name") == Some(&Json::Scalar(format!("\"{name}\"")))).unwrap();
        let had_value = entry.at("/value").is_some();
        if had_value || value != Json::Scalar("\"\"".to_owned()) {
            entry.object_mut("").unwrap().insert("value".to_owned(), value);
        }
        prop_assert_eq!(without_old_names(down(&there)), expected, "by way of {}", there.text());
    }

    #[test]
    fn a_deleted_variable_stays_deleted_and_the_others_keep_their_order(object in spoke()) {
        let mut there = up(&object);
        let Some(name) = there.object_mut("/spec/env").and_then(|env| env.keys().next().cloned()) else { return Ok(()) };
        there.object_mut("/spec/env").unwrap().remove(&name);
        let mut expected = object;
        let Some(Json::Array(env)) = expected.object_mut("/spec").unwrap().get_mut("env") else { panic!("a list") };
        env.retain(|entry| entry.at("/name") != Some(&Json::Scalar(format!("\"{name}\""))));
        prop_assert_eq!(without_old_names(down(&there)), expected, "by way of {}", there.text());
    }

    #[test]
    fn an_edited_parameter_wins_and_the_others_keep_their_kinds(object in hub(), text in edited_text()) {
        let mut there = down(&object);
        let Some(name) = there.object_mut("/spec/parameters").and_then(|parameters| parameters.keys().next().cloned()) else { return Ok(()) };
        let text = if text == Json::Scalar("\"10\"".to_owned()) { Json::Scalar("\"no number\"".to_owned()) } else { text };
        there.object_mut("/spec/parameters").unwrap().insert(name.clone(), text.clone());
        let mut expected = object;
        expected.object_mut("/spec/operation/parameters").unwrap().insert(name, text);
        prop_assert_eq!(up(&there), expected, "by way of {}", there.text());
    }

    #[test]
    fn a_deleted_parameter_stays_deleted(object in hub()) {
        let mut there = down(&object);
        let Some(name) = there.object_mut("/spec/parameters").and_then(|parameters| parameters.keys().next().cloned()) else { return Ok(()) };
        there.object_mut("/spec/parameters").unwrap().remove(&name);
        let mut expected = object;
        expected.object_mut("/spec/operation/parameters").unwrap().remove(&name);
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
        prop_assume!(!broken.starts_with("{}"));
        let mut without = pruned(down(&object));
        if let Some(annotations) = without.object_mut("/metadata/annotations") {
            annotations.remove("task.example.io/v1");
        }
        let with = annotated(without.clone(), "task.example.io/v1", &broken);
        let (seen, events) = converted(&with, "v1");
        let unseen = up(&without);
        prop_assert_eq!(seen.at("/spec"), unseen.at("/spec"));
        prop_assert_eq!(seen.at("/status"), unseen.at("/status"));
        prop_assert!(matches!(events.as_slice(), [Event::Broken(_), ..]), "{:?}", events);
    }

    #[test]
    fn whatever_stands_in_a_rest_of_the_hub_what_is_visible_stays(object in spoke(), rest in crafted_rest()) {
        let object = annotated(pruned(object), "task.example.io/v1", &rest.text());
        let hub = up(&object);
        let mut back = down(&hub);
        up(&back);
        prop_assert_eq!(visible(&mut back), visible(&mut object.clone()), "by way of {}", hub.text());
    }

    #[test]
    fn whatever_stands_in_a_rest_of_the_spoke_what_is_visible_stays(object in hub(), rest in crafted_rest()) {
        let object = annotated(pruned(object), "task.example.io/v1alpha1", &rest.text());
        let spoke = down(&object);
        let mut back = up(&spoke);
        down(&back);
        prop_assert_eq!(visible(&mut back), visible(&mut object.clone()), "by way of {}", spoke.text());
    }

    #[test]
    fn no_bytes_make_it_panic(
        object in prop_oneof![hub(), spoke()],
        desired in prop::sample::select(vec!["v1", "v1alpha1"]),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3usize), 1..4),
    ) {
        let mut body = format!(
            r#"{{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{{"uid":"u","desiredAPIVersion":"task.example.io/{desired}","objects":[{}]}}}}"#,
            object.text()
        )
        .into_bytes();
        for (at, byte, kind) in edits {
            let at = at.index(body.len());
            match kind {
                0 => body[at] = byte,
                1 => body.insert(at, b"{}[]\",:\\0"[usize::from(byte) % 9]),
                _ => { body.remove(at); }
            }
        }
        prop_assert_eq!(laws::is_answered(&TASK, &body), Ok(()));
    }
}

/// What a person sees of an object: the known fields, and no rest.
fn visible(object: &mut Json) -> Json {
    if let Some(annotations) = object.object_mut("/metadata/annotations") {
        annotations.retain(|key, _| !key.starts_with("task.example.io/"));
    }
    for (container, known) in [
        (
            "",
            &["apiVersion", "kind", "metadata", "spec", "status"][..],
        ),
        (
            "/spec",
            &[
                "replicas",
                "image",
                "port",
                "env",
                "provider",
                "parameters",
                "timeoutSeconds",
                "operation",
            ],
        ),
        (
            "/spec/operation",
            &["provider", "parameters", "completion", "timeout"],
        ),
    ] {
        if let Some(members) = object.object_mut(container) {
            members.retain(|key, _| known.contains(&key.as_str()));
        }
    }
    for (container, name) in [("/metadata", "annotations"), ("/spec", "operation")] {
        if let Some(members) = object.object_mut(container)
            && let Some(value) = members.get(name)
            && [Json::object([]), Json::Scalar("null".to_owned())].contains(value)
        {
            members.remove(name);
        }
    }
    without_old_names(object.clone())
}
