//! Names that other systems know and that only the controller writes; those that are part of the API
//! are in [`task_api_v1::names`].

/// Annotation on a child: a hash of all that the controller applied to it. Where it differs from the
/// hash of what the Task asks for now, the child is applied again; this is what notices that a field
/// is no longer asked for.
pub const APPLIED_HASH: &str = "task.example.io/applied-hash";

/// Annotation on a Deployment: the replicas that the Task asked for when it was applied. While it asks for the same, what an
/// autoscaler makes of them is left alone.
pub const APPLIED_REPLICAS: &str = "task.example.io/applied-replicas";

/// Annotation on the pod template: a hash of the ConfigMap's content, so that new content rolls the pods.
pub const CONFIG_HASH: &str = "task.example.io/config-hash";

/// Annotation on a Task: a person asks to start the operation once more after it has failed. Any value that was not there before.
pub const RETRY_OPERATION: &str = "task.example.io/retry-operation";

/// The prefix of the annotations that the controller looks at; it keeps no others in memory.
pub const ANNOTATION_PREFIX: &str = "task.example.io/";

/// Label on the Leases by which the replicas of the controller divide the Tasks between them: `shard` or `member`.
pub const LEASE: &str = "task.example.io/lease";

/// Annotation on such a Lease: into how many shards its holder divides the Tasks.
pub const SHARDS: &str = "task.example.io/shards";

/// The field manager under which what is learnt of an operation is written into the status of its Task.
pub const OPERATIONS_FIELD_MANAGER: &str = "task-controller-operations";

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

    /// The provider that the Task's operation names is not configured.
    pub const UNKNOWN_PROVIDER: &str = "UnknownProvider";

    /// The Task cannot be decoded: it is nested too deeply, or was stored under a schema that allowed what this one does not.
    pub const UNDECODABLE: &str = "Undecodable";

    /// A child of an earlier Task of the same name is still being deleted.
    pub const WAITING_FOR_DELETION: &str = "WaitingForDeletion";

    /// The API server refused a child and gave no reason that a condition can carry.
    pub const CHILD_REFUSED: &str = "ChildRefused";

    /// Others change what the Task says of a child each time that it is put right.
    pub const CHANGED_BY_OTHERS: &str = "ChangedByOthers";

    /// What has to be done before the Task may go could not be done; it is tried again.
    pub const CLEAN_UP_FAILED: &str = "CleanupFailed";

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

/// Reasons of the conditions `AsyncOperation` and `TerminalError`, which are codes in `status.failureDetails` too.
pub mod operation_reason {
    /// The operation is being started: the provider has not said yet that it accepted it.
    pub const PROVISIONING_STARTED: &str = "ProvisioningStarted";

    /// The provider accepted the operation, and its end is waited for.
    pub const STATUS_CHECK_IN_PROGRESS: &str = "StatusCheckInProgress";

    /// The provider was asked to end the operation.
    pub const CANCELING: &str = "Canceling";

    /// The operation succeeded.
    pub const COMPLETED: &str = "Completed";

    /// The operation failed, as the provider says.
    pub const FAILED: &str = "Failed";

    /// The provider refuses to start the operation.
    pub const REFUSED: &str = "Refused";

    /// The operation was cancelled, by the provider or because the Task is being deleted.
    pub const CANCELED: &str = "Canceled";

    /// The operation was ended because the spec asks for another one, or for none.
    pub const SUPERSEDED: &str = "Superseded";

    /// The operation took longer than `spec.operation.timeout`.
    pub const TIMEOUT: &str = "Timeout";

    /// It is not known whether the provider accepted the operation, and there is no safe way to find out.
    pub const START_UNKNOWN: &str = "StartUnknown";

    /// The provider has forgotten the operation before it told how it ended.
    pub const RESULT_UNKNOWN: &str = "ResultUnknown";

    /// The operation that the spec no longer asks for could not be cancelled.
    pub const CANCEL_FAILED: &str = "CancelFailed";

    /// The provider told another end after one was taken for good, or anything after it was left to a person; it is recorded and not applied.
    pub const CONTRADICTION: &str = "Contradiction";

    /// Whether an operation that ended for this reason may still be running somewhere, so that only a person may start another.
    pub fn needs_a_person(reason: &str) -> bool {
        matches!(reason, START_UNKNOWN | RESULT_UNKNOWN | CANCEL_FAILED)
    }
}

/// Events on a Task, in `events.k8s.io/v1`: their reasons.
pub mod event {
    /// The finalizer was added: from now on the Task is cleaned up after before it goes.
    pub const FINALIZER_ADDED: &str = "FinalizerAdded";

    /// The Task became what its spec says.
    pub const RECONCILE_SUCCEEDED: &str = "ReconcileSucceeded";

    /// The Task cannot become what its spec says, as far as is known now; the note says why.
    pub const RECONCILE_FAILED: &str = "ReconcileFailed";

    /// A child's name is taken by an object that the Task does not control.
    pub const CHILD_CONFLICT: &str = "ChildConflict";

    /// The provider is being asked to start the Task's operation.
    pub const OPERATION_STARTED: &str = "OperationStarted";

    /// The Task's operation succeeded.
    pub const OPERATION_SUCCEEDED: &str = "OperationSucceeded";

    /// The Task's operation failed, or is given up; the note says why.
    pub const OPERATION_FAILED: &str = "OperationFailed";

    /// What has to be done before the Task may go could not be done; it is tried again.
    pub const CLEAN_UP_FAILED: &str = "CleanupFailed";

    /// What had to be done before the Task may go is done.
    pub const DELETED: &str = "Deleted";
}

/// Events on a Task: what was being done (`action`).
pub mod action {
    /// Bringing the Task to what its spec says.
    pub const RECONCILE: &str = "Reconcile";

    /// Having a provider carry the operation out.
    pub const OPERATE: &str = "Operate";

    /// Cleaning up after a Task that is being deleted.
    pub const CLEAN_UP: &str = "CleanUp";
}
