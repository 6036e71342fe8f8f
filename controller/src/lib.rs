//! The controller of Task.
