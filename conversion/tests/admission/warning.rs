//! What is let through with a warning.

use serde_json::{Value, json};

use crate::reviews::{by_v1alpha1, create, review, task, update, warnings, written_at_v1alpha1};

#[test]
fn an_image_that_may_move_is_warned_of() {
    let digest = format!("a@sha256:{}", "0".repeat(64));
    let latest = format!("a:latest@sha256:{}", "0".repeat(64));
    for (image, warned) in [
        ("a", true),
        ("a:latest", true),
        ("host:5000/b/a", true),
        ("host:5000/a:latest", true),
        ("a:1", false),
        ("host:5000/a:latest-1", false),
        (&digest, false),
        (&latest, false),
    ] {
        let told = warnings(&create(json!({"image": image})));
        assert_eq!(told.len(), usize::from(warned), "{image}: {told:?}");
        let (new, other) = (task(json!({"image": image})), task(json!({"image": "b:1"})));
        assert_eq!(warnings(&update(new.clone(), other)), told);
        assert_eq!(warnings(&update(new.clone(), new)), [""; 0]);
    }
}

#[test]
fn an_operation_that_changes_while_it_runs_is_warned_of() {
    let running = |spec: Value, phase: &str| {
        let mut task = task(spec);
        task["status"] = json!({"operation": {"phase": phase}});
        task
    };
    let one = json!({"image": "a:1", "operation": {"provider": "p"}});
    let none = json!({"image": "a:1"});
    for (new, phase, warned) in [
        (
            json!({"image": "a:1", "operation": {"provider": "q"}}),
            "Creating",
            true,
        ),
        (none.clone(), "Creating", true),
        (
            json!({"image": "a:2", "operation": {"provider": "p"}}),
            "Creating",
            false,
        ),
        (none, "Ready", false),
    ] {
        let told = warnings(&update(running(new, phase), running(one.clone(), phase)));
        assert_eq!(told.len(), usize::from(warned), "{told:?}");
    }
    let told = warnings(&review("DELETE", Value::Null, running(one, "Creating")));
    assert_eq!(
        told,
        ["deleted while its operation is running (status.operation.phase is Creating)"]
    );
}

#[test]
fn a_replace_with_an_old_file_is_allowed_and_names_what_it_resets() {
    let old = task(
        json!({"image": "a:1", "operation": {"provider": "p", "completion": "Queue", "timeout": "1.5s"}}),
    );
    let replaced = written_at_v1alpha1(&old, false, |_| {});
    assert_eq!(
        warnings(&by_v1alpha1(update(replaced.clone(), old.clone()))),
        [
            "this write at v1alpha1 resets what only v1 can show: spec.operation.timeout, spec.operation.completion"
        ]
    );
    // The same at v1 is what its author wrote.
    assert_eq!(warnings(&update(replaced, old.clone())), [""; 0]);
    let edited = written_at_v1alpha1(&old, true, |shown| shown["spec"]["replicas"] = json!(3));
    assert_eq!(warnings(&by_v1alpha1(update(edited, old))), [""; 0]);
}

#[test]
fn a_warning_is_short_and_on_one_line() {
    let parameters: serde_json::Map<_, _> = (0..20)
        .map(|n| (format!("key\n{n}{}", "x".repeat(100)), json!(n)))
        .collect();
    let old =
        task(json!({"image": "a:1", "operation": {"provider": "p", "parameters": parameters}}));
    let replaced = written_at_v1alpha1(&old, false, |_| {});
    let told = warnings(&by_v1alpha1(update(replaced, old)));
    assert!(
        told[0].chars().count() <= 256 && !told[0].contains('\n'),
        "{told:?}"
    );
}
