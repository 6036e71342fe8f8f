//! One pass over one Task: observe → build → compare and apply → status.
//!
//! | step | module | talks to the API server |
//! |---|---|---|
//! | has anything changed since it came to rest? | [`rest`] | no |
//! | hold it, or let it go | [`lifetime`] | once in its life each |
//! | see to its operation | [`operations::driver`](crate::operations::driver) | no, others do that |
//! | what there is | [`observe`] | no, it asks the caches |
//! | what there should be | [`build`] | no, pure |
//! | what of it is an autoscaler's | [`scaled`] | no, pure |
//! | is it so already? | [`compare`] | no, pure |
//! | make it so | [`apply`] | only for children that differ |
//! | what others changed so that it cannot be made so | [`reclaim`] | no, pure; [`apply`] does it |
//! | if it is not so, why | [`setback`] | no, pure |
//! | so how is the Task? | [`verdict`], [`rollout`] | no, pure |
//! | what to say about it | [`status`], [`transition`] | no, pure |
//! | say it | [`tell`] | only if the status does not say so yet |
//! | when to look again | [`requeue`] | no, pure |
//!
//! So a pass over a Task at rest makes no request at all.

use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, SystemTime},
};

use k8s_openapi::api::apps::v1::Deployment;
use kube::{
    Client, Resource,
    runtime::{controller::Action, reflector::ObjectRef},
};
use task_api_v1::{OperationPhase, Task, TaskPhase};

use crate::{
    events::{Events, Note},
    metrics::Metrics,
    names::event,
    operations::{
        driver::{Attendance, Operations},
        observe as operation,
    },
    retry::{Attempt, Before, Retries},
    watched::Watched,
};
use apply::Applied;
use rest::{Rests, Versions};
use setback::{Setback, SetbackKind};
use tell::Told;
use verdict::Finding;

pub mod apply;
pub mod build;
pub mod compare;
pub mod finalizer;
mod lifetime;
pub mod observe;
pub mod reclaim;
pub mod request;
pub mod requeue;
pub mod rest;
pub mod rollout;
pub mod scaled;
pub mod setback;
pub mod status;
pub mod tell;
pub mod transition;
pub mod verdict;

#[cfg(test)]
mod scenarios;

/// What every pass needs.
pub struct Context {
    /// The connection to the API server.
    pub client: Client,
    /// What the API server holds.
    pub caches: observe::Caches,
    /// The Tasks that are to be left alone for a while.
    pub retries: Retries,
    /// Where people are told what turned.
    pub events: Events,
    /// The operations of all Tasks.
    pub operations: Arc<Operations>,
    /// The Tasks over which a pass would find nothing new.
    pub rests: Rests,
    /// The numbers.
    pub metrics: Arc<Metrics>,
}

/// Why a pass failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The Task could not be given the finalizer, so nothing was done for it; the status says so.
    #[error(transparent)]
    Hold(finalizer::Error),
    /// The children could not be built.
    #[error("cannot build the children: {0}")]
    Build(#[from] build::Error),
    /// What there is of the children could not be decoded.
    #[error(transparent)]
    Observe(#[from] observe::Error),
    /// A child could not be brought to what it should be; the status says so.
    #[error(transparent)]
    Apply(#[from] apply::Error),
    /// The status could not be written.
    #[error(transparent)]
    Tell(#[from] tell::Error),
    /// A Task that is being deleted could not be cleaned up after; the status says so.
    #[error("cannot clean up: {0}")]
    CleanUp(#[source] finalizer::Error),
}

/// What a pass came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The phase that the Task is in; `None` if it is not for the controller to say.
    pub phase: Option<TaskPhase>,
    /// When to look at it again.
    pub action: Action,
}

/// Brings the children and the status of one Task to what they should be, or lets it go if it is being deleted.
///
/// Safe to repeat at any point: the names of the children are fixed, so that a pass that was cut off is
/// simply made again. The children of a Task that is being deleted are the garbage collector's. Of one
/// that cannot be decoded only the status is written, which says so.
///
/// # Errors
/// See [`Error`]; the pass is to be repeated after [`retry_after`].
pub async fn reconcile(key: &ObjectRef<Watched>, context: &Context) -> Result<Outcome, Error> {
    let versions = Versions::of(key, &context.caches);
    if context.rests.is_at(key, &versions) {
        return Ok(Outcome::at_rest());
    }
    let Some(mut newest) = context.caches.tasks.get(key) else {
        return Ok(Outcome::NOTHING);
    };
    if newest.meta().deletion_timestamp.is_some() {
        return lifetime::leave(context, key, &newest).await;
    }
    if let Ok(task) = &newest.0
        && !finalizer::is_on(&task.metadata)
    {
        newest = match lifetime::hold(context, key, task).await? {
            ControlFlow::Continue(held) => held,
            ControlFlow::Break(outcome) => return Ok(outcome),
        };
    }
    let task = match &newest.0 {
        Ok(task) => task,
        Err(undecodable) => {
            context.metrics.undecodable();
            tracing::error!(error = %undecodable, "skipped a Task that cannot be decoded");
            let verdict = verdict::undecodable(&undecodable.error);
            tell::verdict(context, &newest, &verdict).await?;
            context.retries.forget(key);
            return Ok(Outcome::until_changed(verdict.phase));
        }
    };
    let attendance = context.operations.attend(&context.client, key, task);
    let again = attendance.again.unwrap_or(Duration::MAX);
    if is_undecided(task, attendance) {
        return Ok(Outcome {
            phase: None,
            action: Action::requeue(again),
        });
    }
    if let Some(why) = verdict::operation_gate(task, attendance) {
        let deployment = observe::deployment(&task.metadata, &context.caches);
        let finding = Finding::HeldBack(why, deployment.as_deref());
        let told = settled(context, key, task, finding).await?;
        return Ok(Outcome::after(told, again));
    }

    let mut children = build::children(task)?;
    let observed = observe::observe(task, &children, &context.caches)?;
    let known = observed.deployment.ours();
    let known = known.as_deref();
    if let Some(live) = known {
        scaled::leave_to_others(task.spec.replicas, &mut children.deployment, live);
    }
    if let Attempt::NotYet(before) = context.retries.attempt(key, &task.metadata)
        // Somebody else may have put it right.
        && !apply::is_applied(&children, &observed)?
    {
        return not_yet(context, task, before, known).await;
    }

    match apply::apply(&context.client, &context.caches, task, &children, observed).await {
        Ok(Applied {
            deployment,
            put_right: None,
        }) => {
            let finding = Finding::Applied(&deployment);
            let told = settled(context, key, task, finding).await?;
            if task.spec.operation.is_none() {
                rest::note(context, key, versions, told.as_ref());
            }
            Ok(Outcome::after(told, again))
        }
        Ok(Applied {
            deployment,
            put_right: Some(place),
        }) => {
            let setback = Setback::undone(&place);
            let finding = if context.retries.set_back(key, &task.metadata, &setback) {
                Finding::SetBack(&setback, Some(&deployment))
            } else {
                Finding::Applied(&deployment)
            };
            let told = tell::finding(context, task, finding).await?;
            Ok(Outcome::of(told))
        }
        Err(error) => {
            let setback = Setback::of(&error);
            if setback.kind == SetbackKind::Waiting {
                let told = tell::finding(context, task, Finding::SetBack(&setback, known)).await?;
                return Ok(Outcome::of(told));
            }
            set_back(context, key, task, &setback, known).await;
            Err(error.into())
        }
    }
}

/// Whether the operation of `task` has succeeded, and it is about to be found out whether it is the one that the newest spec asks for.
fn is_undecided(task: &Task, attendance: Attendance) -> bool {
    let phase = task
        .status
        .as_ref()
        .and_then(|status| status.operation.as_ref()?.phase);
    task.spec.operation.is_some()
        && phase == Some(OperationPhase::Ready)
        && !operation::is_seen(task)
        && !attendance.is_unknown
}

/// Ends a pass in which nothing failed, unless the status cannot be written.
async fn settled(
    context: &Context,
    key: &ObjectRef<Watched>,
    task: &Task,
    finding: Finding<'_>,
) -> Result<Option<Told>, Error> {
    let told = tell::finding(context, task, finding).await?;
    context.retries.succeeded(key);
    Ok(told)
}

/// Notes what keeps `task` from being what it should be, and says so in its status, as far as that can be written.
async fn set_back(
    context: &Context,
    key: &ObjectRef<Watched>,
    task: &Task,
    setback: &Setback,
    deployment: Option<&Deployment>,
) {
    let again = context.retries.set_back(key, &task.metadata, setback);
    if is_told(setback, again)
        && let finding = Finding::SetBack(setback, deployment)
        && let Err(untold) = tell::finding(context, task, finding).await
    {
        tracing::warn!(error = %untold, "the status does not say yet why the Task is not as it should be");
    }
}

/// Ends a pass over a Task that is left alone for a while after what happened before.
async fn not_yet(
    context: &Context,
    task: &Task,
    before: Before,
    deployment: Option<&Deployment>,
) -> Result<Outcome, Error> {
    if !is_told(&before.setback, before.again) {
        return Ok(Outcome {
            phase: None,
            action: Action::requeue(before.wait),
        });
    }
    let finding = Finding::SetBack(&before.setback, deployment);
    let told = tell::finding(context, task, finding).await?;
    Ok(Outcome::after(told, before.wait))
}

/// Whether people are told of a setback: of what may pass by itself, once it has happened twice. An API server that has trouble
/// is not to be given more to do.
fn is_told(setback: &Setback, again: bool) -> bool {
    setback.kind != SetbackKind::Passing || again
}

/// When to repeat a pass that failed with `error`: later each time, as long as it keeps failing.
///
/// Where it is the status that cannot be written, an Event says so, when that has happened twice.
pub fn retry_after(watched: &Watched, error: &Error, context: &Context) -> Duration {
    let key = ObjectRef::from_obj(watched);
    let wait = context.retries.wait_after_failure(&key, watched.meta());
    if matches!(error, Error::Tell(_)) && context.retries.failures(&key) == 2 {
        let note = Note {
            reason: event::RECONCILE_FAILED,
            text: error.to_string(),
        };
        context.events.tell(watched.meta(), note);
    }
    wait
}

impl Outcome {
    /// There is nothing to do until something changes.
    const NOTHING: Self = Self {
        phase: None,
        action: Action::await_change(),
    };

    /// The Task is what it should be, and says so.
    fn at_rest() -> Self {
        Self {
            phase: Some(TaskPhase::Succeeded),
            action: look_again(requeue::AT_REST),
        }
    }

    /// The Task is in this phase, and there is nothing to do until something changes.
    fn until_changed(phase: TaskPhase) -> Self {
        Self {
            phase: Some(phase),
            action: Action::await_change(),
        }
    }

    /// The status of the Task says this; `None` if it is gone.
    fn of(told: Option<Told>) -> Self {
        Self::after(told, Duration::MAX)
    }

    /// The same, and it is looked at again after `wait` at the latest.
    fn after(told: Option<Told>, wait: Duration) -> Self {
        told.map_or(Self::NOTHING, |told| Self {
            phase: Some(told.phase),
            action: look_again(wait.min(told.look_again)),
        })
    }
}

fn look_again(wait: Duration) -> Action {
    Action::requeue(requeue::together(wait, SystemTime::now()))
}
