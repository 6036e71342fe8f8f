//! Admission by example: one fact a test.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod fitting;
mod judging;
mod mutating;
mod protocol;
mod reviews;
mod warning;
