//! Many Tasks in one file.

use std::fmt::Write;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::converted;

fn list(items: usize) -> String {
    let mut text = "apiVersion: v1\nkind: List\nitems:\n".to_owned();
    for item in 0..items {
        write!(
            text,
            "# number {item}\n- apiVersion: task.example.io/v1alpha1\n  kind: Task\n  metadata:\n    name: task-{item}  # name\n  spec:\n    provider: p\n    timeoutSeconds: 90\n    env:\n    # second\n    - name: B\n      value: b\n    - {{name: A, value: a}} # first\n"
        )
        .unwrap();
    }
    text
}

/// How long this thread's processor works at a List, whatever else the machine does.
fn work(items: usize) -> Duration {
    let text = list(items);
    let now = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap());
    let begin = now();
    let converted = converted(&text, "v1");
    let work = now() - begin;
    assert_eq!((converted.found.len(), converted.rewritten), (items, 0));
    work
}

#[test]
fn eight_times_the_items_take_about_eight_times_the_work() {
    work(1);
    let (few, many) = (work(50), work(400));
    let times = many.as_secs_f64() / few.as_secs_f64();
    assert!(times < 20.0, "{few:?} and {many:?}: {times:.1} times");
}
