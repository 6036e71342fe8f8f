//! Messages of a queue: CloudEvents, taken from it by all replicas together.
//!
//! | what | module | talks to others |
//! |---|---|---|
//! | the options | [`args`] | no |
//! | what a queue has to be able to do | [`broker`] | no |
//! | a queue in NATS JetStream | [`jetstream`] | yes, NATS |
//! | which Task an operation is of | [`directory`] | no |
//! | what is to become of a message | [`judge`] | no, pure |
//! | messages, one after the other | [`consume`] | by these |

pub mod args;
pub mod broker;
pub mod consume;
pub mod directory;
pub mod jetstream;
pub mod judge;

pub use args::Args;
