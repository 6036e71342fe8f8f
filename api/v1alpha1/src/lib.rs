//! Task at v1alpha1: the deprecated spoke version.
//!
//! It says the same as v1 in an older form, and what it admits, v1 admits after conversion: the
//! rules and defaults are those of [`task_api_v1`], not copies of them. Nothing here does I/O.

pub mod spec;
pub mod status;

pub use spec::{EnvVar, Task, TaskSpec};
pub use status::{TaskState, TaskStatus};
