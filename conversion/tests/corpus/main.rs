//! A corpus of reviews and the answers to them: a file in `reviews/pass` or `reviews/fail` is a case. Those whose names begin with
//! `captured` were recorded from a real API server by `cargo run --example record-reviews`; the others are written by hand.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod layout;
mod way_back;

use std::fs;

use layout::layout;
use serde_json::Value;
use task_conversion::review::{Answer, answer};
use task_conversion::task::TASK;
use way_back::way_back;

fn answered(body: &str) -> (Answer, Value) {
    let answer = answer(&TASK, body.as_bytes());
    let read = serde_json::from_str(&answer.body).unwrap();
    (answer, read)
}

#[test]
fn reviews_that_pass_are_answered_with_objects_whose_way_back_returns_the_originals() {
    insta::glob!("../reviews", "pass/*.json", |path| {
        let body = fs::read_to_string(path).unwrap();
        let (answer, read) = answered(&body);
        assert_eq!(
            read["response"]["result"]["status"], "Success",
            "{answer:?}"
        );
        let notes: String = answer
            .notes
            .iter()
            .map(|note| format!("{}: {:?}\n", note.object, note.event))
            .collect();
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("pass", layout(&answer.body) + &notes + &way_back(&body, &answer.body));
        });
    });
}

#[test]
fn reviews_that_fail_are_answered_with_one_line_for_a_person() {
    insta::glob!("../reviews", "fail/*.json", |path| {
        let body = fs::read_to_string(path).unwrap();
        let (answer, read) = answered(&body);
        assert_eq!(read["response"]["result"]["status"], "Failure");
        assert_eq!(read["response"]["convertedObjects"], serde_json::json!([]));
        let message = read["response"]["result"]["message"].as_str().unwrap();
        assert_eq!(answer.failure.as_deref(), Some(message));
        assert!(
            message.len() < 9_000 && !message.contains(char::is_control),
            "{message:?}"
        );
        // A line an object is easier to read than one line.
        let message = message.replace("; ", ";\n");
        let uid = &read["response"]["uid"];
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("fail", format!("{} uid {uid}\n{message}", read["apiVersion"]));
        });
    });
}
