//! Says in the status of a Task how it is, if it does not say so yet, and tells people of a turn.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
};
use serde_json::json;
use task_api_v1::{Task, TaskPhase, TaskStatus, names::FIELD_MANAGER};

use super::{
    Context, observe,
    request::{self, IMMEDIATE_RETRIES, in_time},
    requeue::look_again_after,
    status::{self, OwnStatus, Update},
    transition,
    verdict::{self, Finding, Verdict},
};
use crate::{cache::version, triggers, watched::Watched};

/// Why the status of a Task does not say how it is.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the status: {0}")]
pub struct Error(#[source] request::Error);

/// What the status of a Task says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The phase that it is in.
    pub phase: TaskPhase,
    /// When to look at it again if nothing is heard of it.
    pub look_again: Duration,
    /// The version of the Task at which the status says this, and nothing else of it has changed that a pass depends on.
    pub version: Option<u64>,
}

/// Says in the status what was found out about `task`.
///
/// `None`: there is no such Task any more.
///
/// # Errors
/// See [`Error`].
pub async fn finding(
    context: &Context,
    task: &Task,
    finding: Finding<'_>,
) -> Result<Option<Told>, Error> {
    let verdict = verdict::judge(task, finding);
    let current = task.status.as_ref();
    let deployment = finding.deployment();
    let now = now();
    let update = status::update(&task.metadata, current, &verdict, deployment, now.clone());
    let (look_again, version) = match update {
        Update::Nothing => (
            look_again_after(verdict.phase, status::failed_for(current, &now)),
            version(&task.metadata),
        ),
        Update::Later(wait) => (wait, None),
        Update::Now(next) => {
            let look_again = look_again_after(verdict.phase, next.failed_for(&now));
            let Some(written) = write(context, &task.metadata, current, *next).await? else {
                return Ok(None);
            };
            let depends_on = triggers::what_a_pass_depends_on;
            let is_same = depends_on(&written) == depends_on(&Watched(Ok(task.clone())));
            (look_again, version(written.meta()).filter(|_| is_same))
        }
    };
    Ok(Some(Told {
        phase: verdict.phase,
        look_again,
        version,
    }))
}

/// Says in the status of a Task whose children are left alone what was judged of it, if what its status says is known.
///
/// # Errors
/// See [`Error`].
pub async fn verdict(context: &Context, task: &Watched, verdict: &Verdict) -> Result<(), Error> {
    let current = match &task.0 {
        Ok(task) => task.status.as_ref(),
        Err(undecodable) => match &undecodable.status {
            Some(status) => Some(status),
            // It cannot be compared, and would be written again after each change of it.
            None => return Ok(()),
        },
    };
    let deployment = observe::deployment(task.meta(), &context.caches);
    if let Update::Now(next) =
        status::update(task.meta(), current, verdict, deployment.as_deref(), now())
    {
        write(context, task.meta(), current, *next).await?;
    }
    Ok(())
}

/// Writes the status and tells of what turned. `None`: there is no such Task any more.
async fn write(
    context: &Context,
    task: &ObjectMeta,
    before: Option<&TaskStatus>,
    next: OwnStatus,
) -> Result<Option<Watched>, Error> {
    let Some(written) = patch(&context.client, task, &next).await.map_err(Error)? else {
        return Ok(None);
    };
    let written = context.caches.tasks.wrote(written);
    tracing::info!(phase = ?next.phase, "status written");
    if let Some(note) = transition::note(before, &next) {
        context.events.tell(task, note);
    }
    Ok(Some(written))
}

/// `None`: there is no such Task any more.
async fn patch(
    client: &Client,
    task: &ObjectMeta,
    next: &OwnStatus,
) -> Result<Option<Watched>, request::Error> {
    let namespace = task.namespace.as_deref().unwrap_or_default();
    let api: Api<Watched> = Api::namespaced(client.clone(), namespace);
    // Server-side apply owns the conditions one by one, so that those of the operation stay.
    let patch = |version: &Option<String>| {
        Patch::Apply(json!({
            "apiVersion": Task::api_version(&()),
            "kind": Task::kind(&()),
            // Not to a later Task of the same name; and not if the network held it up until another replica has written.
            "metadata": { "uid": task.uid, "resourceVersion": version },
            "status": next,
        }))
    };
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let name = task.name.as_deref().unwrap_or_default();
    let mut version = task.resource_version.clone();
    let mut tries = 0;
    loop {
        match in_time(api.patch_status(name, &params, &patch(&version))).await {
            Ok(mut written) => {
                written.trim();
                return Ok(Some(written));
            }
            Err(error) if error.code() == Some(404) => return Ok(None),
            Err(error) if error.code() == Some(409) && tries < IMMEDIATE_RETRIES => {
                let newest = in_time(api.get_opt(name)).await?;
                let same = newest.filter(|newest| newest.meta().uid == task.uid);
                let Some(newest) = same else {
                    return Ok(None);
                };
                version = newest.meta().resource_version.clone();
                tries += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// The time in whole seconds, which is how Kubernetes keeps it.
fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}
