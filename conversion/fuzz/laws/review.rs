//! What must hold for the answer to any bytes at all. The fuzz target and the test that replays its corpus both call this.

use serde_json::Value;
use task_conversion::json::Scanner;
use task_conversion::review;
use task_conversion::task::TASK;

/// Whatever the body is, the answer is a ConversionReview that succeeds or says why not on one line, and nothing panics.
pub fn check(body: &[u8]) {
    let answer = review::answer(&TASK, body);
    assert_eq!(answer.panics, 0, "{:?}", answer.failure);
    let mut scanner = Scanner::new(&answer.body);
    let whole = scanner.value().and_then(|_| scanner.end());
    assert!(whole.is_ok(), "the answer is JSON: {whole:?}");
    // Serde_json gives up at a depth where the conversion goes on.
    let Ok(said) = serde_json::from_str::<Value>(&answer.body) else {
        return;
    };
    let response = &said["response"];
    match &answer.failure {
        None => {
            assert_eq!(response["result"]["status"], "Success");
            let Ok(sent) = serde_json::from_slice::<Value>(body) else {
                return;
            };
            let count = |objects: &Value| objects.as_array().map_or(0, Vec::len);
            let objects = &response["convertedObjects"];
            assert_eq!(count(objects), count(&sent["request"]["objects"]));
        }
        Some(failure) => {
            assert_eq!(response["result"]["status"], "Failure");
            assert_eq!(response["result"]["message"], failure.as_str());
            assert!(!failure.is_empty() && !failure.contains('\n'), "{failure}");
        }
    }
}
