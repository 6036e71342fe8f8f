//! What fuzzing has found, and what it starts from, held to the laws in the ordinary tests.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

#[path = "../fuzz/laws/round_trip.rs"]
mod round_trip;

use std::path::Path;

use task_conversion::laws;
use task_conversion::task::TASK;

fn replay(folder: &str, law: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut count = 0;
    for file in folder.read_dir().unwrap() {
        let path = file.unwrap().path();
        // Shown when the test fails: which file it was.
        println!("{}", path.display());
        law(&std::fs::read(path).unwrap());
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn every_review_is_answered() {
    for folder in [
        "fuzz/corpus/review",
        "tests/reviews/pass",
        "tests/reviews/fail",
    ] {
        replay(folder, |body| {
            laws::is_answered(&TASK, body).expect("an answer");
        });
    }
}

#[test]
fn what_converts_comes_back_as_it_was() {
    replay("fuzz/corpus/round_trip", round_trip::check);
}
