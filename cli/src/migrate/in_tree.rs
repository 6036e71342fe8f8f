//! Having the cluster's own controller rewrite the stored objects: a StorageVersionMigration (KEP-4192).

use std::time::Duration;

use kube::api::{Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::{Client, Error as KubeError};
use serde_json::{Value, json};
use task_api_v1::names::{GROUP, PLURAL};
use tokio::time::{Instant, sleep};

use super::definition::Definition;
use crate::cluster::Patience;
use crate::progress::Progress;

const API_GROUP: &str = "storagemigration.k8s.io";
const RESOURCE: &str = "storageversionmigrations";
const KIND: &str = "StorageVersionMigration";

const POLL: Duration = Duration::from_millis(500);

/// How long the controller may take to begin. It waits itself for a minute at the most until it knows of a kind.
const BEGINS_WITHIN: Duration = Duration::from_secs(90);

/// Why the cluster's own controller has not done it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A request failed.
    #[error("cannot have a StorageVersionMigration carried out")]
    Request(#[source] Box<KubeError>),
    /// Nobody works at it: the API is served, but the controller does not run.
    #[error("no controller has begun the StorageVersionMigration {name} within {} s", BEGINS_WITHIN.as_secs())]
    NotBegun {
        /// Its name. It is not there any more.
        name: String,
    },
    /// It failed.
    #[error("the StorageVersionMigration {name} failed: {message}")]
    Failed {
        /// Its name. It is still there.
        name: String,
        /// What its controller says.
        message: String,
    },
}

fn request_error(source: KubeError) -> Error {
    Error::Request(Box::new(source))
}

/// The version at which the API server serves the API; `None` where it does not.
///
/// # Errors
/// When the API server does not tell.
pub async fn served(client: &Client) -> Result<Option<String>, Error> {
    let groups = client.list_api_groups().await.map_err(request_error)?;
    let group = groups
        .groups
        .into_iter()
        .find(|group| group.name == API_GROUP);
    let Some(group) = group else { return Ok(None) };
    for version in group.versions {
        let resources = client
            .list_api_group_resources(&version.group_version)
            .await;
        let resources = resources.map_err(request_error)?.resources;
        if resources.iter().any(|resource| resource.name == RESOURCE) {
            return Ok(Some(version.version));
        }
    }
    Ok(None)
}

/// Has all Tasks rewritten, and waits until they are. One that a killed run has begun is gone on with.
///
/// # Errors
/// See [`Error`].
pub async fn run(
    client: Client,
    version: &str,
    definition: &Definition,
    patience: Patience,
) -> Result<(), Error> {
    let kind = GroupVersionKind::gvk(API_GROUP, version, KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, RESOURCE);
    let api: Api<DynamicObject> = Api::all_with(client, &resource);
    let name = format!("{PLURAL}.{GROUP}-{}", definition.generation);
    let progress = Progress::start("rewriting by a StorageVersionMigration", None);

    let found = patience.insist(async || api.get_opt(&name).await).await;
    let found = found.map_err(request_error)?;
    if found.is_none_or(|found| condition(&found.data, "Failed").is_some()) {
        remove(&api, &name).await?;
        let mut migration = DynamicObject::new(&name, &resource);
        migration.data = json!({"spec": {"resource": {"group": GROUP, "resource": PLURAL}}});
        let create = async || api.create(&PostParams::default(), &migration).await;
        patience.insist(create).await.map_err(request_error)?;
    }
    let begin = Instant::now();
    loop {
        let found = patience.insist(async || api.get(&name).await).await;
        let found = found.map_err(request_error)?;
        if let Some(message) = condition(&found.data, "Failed") {
            return Err(Error::Failed { name, message });
        }
        if condition(&found.data, "Succeeded").is_some() {
            // Its name is free for the next one.
            return remove(&api, &name).await;
        }
        // Its controller writes down where it begins before it rewrites anything.
        let has_begun = found.data["status"]["resourceVersion"].is_string();
        if !has_begun && begin.elapsed() > BEGINS_WITHIN {
            remove(&api, &name).await?;
            return Err(Error::NotBegun { name });
        }
        progress.tick();
        sleep(POLL).await;
    }
}

async fn remove(api: &Api<DynamicObject>, name: &str) -> Result<(), Error> {
    match api.delete(name, &DeleteParams::default()).await {
        Err(KubeError::Api(status)) if status.is_not_found() => Ok(()),
        Err(error) => Err(request_error(error)),
        Ok(_) => Ok(()),
    }
}

/// The message of a condition that is true.
fn condition(data: &Value, type_: &str) -> Option<String> {
    let conditions = data["status"]["conditions"].as_array()?;
    let condition = conditions
        .iter()
        .find(|condition| condition["type"] == type_ && condition["status"] == "True")?;
    Some(condition["message"].as_str().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_condition_that_is_true_counts() {
        let data = json!({"status": {"conditions": [
            {"type": "Failed", "status": "False", "message": "no"},
            {"type": "Succeeded", "status": "True"},
        ]}});
        assert_eq!(condition(&data, "Failed"), None);
        assert_eq!(condition(&data, "Succeeded").as_deref(), Some(""));
        assert_eq!(condition(&json!({}), "Succeeded"), None);
    }
}
