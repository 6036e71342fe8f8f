//! Any bytes at all as the body of a ConversionReview.

#![no_main]

use task_conversion::laws;
use task_conversion::task::TASK;

libfuzzer_sys::fuzz_target!(|body: &[u8]| {
    if let Err(broken) = laws::is_answered(&TASK, body) {
        panic!("{broken}");
    }
});
