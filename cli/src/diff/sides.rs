//! The Tasks on each side of a comparison.

use serde_json::Value as Json;
use task_conversion::task::TASK;

use super::Error;
use crate::cluster::{Cluster, Tasks};
use crate::convert::{files, object};
use crate::manifest::Value;
use crate::manifest::sources::Source;

/// A Task of a manifest.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Namespace and name, as far as it has them.
    pub name: String,
    /// Its version.
    pub version: &'static str,
    /// All of it.
    pub object: Json,
}

/// The Tasks of manifests at their own versions.
pub(super) fn as_written(sources: &[Source]) -> Result<Vec<Task>, Error> {
    tasks(sources, None)
}

/// The Tasks of manifests at a version.
pub(super) fn at(sources: &[Source], version: &'static str) -> Result<Vec<Task>, Error> {
    tasks(sources, Some(version))
}

fn tasks(sources: &[Source], version: Option<&'static str>) -> Result<Vec<Task>, Error> {
    let mut tasks = Vec::new();
    for source in sources {
        let manifest_error = |error| Error::Manifest {
            name: source.name(),
            source: error,
        };
        let documents = match version {
            Some(version) => {
                let converted = files::convert(&source.text, version);
                converted.map_err(manifest_error)?.documents
            }
            None => files::read(&source.text).map_err(manifest_error)?,
        };
        for document in &documents {
            collect(document, &mut tasks)?;
        }
    }
    Ok(tasks)
}

fn collect(document: &Value, tasks: &mut Vec<Task>) -> Result<(), Error> {
    if object::is_list(document) {
        for item in document
            .get("items")
            .and_then(Value::items)
            .unwrap_or_default()
        {
            let named = object::named_by_list(document, item);
            collect(named.as_ref().unwrap_or(item), tasks)?;
        }
    } else if object::is_task(document) {
        let name = object::name(document);
        let version = document.text("apiVersion").unwrap_or_default();
        let version = TASK.version(version).map_err(|source| Error::Version {
            name: name.clone(),
            source,
        })?;
        let object = serde_json::from_str(&document.to_json()).map_err(|source| Error::Json {
            name: name.clone(),
            source,
        })?;
        tasks.push(Task {
            name,
            version,
            object,
        });
    }
    Ok(())
}

/// The same Task in the cluster; `None` where there is none. It gets the namespace that it has there.
pub(super) async fn live(
    cluster: &Cluster,
    task: &mut Task,
    version: &'static str,
) -> Result<Option<Json>, Error> {
    let metadata = &task.object["metadata"];
    let text = |name: &str| metadata[name].as_str().map(str::to_owned);
    let namespace = text("namespace").unwrap_or_else(|| cluster.namespace.clone());
    let name = text("name").unwrap_or_default();
    task.name = format!("{namespace}/{name}");
    let tasks = Tasks::new(cluster.client.clone(), version, None);
    tasks
        .get(&namespace, &name)
        .await
        .map_err(|source| Error::Live {
            name: task.name.clone(),
            source: Box::new(source),
        })
}
