//! One pass over one Task: observe → build → compare and apply → status.
//!
//! | step | module | talks to the API server |
//! |---|---|---|
//! | what there is | [`observe`] | no, it asks the caches |
//! | what there should be | [`build`] | no, pure |
//! | is it so already? | [`compare`] | no, pure |
//! | make it so | [`apply`] | only for children that differ |
//! | what others changed so that it cannot be made so | [`reclaim`] | no, pure; [`apply`] does it |
//! | if it is not so, why | [`setback`] | no, pure |
//! | so how is the Task? | [`verdict`] | no, pure |
//! | what to say about it | [`status`] | no, pure; the patch is made here, only if it differs |
//!
//! So a pass over a Task at rest makes no request at all.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
    runtime::{controller::Action, reflector::ObjectRef},
};
use serde_json::json;
use task_api_v1::{Task, TaskPhase, names::FIELD_MANAGER};

use crate::{
    retry::{Attempt, Retries},
    watched::Watched,
};
use apply::Applied;
use setback::{Setback, SetbackKind};
use status::OwnStatus;
use verdict::{Finding, Verdict};

pub mod apply;
pub mod build;
pub mod compare;
pub mod observe;
pub mod reclaim;
pub mod setback;
pub mod status;
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
}

/// Why a pass failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The children could not be built.
    #[error("cannot build the children: {0}")]
    Build(#[from] build::Error),
    /// A child could not be brought to what it should be; the status says so.
    #[error(transparent)]
    Apply(#[from] apply::Error),
    /// The status could not be written.
    #[error("cannot write the status: {}", apply::said(.0))]
    Status(#[source] kube::Error),
    /// The API server did not answer in time when the status was written.
    #[error(
        "cannot write the status: no answer within {:?}",
        apply::REQUEST_TIMEOUT
    )]
    StatusTimeout,
}

/// What a pass came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The phase that the Task is in; `None` if it is not for the controller to say.
    pub phase: Option<TaskPhase>,
    /// When to look at it again.
    pub action: Action,
}

/// Brings the children and the status of one Task to what they should be.
///
/// Safe to repeat at any point: the names of the children are fixed, so that a pass that was cut off is
/// simply made again. Of a Task that is being deleted, and whose children are the garbage collector's, and of one
/// that cannot be decoded only the status is written, which says so.
///
/// # Errors
/// See [`Error`]; the pass is to be repeated after [`retry_after`].
pub async fn reconcile(watched: &Watched, context: &Context) -> Result<Outcome, Error> {
    let key = ObjectRef::from_obj(watched);
    let Some(newest) = context.caches.tasks.get(&key) else {
        return Ok(Outcome::NOTHING);
    };
    if newest.meta().deletion_timestamp.is_some() {
        return leaving(context, &newest).await;
    }
    let task = match &newest.0 {
        Ok(task) => task,
        Err(undecodable) => {
            let verdict = verdict::undecodable(&undecodable.error);
            let outcome = left_alone(context, &newest, &verdict).await?;
            context.retries.forget(&key);
            return Ok(outcome);
        }
    };
    if let Some(why) = verdict::operation_gate(task) {
        let deployment = observe::deployment(&task.metadata, &context.caches);
        let finding = Finding::HeldBack(why, deployment.as_deref());
        return settled(context, &key, task, finding).await;
    }

    let children = build::children(task)?;
    let observed = observe::observe(task, &children, &context.caches);
    let known = observed.deployment.ours();
    let known = known.as_deref();
    if let Attempt::NotYet { wait, setback } = context.retries.attempt(&key, &task.metadata)
        // Somebody else may have put it right.
        && !apply::is_applied(&children, &observed)?
    {
        let phase = write_status(context, task, Finding::SetBack(&setback, known)).await?;
        return Ok(Outcome::after(phase, wait));
    }

    match apply::apply(&context.client, &context.caches, task, &children, observed).await {
        Ok(Applied {
            deployment,
            put_right: None,
        }) => settled(context, &key, task, Finding::Applied(&deployment)).await,
        Ok(Applied {
            deployment,
            put_right: Some(place),
        }) => {
            let setback = Setback::undone(&place);
            let finding = if context.retries.set_back(&key, &task.metadata, &setback) {
                Finding::SetBack(&setback, Some(&deployment))
            } else {
                Finding::Applied(&deployment)
            };
            let phase = write_status(context, task, finding).await?;
            Ok(Outcome::after(phase, verdict::look_again_after(phase)))
        }
        Err(error) => {
            let setback = Setback::of(&error);
            context.retries.set_back(&key, &task.metadata, &setback);
            let told = write_status(context, task, Finding::SetBack(&setback, known)).await;
            if setback.kind == SetbackKind::Waiting {
                let phase = told?;
                return Ok(Outcome::after(phase, verdict::look_again_after(phase)));
            }
            if let Err(untold) = told {
                tracing::warn!(error = %untold, "the status does not say yet why the children are not as they should be");
            }
            Err(error.into())
        }
    }
}

/// A pass over a Task that is being deleted, which may be gone by now.
async fn leaving(context: &Context, task: &Watched) -> Result<Outcome, Error> {
    let deployment = observe::deployment(task.meta(), &context.caches);
    match left_alone(context, task, &verdict::deleting(deployment.as_deref())).await {
        Err(Error::Status(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
            Ok(Outcome::NOTHING)
        }
        told => told,
    }
}

/// A pass over a Task whose children are left alone: until something changes there is nothing to do but to say so.
async fn left_alone(
    context: &Context,
    task: &Watched,
    verdict: &Verdict,
) -> Result<Outcome, Error> {
    let current = match &task.0 {
        Ok(task) => Some(task.status.as_ref()),
        // One that is not known cannot be compared, and would be written again after each change of it.
        Err(undecodable) => undecodable.status.as_ref().map(Some),
    };
    if let Some(current) = current {
        let deployment = observe::deployment(task.meta(), &context.caches);
        let next = status::next(task.meta(), current, verdict, deployment.as_deref(), now());
        write(context, task.meta(), next).await?;
    }
    Ok(Outcome {
        phase: Some(verdict.phase),
        action: Action::await_change(),
    })
}

/// Ends a pass in which nothing failed, unless the status cannot be written.
async fn settled(
    context: &Context,
    key: &ObjectRef<Watched>,
    task: &Task,
    finding: Finding<'_>,
) -> Result<Outcome, Error> {
    let phase = write_status(context, task, finding).await?;
    context.retries.succeeded(key);
    Ok(Outcome::after(phase, verdict::look_again_after(phase)))
}

/// When to repeat a pass that failed: later each time, as long as it keeps failing.
pub fn retry_after(watched: &Watched, context: &Context) -> Duration {
    context
        .retries
        .wait_after_failure(&ObjectRef::from_obj(watched), watched.meta())
}

impl Outcome {
    /// There is nothing to do until something changes.
    const NOTHING: Self = Self {
        phase: None,
        action: Action::await_change(),
    };

    fn after(phase: TaskPhase, wait: Duration) -> Self {
        Self {
            phase: Some(phase),
            action: Action::requeue(wait),
        }
    }
}

/// Writes the status if it differs, and returns the phase that it says.
async fn write_status(
    context: &Context,
    task: &Task,
    finding: Finding<'_>,
) -> Result<TaskPhase, Error> {
    let (phase, change) = status::change(task, finding, now());
    write(context, &task.metadata, change).await?;
    Ok(phase)
}

/// Writes into the Task that has this metadata what its status should be, if that is not what it is.
async fn write(
    context: &Context,
    task: &ObjectMeta,
    change: Option<OwnStatus>,
) -> Result<(), Error> {
    let Some(next) = change else {
        return Ok(());
    };
    let written = patch_status(&context.client, task, &next).await?;
    context.caches.tasks.wrote(written);
    tracing::info!(phase = ?next.phase, "status written");
    Ok(())
}

async fn patch_status(
    client: &Client,
    task: &ObjectMeta,
    next: &OwnStatus,
) -> Result<Watched, Error> {
    let namespace = task.namespace.as_deref().unwrap_or_default();
    let api: Api<Watched> = Api::namespaced(client.clone(), namespace);
    // Server-side apply owns the conditions one by one, so that those of the operation stay.
    let patch = Patch::Apply(json!({
        "apiVersion": Task::api_version(&()),
        "kind": Task::kind(&()),
        // Not to a later Task of the same name.
        "metadata": { "uid": task.uid },
        "status": next,
    }));
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let name = task.name.as_deref().unwrap_or_default();
    let request = api.patch_status(name, &params, &patch);
    let mut written = tokio::time::timeout(apply::REQUEST_TIMEOUT, request)
        .await
        .map_err(|_| Error::StatusTimeout)?
        .map_err(Error::Status)?;
    written.trim();
    Ok(written)
}

/// The time in whole seconds, which is how Kubernetes keeps it.
fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
