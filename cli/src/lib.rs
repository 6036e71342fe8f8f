//! `kubectl task`: the person's tool for Tasks and for the way from v1alpha1 to v1.
//!
//! Data goes to the standard output and all else to the standard error. The exit code is that of an [`Outcome`], 2 for an error.

mod args;
pub mod check;
pub mod cluster;
mod completion;
pub mod convert;
pub mod diff;
pub mod events;
pub mod manifest;
pub mod migrate;
pub mod names;
mod outcome;
pub mod ownership;
pub mod progress;
pub mod report;
pub mod run;
pub mod status;
mod version;

pub use args::Args;
pub use outcome::Outcome;
