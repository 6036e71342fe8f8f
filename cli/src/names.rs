//! The names that clusters remember: once one holds them, changing one breaks it.

/// The annotation of the CustomResourceDefinition that remembers a migration that has begun and not ended.
pub const MARK: &str = "task.example.io/migration";

/// The manager of what a migration writes.
pub const FIELD_MANAGER: &str = "kubectl-task";

/// The manager of the entry that stands where none is left. Without any, the API server would take all fields for those of a manager
/// of its own making, `before-first-apply`, at the next apply, and that one would never let go of them.
pub const SEED: &str = FIELD_MANAGER;

/// The annotation in which `kubectl apply` remembers what it has applied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
