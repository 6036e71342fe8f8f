//! What a provider tells of an operation by itself, at both ends: the controller takes it in, the provider simulator and `xtask
//! publish-event` send it. The wire is described in `docs/provider-protocol.md`.
//!
//! | module | holds |
//! |---|---|
//! | [`signature`] | how a callback proves whom it is from |
//! | [`event`] | the messages of a queue |
//! | [`nats`] | the queue in NATS JetStream |

pub mod event;
pub mod nats;
pub mod signature;
