//! Tasks as the API server holds them now: read whole, and written by compare-and-swap.

use kube::{
    Api, Client,
    api::{Patch, PatchParams},
    runtime::reflector::ObjectRef,
};
use serde_json::Value;
use task_api_v1::Task;

use crate::{
    names::OPERATIONS_FIELD_MANAGER,
    reconcile::request::{self, in_time},
    watched::Watched,
};

/// What became of a write.
#[derive(Debug)]
pub enum Write {
    /// The Task as it is now.
    Written(Box<Task>),
    /// The Task is no longer as it was read, or is gone: nothing was written.
    Lost,
}

/// The Task as it is now; `None` if it is gone, or cannot be decoded.
///
/// # Errors
/// When the API server does not answer, or not with a Task.
pub async fn read(
    client: &Client,
    key: &ObjectRef<Watched>,
) -> Result<Option<Task>, request::Error> {
    let found = in_time(api(client, key).get_opt(&key.name)).await?;
    Ok(found.and_then(|watched| watched.0.ok()))
}

/// Writes a merge patch of the status, which names the version that it is for.
///
/// # Errors
/// When it is not known to be written, nor known not to be for being late.
pub async fn write(
    client: &Client,
    key: &ObjectRef<Watched>,
    patch: &Value,
) -> Result<Write, request::Error> {
    let params = PatchParams {
        field_manager: Some(OPERATIONS_FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let api = api(client, key);
    match in_time(api.patch_status(&key.name, &params, &Patch::Merge(patch))).await {
        Ok(Watched(Ok(task))) => Ok(Write::Written(Box::new(task))),
        // Somebody else sees to it.
        Ok(Watched(Err(_))) => Ok(Write::Lost),
        Err(error) if matches!(error.code(), Some(404 | 409)) => Ok(Write::Lost),
        Err(error) => Err(error),
    }
}

fn api(client: &Client, key: &ObjectRef<Watched>) -> Api<Watched> {
    let namespace = key.namespace.as_deref().unwrap_or_default();
    Api::namespaced(client.clone(), namespace)
}
