//! The controller of Task.
//!
//! It watches Tasks at v1 and keeps, for each, a ConfigMap, a Service and a Deployment as the Task says,
//! and the Task's status as they are. See [`reconcile`] for how one pass goes.
//!
//! | module | holds |
//! |---|---|
//! | [`run`] | the wiring: watches, queue, servers, shutdown |
//! | [`pass`] | whether a pass is for this replica to make, and what is counted of it |
//! | [`reconcile`] | one pass over one Task |
//! | [`cache`] | what the API server holds, as far as the controller has heard |
//! | `compact` | text that takes little room |
//! | [`watched`] | a Task as the watch gives it, also one that does not decode |
//! | [`stored`] | a child as the watch gives it |
//! | `roster` | which Tasks there are |
//! | [`triggers`] | which changes of a Task make a pass |
//! | [`retry`] | when a Task whose pass failed is tried again |
//! | [`shards`] | which replica looks after which Task |
//! | [`work_queue`] | the bounded pool for calls to the outside |
//! | [`operations`] | long-running operations at providers, which workloads wait for |
//! | [`events`] | what people are told of a Task beside its status |
//! | [`certificates`] | the certificates of the webhooks, where there is no cert-manager |
//! | [`stop`] | when the process is asked to stop |
//! | [`health`], [`metrics`], [`logging`] | what others see of the process |
//! | [`names`] | the names that other systems know |

mod args;
pub mod cache;
pub mod certificates;
mod compact;
pub mod events;
#[cfg(test)]
mod fixtures;
pub mod health;
pub mod logging;
pub mod metrics;
pub mod names;
pub mod operations;
pub mod pass;
pub mod reconcile;
pub mod retry;
mod roster;
pub mod run;
pub mod shards;
pub mod stop;
pub mod stored;
pub mod triggers;
pub mod watched;
pub mod work_queue;

pub use args::{Args, LogFormat};
