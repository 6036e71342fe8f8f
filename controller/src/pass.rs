//! One pass as it is seen from outside: whether it is for this replica to make, what is counted, and when it is repeated.

use std::{sync::Arc, time::Instant};

use kube::runtime::{
    controller::{self, Action},
    reflector::ObjectRef,
};

use crate::{
    metrics::Metrics,
    reconcile::{self, Context, observe::Caches},
    roster::Named,
    shards::Shards,
    watched::Watched,
};

/// What the passes share.
pub struct Shared {
    /// What a pass over a Task of each shard needs.
    pub contexts: Vec<Context>,
    /// What this replica owns.
    pub shards: Shards,
    /// The caches of all contexts.
    pub caches: Caches,
    /// The numbers.
    pub metrics: Arc<Metrics>,
}

impl Shared {
    /// Forgets what is kept of a Task that is gone.
    pub fn forget(&self, task: &ObjectRef<Watched>) {
        let context = self.context_of(task);
        context.retries.forget(task);
        context.operations.forget(task);
        context.rests.forget(task);
        self.metrics.passes().forget(task);
    }

    fn context_of(&self, task: &ObjectRef<Watched>) -> &Context {
        &self.contexts[self.shards.of(task) as usize]
    }
}

/// One pass. The span that `kube` opens around it names the Task.
///
/// Over a Task that this replica does not own none is made. When it comes to own it, there is one.
///
/// # Errors
/// See [`reconcile::Error`].
pub async fn pass(task: Arc<Named>, shared: Arc<Shared>) -> Result<Action, reconcile::Error> {
    // A child that is merely not listed yet must not be taken for one that is missing.
    shared.caches.synced().await;
    let key = task.task();
    let passes = shared.metrics.passes();
    passes.begun(&key);
    let Some(owned) = shared.shards.get(shared.shards.of(&key)).begin() else {
        return Ok(Action::await_change());
    };
    let start = Instant::now();
    let ended = reconcile::reconcile(&key, shared.context_of(&key)).await;
    match &ended {
        Ok(outcome) if outcome.phase.is_some() => {
            passes.ended(&key, outcome.phase, start.elapsed());
        }
        // There was nothing to be said of it.
        Ok(_) => {}
        Err(error) if !owned.shard().is_owned() => {
            tracing::info!(%error, "the pass was broken off, since this replica does not own the Task any more");
            return Ok(Action::await_change());
        }
        Err(_) => passes.ended(&key, None, start.elapsed()),
    }
    if shared.caches.tasks.version(&key).is_none() {
        // It went during the pass, so the numbers of that are too late.
        passes.forget(&key);
    }
    ended.map(|outcome| outcome.action)
}

/// When to repeat a pass that failed.
pub fn retry(task: Arc<Named>, error: &reconcile::Error, shared: Arc<Shared>) -> Action {
    let key = task.task();
    let context = shared.context_of(&key);
    let Some(watched) = context.caches.tasks.get(&key) else {
        // It is gone.
        return Action::await_change();
    };
    let wait = reconcile::retry_after(&watched, error, context);
    tracing::warn!(
        %error,
        "the pass failed and is repeated in {:.1} s",
        wait.as_secs_f64()
    );
    Action::requeue(wait)
}

/// Forgets a Task that was to have a pass and is no longer there: one that was deleted during a pass, or
/// while the watch was interrupted.
pub fn forget_if_gone<T, E, Q>(shared: &Shared, ended: Result<T, controller::Error<E, Q>>) {
    if let Err(controller::Error::ObjectNotFound(gone)) = ended {
        let mut key = ObjectRef::new(&gone.name);
        key.namespace = gone.namespace;
        shared.metrics.passes().begun(&key);
        shared.forget(&key);
    }
}
