//! What one of the versions has no room for.

use serde_json::{Value, json};
use task_conversion::TOTAL_LIMIT;

use crate::reviews::{
    by_v1alpha1, crowded, exact, marked, messages, on, review, task, update, warnings,
    written_at_v1alpha1,
};

#[test]
fn a_task_that_v1alpha1_has_no_room_for_is_refused() {
    let told = messages(&review("CREATE", crowded(exact()), Value::Null));
    assert_eq!(
        told,
        [
            "metadata.annotations: Too long: may not be more than 262144 bytes together with what v1alpha1 cannot show of this Task, which rides in one of them"
        ]
    );
    assert_eq!(
        warnings(&review(
            "CREATE",
            crowded(json!({"image": "a:1"})),
            Value::Null
        )),
        [""; 0]
    );
    assert_eq!(messages(&update(crowded(exact()), task(exact()))).len(), 1);
}

#[test]
fn a_task_that_never_had_room_can_still_be_changed() {
    let mut scaled = crowded(exact());
    scaled["spec"]["replicas"] = json!(2);
    assert_eq!(warnings(&update(scaled, crowded(exact()))), [""; 0]);
}

#[test]
fn a_write_at_v1alpha1_that_would_lose_what_was_left_out_is_refused() {
    let shown = written_at_v1alpha1(&crowded(exact()), true, |_| {});
    assert_eq!(
        shown["metadata"]["annotations"]["task.example.io/v1alpha1"],
        marked(&shown)["metadata"]["annotations"]["task.example.io/v1alpha1"],
        "the mark of the conversion"
    );
    let expected = [
        "metadata.annotations[task.example.io/v1]: Forbidden: a write at v1alpha1 would lose what was too large to show there: write this Task at v1",
    ];
    let write = by_v1alpha1(update(shown.clone(), shown.clone()));
    assert_eq!(messages(&write), expected);
    assert_eq!(messages(&on("status", write)), expected);
    let mut without = shown.clone();
    without["metadata"]["annotations"] = json!({});
    assert_eq!(
        messages(&by_v1alpha1(update(without, shown.clone()))),
        expected
    );
    // At v1 nothing is lost.
    assert_eq!(warnings(&update(shown.clone(), shown.clone())), [""; 0]);
    let mut going = shown.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    assert_eq!(warnings(&by_v1alpha1(update(going, shown))), [""; 0]);
}

#[test]
fn a_write_at_v1alpha1_that_v1_has_no_room_for_is_refused() {
    let order = json!([{"name": "B", "value": ""}, {"name": "A", "value": ""}]);
    let mut crowded = crowded(json!({"image": "a:1"}));
    crowded["metadata"]["annotations"]["a"] = json!("x".repeat(TOTAL_LIMIT - 45));
    let written = written_at_v1alpha1(&crowded, true, |shown| shown["spec"]["env"] = order.clone());
    let told = messages(&by_v1alpha1(review("CREATE", written.clone(), Value::Null)));
    assert!(told[0].contains("what v1 cannot show"), "{told:?}");
    // Whoever reads it at v1 and writes it back does no harm.
    assert_eq!(warnings(&update(written.clone(), written)), [""; 0]);
}

#[test]
fn an_object_that_cannot_be_converted_is_refused() {
    let mut bad = task(json!({"image": "a:1"}));
    bad["metadata"]["annotations"] = json!([]);
    let told = messages(&review("CREATE", bad.clone(), Value::Null));
    assert_eq!(
        told,
        [
            "spec: Invalid value: cannot be shown at v1alpha1: /metadata/annotations: expected an object, found array"
        ]
    );
    assert_eq!(warnings(&update(bad.clone(), bad)), [""; 0]);
}
