//! Which changes of a Task make a pass over it. Pure.

use std::hash::{DefaultHasher, Hash, Hasher};

use kube::Resource;

use crate::{operations::observe, reconcile::finalizer, watched::Watched};

/// A hash of the parts of a Task that change what a pass does: a change of nothing else makes none.
///
/// The part of the status that the reconciler writes is none of them, so that a pass does not wake itself. Should others write
/// there, the next pass puts it right, which is a minute away at most.
pub fn what_a_pass_depends_on(watched: &Watched) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    let metadata = watched.meta();
    metadata.generation.hash(&mut hasher);
    metadata.deletion_timestamp.is_some().hash(&mut hasher);
    // Others may take it off by hand.
    finalizer::is_on(metadata).hash(&mut hasher);
    match watched {
        Watched(Ok(task)) => {
            observe::retry(task).hash(&mut hasher);
            let operation = task
                .status
                .as_ref()
                .and_then(|status| status.operation.as_ref());
            if let Some(operation) = operation {
                // When the provider is asked next is known to who asks.
                (operation.phase, &operation.key, &operation.last_event_id).hash(&mut hasher);
            }
        }
        Watched(Err(undecodable)) => undecodable.error.hash(&mut hasher),
    }
    Some(hasher.finish())
}

#[cfg(test)]
mod tests {
    use task_api_v1::{OperationPhase, Task, TaskPhase, TaskStatus};

    use super::*;
    use crate::{
        fixtures::{at, task},
        watched::Undecodable,
    };

    /// Whether a pass is made when this is done to a Task.
    fn makes_a_pass(edit: impl FnOnce(&mut Task)) -> bool {
        let before = task("web").needs_operation().build();
        let mut after = before.clone();
        after.metadata.resource_version = Some("2".to_owned());
        edit(&mut after);
        let hash = |task| what_a_pass_depends_on(&Watched(Ok(task)));
        hash(before) != hash(after)
    }

    #[test]
    fn a_new_spec_a_deletion_a_lost_finalizer_and_the_progress_of_the_operation_make_a_pass() {
        assert!(makes_a_pass(|task| task.metadata.generation = Some(2)));
        assert!(makes_a_pass(|task| {
            task.metadata.deletion_timestamp = Some(at(1));
        }));
        assert!(makes_a_pass(|task| task.metadata.finalizers = None));
        for phase in [
            OperationPhase::Creating,
            OperationPhase::Ready,
            OperationPhase::Failed,
        ] {
            let status = task("web").operation_is(phase).build().status;
            assert!(makes_a_pass(|task| task.status = status), "{phase:?}");
        }
    }

    #[test]
    fn what_a_pass_writes_itself_makes_none() {
        assert!(!makes_a_pass(|task| {
            task.status = Some(TaskStatus {
                phase: Some(TaskPhase::Pending),
                observed_generation: Some(1),
                ..TaskStatus::default()
            });
        }));
    }

    #[test]
    fn a_task_that_cannot_be_decoded_makes_a_pass_once_until_its_spec_or_the_reason_changes() {
        let undecodable = |generation: i64, version: &str, error: &str| {
            let mut metadata = task("web").build().metadata;
            metadata.generation = Some(generation);
            metadata.resource_version = Some(version.to_owned());
            what_a_pass_depends_on(&Watched(Err(Box::new(Undecodable {
                error: error.to_owned(),
                metadata,
                status: None,
            }))))
        };
        let before = undecodable(1, "1", "no");
        assert_eq!(undecodable(1, "2", "no"), before);
        assert_ne!(undecodable(2, "2", "no"), before);
        assert_ne!(undecodable(1, "2", "also no"), before);
    }
}
