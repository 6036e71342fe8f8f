//! The beginning and the end of a Task: it is held before anything is done for it, and let go once it has been cleaned up after.

use std::{ops::ControlFlow, time::Duration};

use kube::{
    Resource,
    runtime::{controller::Action, reflector::ObjectRef},
};
use task_api_v1::{OperationPhase, Task};

use super::{
    Context, Error, Outcome,
    finalizer::{self, Change},
    not_yet, observe, set_back,
    setback::Setback,
    tell, verdict,
};
use crate::{
    events::Note, names::event, operations::driver::Attendance, retry::Attempt, watched::Watched,
};

/// Sees to it that `task` bears the finalizer.
///
/// Goes on with the Task that bears it, or breaks off with the outcome of the pass.
///
/// # Errors
/// [`Error::Hold`].
pub(super) async fn hold(
    context: &Context,
    key: &ObjectRef<Watched>,
    task: &Task,
) -> Result<ControlFlow<Outcome, Watched>, Error> {
    let deployment = observe::deployment(&task.metadata, &context.caches);
    let deployment = deployment.as_deref();
    if let Attempt::NotYet(before) = context.retries.attempt(key, &task.metadata) {
        let outcome = not_yet(context, task, before, deployment).await?;
        return Ok(ControlFlow::Break(outcome));
    }
    match finalizer::write(&context.client, &task.metadata, Change::Add).await {
        Ok(Some(held)) => {
            let note = Note {
                reason: event::FINALIZER_ADDED,
                text: "the Task is cleaned up after before it goes".to_owned(),
            };
            context.events.tell(&task.metadata, note);
            Ok(ControlFlow::Continue(context.caches.tasks.wrote(held)))
        }
        Ok(None) => Ok(ControlFlow::Break(Outcome::NOTHING)),
        Err(error) => {
            set_back(context, key, task, &Setback::of_holding(&error), deployment).await;
            Err(Error::Hold(error))
        }
    }
}

/// A pass over a Task that is being deleted: it is cleaned up after, and let go.
///
/// The children are the garbage collector's, so there is nothing to clean up but the finalizer; what else has to be done before a Task
/// may go is done here, before that, and is repeated like that if it fails.
///
/// # Errors
/// [`Error::CleanUp`], [`Error::Tell`].
pub(super) async fn leave(
    context: &Context,
    key: &ObjectRef<Watched>,
    task: &Watched,
) -> Result<Outcome, Error> {
    if task.meta().finalizers.iter().flatten().next().is_none() {
        // It is gone, and the watch has not told of it yet.
        return Ok(Outcome::NOTHING);
    }
    if !finalizer::is_on(task.meta()) {
        return linger(context, task).await;
    }
    if let Attempt::NotYet(before) = context.retries.attempt(key, task.meta()) {
        return Ok(Outcome {
            phase: None,
            action: Action::requeue(before.wait),
        });
    }
    if let Ok(decoded) = &task.0
        && let attendance = context.operations.attend(&context.client, key, decoded)
        && !attendance.may_go
    {
        return await_operation(context, task, decoded, attendance).await;
    }
    match finalizer::write(&context.client, task.meta(), Change::Remove).await {
        Ok(Some(left)) => {
            context.retries.forget(key);
            let note = Note {
                reason: event::DELETED,
                text: "the Task has been cleaned up after and goes".to_owned(),
            };
            context.events.tell(task.meta(), note);
            let left = context.caches.tasks.wrote(left);
            linger(context, &left).await
        }
        Ok(None) => Ok(Outcome::NOTHING),
        Err(error) => {
            let setback = Setback::of_clean_up(&error);
            context.retries.set_back(key, task.meta(), &setback);
            let deployment = observe::deployment(task.meta(), &context.caches);
            let verdict = verdict::deleting(Some(&setback), deployment.as_deref());
            if let Err(untold) = tell::verdict(context, task, &verdict).await {
                tracing::warn!(error = %untold, "the status does not say yet why the Task is not let go");
            }
            Err(Error::CleanUp(error))
        }
    }
}

/// A Task is not let go before its operation has been dealt with, or that took too long.
async fn await_operation(
    context: &Context,
    task: &Watched,
    decoded: &Task,
    attendance: Attendance,
) -> Result<Outcome, Error> {
    let phase = decoded
        .status
        .as_ref()
        .and_then(|status| status.operation.as_ref()?.phase);
    // What has ended is only made sure of.
    if phase == Some(OperationPhase::Creating) {
        let deployment = observe::deployment(task.meta(), &context.caches);
        let verdict = verdict::deleting_operation(deployment.as_deref());
        tell::verdict(context, task, &verdict).await?;
    }
    Ok(Outcome {
        phase: None,
        action: Action::requeue(attendance.again.unwrap_or(Duration::MAX)),
    })
}

/// Of a Task that others still keep only the status is written, which says so.
async fn linger(context: &Context, task: &Watched) -> Result<Outcome, Error> {
    if task.meta().finalizers.iter().flatten().next().is_none() {
        return Ok(Outcome::NOTHING);
    }
    let deployment = observe::deployment(task.meta(), &context.caches);
    let verdict = verdict::deleting(None, deployment.as_deref());
    tell::verdict(context, task, &verdict).await?;
    Ok(Outcome::until_changed(verdict.phase))
}
