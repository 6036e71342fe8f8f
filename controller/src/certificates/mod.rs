//! The certificates of the webhooks, where there is no cert-manager.
//!
//! The API server calls the webhooks over TLS, and believes only what an authority in the `caBundle` of the definition or the registration
//! has signed. [`keep`] makes the authority and the server's certificate, publishes the one, hands out the other, and replaces both in
//! time, in an order in which no call is ever refused: see [`plan`].
//!
//! The serving certificate reaches the server as a Secret that it has mounted. An authority is replaced as a whole, with its key.

mod api;
mod args;
mod authority;
mod certificate;
mod events;
mod keeper;
mod life;
mod metrics;
mod plan;
mod record;
mod target;

pub use args::{Args, TooShort};
pub use keeper::keep;
pub use metrics::Metrics;
