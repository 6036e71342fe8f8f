//! Names that other systems know and that only the controller writes; those that are part of the API
//! are in [`task_api_v1::names`].

/// Annotation on a child: a hash of all that the controller applied to it. Where it differs from the
/// hash of what the Task asks for now, the child is applied again; this is what notices that a field
/// is no longer asked for.
pub const APPLIED_HASH: &str = "task.example.io/applied-hash";

/// Annotation on the pod template: a hash of the ConfigMap's content, so that new content rolls the pods.
pub const CONFIG_HASH: &str = "task.example.io/config-hash";

/// The prefix of the annotations that the controller looks at; it keeps no others in memory.
pub const ANNOTATION_PREFIX: &str = "task.example.io/";

/// The field manager under which the controller writes the certificates of the webhooks: it owns the `caBundle`s, and nothing else of the
/// objects that hold them. Its Events bear the same name.
pub const CERTIFICATES_FIELD_MANAGER: &str = "task-controller-certificates";

/// The name of the container.
pub const CONTAINER: &str = "task";

/// The name of the port, in the container and in the Service. The Service refers to the container's
/// port by name: while a change of port rolls out, old and new pods are each reached at their own.
pub const PORT: &str = "http";

/// The name of the volume that holds the ConfigMap.
pub const CONFIG_VOLUME: &str = "config";

/// The folder at which the ConfigMap is mounted in the container.
pub const CONFIG_MOUNT_PATH: &str = "/etc/task";

/// The key of the configuration file in the ConfigMap.
pub const CONFIG_KEY: &str = "app.conf";

/// Reasons of conditions that only the controller gives, beside those in
/// [`task_api_v1::names::reason`] and those of the API server for a child that it refuses.
pub mod reason {
    /// The Task's operation has not succeeded yet, and the workload waits for it.
    pub const OPERATION_PENDING: &str = "OperationPending";

    /// The Task's operation failed.
    pub const OPERATION_FAILED: &str = "OperationFailed";

    /// The Task cannot be decoded: it is nested too deeply, or was stored under a schema that allowed what this one does not.
    pub const UNDECODABLE: &str = "Undecodable";

    /// A child of an earlier Task of the same name is still being deleted.
    pub const WAITING_FOR_DELETION: &str = "WaitingForDeletion";

    /// The API server refused a child and gave no reason that a condition can carry.
    pub const CHILD_REFUSED: &str = "ChildRefused";

    /// Others change what the Task says of a child each time that it is put right.
    pub const CHANGED_BY_OTHERS: &str = "ChangedByOthers";

    /// The Task is being deleted.
    pub const DELETING: &str = "Deleting";

    /// Somebody paused the Deployment.
    pub const DEPLOYMENT_PAUSED: &str = "DeploymentPaused";

    /// Something went wrong that may pass by itself; the Task is tried again.
    pub const RETRYING: &str = "Retrying";

    /// The Deployment made no progress within its deadline.
    pub const DEADLINE_EXCEEDED: &str = "ProgressDeadlineExceeded";

    /// The Deployment cannot create its pods.
    pub const REPLICA_FAILURE: &str = "ReplicaFailure";
}
