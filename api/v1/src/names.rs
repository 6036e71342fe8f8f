//! The names that other systems know: once a cluster holds a Task, changing one breaks it.

/// The API group of Task.
pub const GROUP: &str = "task.example.io";

/// The name of this version.
pub const VERSION: &str = "v1";

/// The kind.
pub const KIND: &str = "Task";

/// The plural, as in the resource's path.
pub const PLURAL: &str = "tasks";

/// The finalizer that holds a Task back from deletion until its operation has been dealt with.
pub const FINALIZER: &str = "task.example.io/finalizer";

/// The field manager under which the controller applies children and writes status.
pub const FIELD_MANAGER: &str = "task-controller";

/// The suffix of the name of a Task's ConfigMap.
pub const CONFIG_MAP_SUFFIX: &str = "-config";

/// Annotations that the conversion keeps: JSON of what the object's version cannot hold.
pub mod annotation {
    /// On a v1alpha1 object: what only v1 can hold. Reserved: it has no meaning on a v1 object.
    pub const V1_REST: &str = "task.example.io/v1";

    /// On a v1 object: what only v1alpha1 can hold. Reserved: it has no meaning on a v1alpha1 object.
    pub const V1ALPHA1_REST: &str = "task.example.io/v1alpha1";
}

/// Labels of a Task's children, as Kubernetes recommends them.
pub mod label {
    /// The name of the application: [`NAME_VALUE`].
    pub const NAME: &str = "app.kubernetes.io/name";

    /// The instance of the application: the Task's name.
    pub const INSTANCE: &str = "app.kubernetes.io/instance";

    /// The tool that manages the child: [`MANAGED_BY_VALUE`].
    pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

    /// The value of [`NAME`] on every child.
    pub const NAME_VALUE: &str = "task";

    /// The value of [`MANAGED_BY`] on every child.
    pub const MANAGED_BY_VALUE: &str = "task-controller";
}

/// Types of the conditions in `status.conditions`.
pub mod condition {
    /// The workload is available, and the operation, if there is one, has succeeded.
    pub const READY: &str = "Ready";

    /// How the operation stands: `True` when it succeeded, else `False`; the reason tells whether it runs or failed.
    pub const ASYNC_OPERATION: &str = "AsyncOperation";

    /// kstatus: the operator is still working towards the spec. Absent or `False` at rest.
    pub const RECONCILING: &str = "Reconciling";

    /// kstatus: the operator cannot go on until somebody acts. Absent or `False` otherwise.
    pub const STALLED: &str = "Stalled";

    /// The operation failed for good: nothing is tried again until the spec changes.
    pub const TERMINAL_ERROR: &str = "TerminalError";
}

/// Reasons of the conditions: one word for programs, stable once released.
pub mod reason {
    /// Every replica that was asked for is available.
    pub const AVAILABLE: &str = "Available";

    /// The workload is being rolled out.
    pub const PROGRESSING: &str = "Progressing";

    /// Nothing is left to do for this generation.
    pub const RECONCILED: &str = "Reconciled";

    /// A child's name is taken by an object that this Task does not control.
    pub const CHILD_CONFLICT: &str = "ChildConflict";
}
