//! Task at v1: the hub and storage version.
//!
//! The types here are the API: the doc comment of each field becomes its description in the
//! CustomResourceDefinition and so what `kubectl explain` prints, and each rule becomes part of the
//! schema, so that the API server refuses a bad object with no webhook running. Nothing here does I/O.
//!
//! | module | holds |
//! |---|---|
//! | [`spec`] | what is asked for: [`Task`], [`TaskSpec`], [`Operation`] |
//! | [`status`] | what was observed: [`TaskStatus`], [`OperationStatus`] |
//! | [`defaults`] | what a field is when it is not given |
//! | [`rules`] | the bounds, patterns and messages of validation |
//! | [`validation`] | what is wrong with a Task by these rules, field by field |
//! | [`problem`] | how that is said |
//! | [`names`] | the names that other systems know: finalizer, annotations, conditions, reasons |
//! | [`duration`] | durations as Go writes them |
//! | [`json_text`] | what JSON text says, whoever wrote it |
//! | [`schema`] | what makes a derived schema fit for Kubernetes |

pub mod defaults;
pub mod duration;
pub mod json_text;
pub mod names;
pub mod problem;
pub mod rules;
pub mod schema;
pub mod spec;
pub mod status;
pub mod validation;

pub use spec::{Completion, Operation, Task, TaskSpec};
pub use status::{FailureDetail, OperationPhase, OperationStatus, TaskPhase, TaskStatus};
