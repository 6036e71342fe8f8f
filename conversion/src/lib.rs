//! Conversion of Task between its versions: pure functions here, the webhook server in [`server`].
//!
//! An object stays raw JSON. Only the containers on the way to a field that differs are opened; every other value is copied as it
//! stands. [`Kind`] and everything below it know nothing of Task: a table of [`Field`]s a spoke says how the versions stand to each
//! other, and [`task`] is that table for Task.
//!
//! What the target version cannot show rides in one annotation, the [`rest`], named for the version it is of, and is gone again
//! after the way back. An edit of what is shown always wins over the rest.

pub mod admission;
mod annotations;
mod crossing;
mod error;
mod events;
mod field;
pub mod json;
mod kind;
pub mod laws;
pub mod lens;
mod pointer;
pub mod rest;
mod restore;
pub mod review;
pub mod server;
pub mod task;
mod tree;
mod unknown;

pub use annotations::TOTAL_LIMIT;
pub use error::ConvertError;
pub use events::{Event, Events};
pub use field::{Field, hub_only, mapped, old_name, same, spoke_only};
pub use kind::Kind;
