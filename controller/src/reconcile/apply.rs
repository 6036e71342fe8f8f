//! Brings the children to what they should be: server-side apply of those that differ.

use std::{fmt::Debug, sync::Arc};

use k8s_openapi::{NamespaceResourceScope, api::apps::v1::Deployment};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use task_api_v1::{Task, names::FIELD_MANAGER};

use super::{
    build::Children,
    compare,
    observe::{Caches, Child, Observed},
    reclaim::{self, Remedy},
    request::{self, IMMEDIATE_RETRIES},
};
use crate::{cache::Cache, stored::Stored};

/// Why a child is not as it should be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The name is taken by an object that the Task does not control. It was not touched.
    #[error("{child} exists and is {}", match .owner { Some(owner) => format!("controlled by {owner}"), None => "not controlled by this Task".to_owned() })]
    Conflict {
        /// The kind and the name of the child.
        child: String,
        /// The kind and name of its controller, if it has one.
        owner: Option<String>,
    },
    /// An earlier object of the same name is still being deleted.
    #[error("an earlier {0} is still being deleted")]
    Leaving(String),
    /// The API server did not do as it was asked.
    #[error("cannot apply {child}: {source}")]
    Request {
        /// The kind and the name of the child.
        child: String,
        /// What came of the request.
        source: request::Error,
    },
    /// The object kept changing while it was being written.
    #[error("cannot apply {0}: it is being changed by others at the same time")]
    Contended(String),
    /// An object could not be written as JSON, or read from it.
    #[error("cannot convert {child} to JSON or from it: {source}")]
    Json {
        /// The kind and the name of the child.
        child: String,
        /// What stood in the way.
        source: serde_json::Error,
    },
}

/// The children, which are as they should be.
pub struct Applied {
    /// The Deployment.
    pub deployment: Arc<Deployment>,
    /// Where a child that was there was not so, such as `.spec.replicas of Deployment web`: it was put right.
    pub put_right: Option<String>,
}

/// Whether all the children are there and as they should be, so that [`apply`] would make no request.
///
/// # Errors
/// [`Error::Json`].
pub fn is_applied(children: &Children, observed: &Observed) -> Result<bool, Error> {
    Ok(is_so(&children.config_map, &observed.config_map)?
        && is_so(&children.service, &observed.service)?
        && is_so(&children.deployment, &observed.deployment)?)
}

fn is_so<K>(desired: &K, observed: &Child<K>) -> Result<bool, Error>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    match observed {
        Child::Ours(live) => Ok(difference(desired, live)?.is_none()),
        Child::Absent | Child::Leaving | Child::Foreign(_) => Ok(false),
    }
}

fn difference<K>(desired: &K, live: &K) -> Result<Option<String>, Error>
where
    K: Resource<DynamicType = ()> + Serialize,
{
    compare::difference(desired, live).map_err(|source| json_error(desired, source))
}

/// Brings the children of `task` to what they should be.
///
/// In the order in which the pods need them; the first that fails stops the rest, so that no pod mounts
/// a ConfigMap that is not the Task's. Children that are already as they should be cost no request.
///
/// # Errors
/// See [`Error`]. Nothing at all was written if the caches knew of a child that is foreign or leaving.
pub async fn apply(
    client: &Client,
    caches: &Caches,
    task: &Task,
    children: &Children,
    observed: Observed,
) -> Result<Applied, Error> {
    writable(&children.config_map, &observed.config_map)?;
    writable(&children.service, &observed.service)?;
    writable(&children.deployment, &observed.deployment)?;

    let config_map = settle(
        client,
        &caches.config_maps,
        task,
        &children.config_map,
        observed.config_map,
    )
    .await?;
    let service = settle(
        client,
        &caches.services,
        task,
        &children.service,
        observed.service,
    )
    .await?;
    let deployment = settle(
        client,
        &caches.deployments,
        task,
        &children.deployment,
        observed.deployment,
    )
    .await?;
    Ok(Applied {
        put_right: config_map
            .put_right
            .or(service.put_right)
            .or(deployment.put_right),
        deployment: deployment.live,
    })
}

fn writable<K: Resource<DynamicType = ()>>(desired: &K, observed: &Child<K>) -> Result<(), Error> {
    match observed {
        Child::Absent | Child::Ours(_) => Ok(()),
        Child::Leaving => Err(Error::Leaving(describe(desired))),
        Child::Foreign(owner) => Err(Error::Conflict {
            child: describe(desired),
            owner: owner.clone(),
        }),
    }
}

/// A child that is as it should be.
struct Settled<K> {
    live: Arc<K>,
    put_right: Option<String>,
}

/// Brings one child to `desired`, starting from what is known of it.
async fn settle<K>(
    client: &Client,
    cache: &Cache<Stored<K>>,
    task: &Task,
    desired: &K,
    mut observed: Child<K>,
) -> Result<Settled<K>, Error>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Serialize
        + 'static,
{
    let namespace = desired.namespace().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let stored: Api<Stored<K>> = Api::namespaced(client.clone(), &namespace);
    let mut put_right = None;
    let mut remedied = false;
    for _ in 0..=IMMEDIATE_RETRIES {
        writable(desired, &observed)?;
        let precondition = match &observed {
            Child::Ours(live) => {
                let Some(place) = difference(desired, live)? else {
                    let live = Arc::clone(live);
                    return Ok(Settled { live, put_right });
                };
                put_right = Some(format!("{place} of {}", describe(desired)));
                // The version: not if the network held it up until another replica has written.
                json!({ "uid": live.uid(), "resourceVersion": live.resource_version() })
            }
            // No object has this version, so that this creates or conflicts, and never changes
            // an object that is not in the cache: it lacks our label, or is foreign. A plain create would
            // not do: it records its fields under another kind of manager than later applies do, and
            // those could then never remove a field.
            _ => json!({ "resourceVersion": "1" }),
        };
        match write(&stored, desired, precondition).await {
            Ok(live) => {
                tracing::info!(child = describe(desired), "applied");
                let live = cache.wrote(live).object();
                let live = Arc::new(live.map_err(|source| json_error(desired, source))?);
                return Ok(Settled { live, put_right });
            }
            Err(error) if error.code() == Some(409) => {
                observed = Child::of(&task.metadata, read(&api, desired).await?.map(Arc::new));
            }
            Err(error) if !remedied && error.code() == Some(422) => {
                observed = Child::of(&task.metadata, read(&api, desired).await?.map(Arc::new));
                let Child::Ours(live) = &observed else {
                    return Err(error);
                };
                if !take_back(&api, desired, live).await? {
                    return Err(error);
                }
                remedied = true;
                observed = Child::of(&task.metadata, read(&api, desired).await?.map(Arc::new));
            }
            Err(error) => return Err(error),
        }
    }
    Err(Error::Contended(describe(desired)))
}

impl Error {
    /// The HTTP status of the API server's answer, if it is one.
    fn code(&self) -> Option<u16> {
        match self {
            Self::Request { source, .. } => source.code(),
            _ => None,
        }
    }
}

/// Takes back what others changed of `live` so that `desired` cannot be applied to it, and tells whether there was any of that.
async fn take_back<K>(api: &Api<K>, desired: &K, live: &K) -> Result<bool, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
{
    let json = |object: &K| serde_json::to_value(object).map_err(|e| json_error(desired, e));
    let name = desired.name_any();
    match reclaim::remedy(&json(live)?, &json(desired)?) {
        None => return Ok(false),
        Some(Remedy::TakeBack(managed)) => {
            let patch = Patch::Merge(json!({ "metadata": {
                "resourceVersion": live.resource_version(),
                "managedFields": managed,
            }}));
            let params = PatchParams {
                field_manager: Some(FIELD_MANAGER.to_owned()),
                ..PatchParams::default()
            };
            in_time(desired, api.patch(&name, &params, &patch)).await?;
        }
        Some(Remedy::Recreate) => {
            let only_this = Preconditions {
                uid: live.uid(),
                resource_version: live.resource_version(),
            };
            let params = DeleteParams::default().preconditions(only_this);
            in_time(desired, api.delete(&name, &params)).await?;
        }
    }
    tracing::info!(
        child = describe(desired),
        "took back what others had changed"
    );
    Ok(true)
}

async fn write<K>(
    api: &Api<Stored<K>>,
    desired: &K,
    precondition: Value,
) -> Result<Stored<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize,
{
    let mut body = serde_json::to_value(desired).map_err(|source| json_error(desired, source))?;
    if let (Some(Value::Object(metadata)), Value::Object(more)) =
        (body.get_mut("metadata"), precondition)
    {
        metadata.extend(more);
    }
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let patch = Patch::Apply(&body);
    let name = desired.name_any();
    in_time(desired, api.patch(&name, &params, &patch)).await
}

async fn read<K>(api: &Api<K>, desired: &K) -> Result<Option<K>, Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    in_time(desired, api.get_opt(&desired.name_any())).await
}

async fn in_time<K, T>(
    desired: &K,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, Error>
where
    K: Resource<DynamicType = ()>,
{
    request::in_time(request)
        .await
        .map_err(|source| Error::Request {
            child: describe(desired),
            source,
        })
}

fn json_error<K: Resource<DynamicType = ()>>(desired: &K, source: serde_json::Error) -> Error {
    Error::Json {
        child: describe(desired),
        source,
    }
}

fn describe<K: Resource<DynamicType = ()>>(object: &K) -> String {
    format!("{} {}", K::kind(&()), object.name_any())
}
