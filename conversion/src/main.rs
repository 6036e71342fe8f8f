//! The webhook server `task-conversion`.
fn main() {}
