//! Any bytes at all as the body of a ConversionReview.

#![no_main]

#[path = "../laws/review.rs"]
mod law;

libfuzzer_sys::fuzz_target!(|body: &[u8]| law::check(body));
