//! Any bytes as one object, there and back again.

#![no_main]

#[path = "../laws/round_trip.rs"]
mod law;

libfuzzer_sys::fuzz_target!(|object: &[u8]| law::check(object));
