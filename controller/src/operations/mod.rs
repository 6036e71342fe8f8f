//! Long-running operations in external systems: each is started once, and followed to its end, whatever crashes.
//!
//! | what | module | talks to others |
//! |---|---|---|
//! | what there is to decide from | [`situation`] | no, plain values |
//! | what a provider says | [`answer`] | no, plain values |
//! | what to do next | [`decide`] | no, pure |
//! | the idempotency key | [`key`] | no, pure |
//! | what is asked for, and its hash | [`request`] | no, pure |
//! | where calls go to, and what answers mean | [`wire`] | no, pure |
//! | when to call next | [`schedule`], [`retry_after`] | no, pure |
//! | whom to call | [`providers`] | reads files |
//! | how much a provider is asked | [`gate`] | no |
//! | the calls | [`client`] | yes, providers |

pub mod answer;
pub mod client;
pub mod decide;
mod digest;
pub mod gate;
pub mod key;
pub mod providers;
pub mod request;
pub mod retry_after;
pub mod schedule;
pub mod situation;
pub mod wire;
