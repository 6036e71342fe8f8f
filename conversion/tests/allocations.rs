//! What a conversion allocates does not grow with what it does not touch, but for the answer itself.

#![allow(missing_docs, clippy::unwrap_used)]

use task_conversion::review::answer;
use task_conversion::task::TASK;

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// A review of a Task that keeps a rest on either way, with `text` in places that conversion does not touch.
fn review(version: &str, spec: &str, desired: &str, text: &str) -> String {
    format!(
        r#"{{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{{"uid":"u","desiredAPIVersion":"task.example.io/{desired}","objects":[{{"apiVersion":"task.example.io/{version}","kind":"Task","metadata":{{"name":"a","annotations":{{"mine":"{text}"}},"managedFields":[{{"manager":"{text}"}}]}},"spec":{{"image":"{text}",{spec}}},"status":{{"selector":"{text}","conditions":[{{"message":"{text}"}}]}}}}]}}}}"#
    )
}

/// The bytes that answering allocates beside the answer.
fn allocated_beside_the_answer(body: &str) -> u64 {
    let before = dhat::HeapStats::get().total_bytes;
    let answer = answer(&TASK, body.as_bytes());
    let allocated = dhat::HeapStats::get().total_bytes - before;
    assert_eq!(answer.failure, None);
    allocated - answer.body.capacity() as u64
}

#[test]
fn what_is_allocated_does_not_grow_with_what_is_not_touched() {
    let _profiler = dhat::Profiler::builder().testing().build();
    for (version, spec, desired) in [
        (
            "v1",
            r#""env":{"A":"1"},"operation":{"provider":"p","completion":"Queue","parameters":{"n":1}}"#,
            "v1alpha1",
        ),
        (
            "v1alpha1",
            r#""env":[{"name":"B","value":"1"},{"name":"A","value":"2"}],"provider":"p","timeoutSeconds":90"#,
            "v1",
        ),
    ] {
        let [short, long] = [10, 1_000_000]
            .map(|length| review(version, spec, desired, &"x".repeat(length)))
            .map(|body| {
                allocated_beside_the_answer(&body);
                allocated_beside_the_answer(&body)
            });
        dhat::assert!(long < short + 1000, "{version}: {short} and {long} bytes");
    }
}
