//! Long-running operations in external systems: each is started once, and followed to its end, whatever crashes.
//!
//! | what | module | talks to others |
//! |---|---|---|
//! | what there is to decide from | [`situation`] | no, plain values |
//! | what a Task says of its operation | [`observe`] | no, pure |
//! | what its status is to say | [`status`] | no, pure |
//! | what a provider says | [`answer`] | no, plain values |
//! | what to do next | [`decide`] | no, pure |
//! | the idempotency key | [`key`] | no, pure |
//! | what is asked for, and its hash | [`request`] | no, pure |
//! | where calls go to, and what answers mean | [`wire`] | no, pure |
//! | when to call next | [`schedule`], [`retry_after`] | no, pure |
//! | whom to call | [`providers`] | reads files |
//! | how much a provider is asked | [`gate`] | no |
//! | the calls | [`client`] | yes, providers |
//! | what providers tell by themselves | [`signals`] | yes, both |
//! | Tasks as they are now | [`store`] | yes, the API server |
//! | one turn: decide, call, write | [`turn`] | by these two |
//! | who has a turn, and when | [`driver`] | no |
//! | what is counted | [`metrics`] | no |
//!
//! A pass only asks [`driver::Operations::attend`], which waits for nothing.

pub mod answer;
pub mod client;
pub mod decide;
mod digest;
pub mod driver;
pub mod gate;
pub mod key;
pub mod metrics;
pub mod observe;
pub mod providers;
pub mod request;
pub mod retry_after;
pub mod schedule;
pub mod signals;
pub mod situation;
pub mod status;
pub mod store;
pub mod turn;
pub mod wire;
