//! The finalizer, which keeps a Task that is being deleted until it has been cleaned up after.
//!
//! It is put on and taken off by a JSON Patch that tests the uid and the finalizers as they were seen: it cannot lose the finalizer of
//! somebody else, does not mind what is written to the rest of the object meanwhile, and never meets a later Task of the same name.

use json_patch::{
    AddOperation, Patch as JsonPatch, PatchOperation, RemoveOperation, TestOperation,
    jsonptr::PointerBuf,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use task_api_v1::names::{FIELD_MANAGER, FINALIZER};

use super::request::{self, IMMEDIATE_RETRIES, in_time};
use crate::watched::Watched;

/// Why the finalizer was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server did not do as it was asked.
    #[error("cannot {0} the finalizer: {1}")]
    Request(Change, #[source] request::Error),
    /// The Task kept changing while it was being written.
    #[error("cannot {0} the finalizer: the Task is being changed by others at the same time")]
    Contended(Change),
}

/// What to do with the finalizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Put it on.
    Add,
    /// Take it off.
    Remove,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Add => "add",
            Self::Remove => "remove",
        })
    }
}

/// Whether the Task that has this metadata bears the finalizer.
pub fn is_on(task: &ObjectMeta) -> bool {
    position(task).is_some()
}

/// Makes the change to the Task of this metadata, and gives the Task as it is then.
///
/// `None`: there is no such Task any more, or one that is to be given the finalizer is being deleted.
///
/// # Errors
/// See [`Error`].
pub async fn write(
    client: &Client,
    task: &ObjectMeta,
    change: Change,
) -> Result<Option<Watched>, Error> {
    let api: Api<Watched> = Api::namespaced(
        client.clone(),
        task.namespace.as_deref().unwrap_or_default(),
    );
    let name = task.name.as_deref().unwrap_or_default();
    let params = PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    };
    let failed = |error| Error::Request(change, error);
    let mut seen: Option<Watched> = None;
    for _ in 0..=IMMEDIATE_RETRIES {
        let Some(patch) = patch(seen.as_ref().map_or(task, Watched::meta), change) else {
            if let Some(seen) = &mut seen {
                seen.trim();
            }
            return Ok(seen);
        };
        let answer = in_time(api.patch(name, &params, &Patch::Json::<()>(patch))).await;
        match answer {
            Ok(mut written) => {
                written.trim();
                return Ok(Some(written));
            }
            Err(error) if error.code() == Some(404) => return Ok(None),
            // 422 is the answer to a test that failed.
            Err(error) if matches!(error.code(), Some(409 | 422)) => {
                let newest = in_time(api.get_opt(name)).await.map_err(failed)?;
                let same = newest.filter(|newest| newest.meta().uid == task.uid);
                let Some(newest) = same else {
                    return Ok(None);
                };
                if change == Change::Add && newest.meta().deletion_timestamp.is_some() {
                    return Ok(None);
                }
                let known = seen.as_ref().map_or(task, Watched::meta);
                if error.code() == Some(422) && newest.meta().finalizers == known.finalizers {
                    return Err(failed(error));
                }
                seen = Some(newest);
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Err(Error::Contended(change))
}

/// The patch that makes the change to a Task of this metadata; `None` if it is not needed.
fn patch(task: &ObjectMeta, change: Change) -> Option<JsonPatch> {
    let finalizers = PointerBuf::from_tokens(["metadata", "finalizers"]);
    let known = task.finalizers.as_ref().filter(|known| !known.is_empty());
    let change = match (change, position(task)) {
        (Change::Add, Some(_)) | (Change::Remove, None) => return None,
        (Change::Add, None) => PatchOperation::Add(match known {
            Some(_) => AddOperation {
                path: PointerBuf::from_tokens(["metadata", "finalizers", "-"]),
                value: json!(FINALIZER),
            },
            None => AddOperation {
                path: finalizers.clone(),
                value: json!([FINALIZER]),
            },
        }),
        (Change::Remove, Some(index)) => PatchOperation::Remove(RemoveOperation {
            path: PointerBuf::from_tokens(["metadata", "finalizers", &index.to_string()]),
        }),
    };
    let test = |path, value| PatchOperation::Test(TestOperation { path, value });
    Some(JsonPatch(vec![
        test(
            PointerBuf::from_tokens(["metadata", "uid"]),
            json!(task.uid),
        ),
        // What is absent passes for null.
        test(finalizers, known.map_or(Value::Null, |known| json!(known))),
        change,
    ]))
}

fn position(task: &ObjectMeta) -> Option<usize> {
    task.finalizers
        .iter()
        .flatten()
        .position(|on| on == FINALIZER)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patched(finalizers: Option<&[&str]>, change: Change) -> Option<Value> {
        let task = ObjectMeta {
            uid: Some("u".to_owned()),
            finalizers: finalizers.map(|on| on.iter().map(|on| (*on).to_owned()).collect()),
            ..ObjectMeta::default()
        };
        patch(&task, change).map(|patch| json!(patch))
    }

    #[test]
    fn it_is_put_on_beside_those_that_are_there() {
        let uid = json!({"op": "test", "path": "/metadata/uid", "value": "u"});
        for none in [None, Some(&[][..])] {
            assert_eq!(
                patched(none, Change::Add),
                Some(json!([
                    uid,
                    {"op": "test", "path": "/metadata/finalizers", "value": null},
                    {"op": "add", "path": "/metadata/finalizers", "value": [FINALIZER]},
                ]))
            );
        }
        assert_eq!(
            patched(Some(&["theirs"]), Change::Add),
            Some(json!([
                uid,
                {"op": "test", "path": "/metadata/finalizers", "value": ["theirs"]},
                {"op": "add", "path": "/metadata/finalizers/-", "value": FINALIZER},
            ]))
        );
    }

    #[test]
    fn it_alone_is_taken_off() {
        assert_eq!(
            patched(Some(&["theirs", FINALIZER, "more"]), Change::Remove),
            Some(json!([
                {"op": "test", "path": "/metadata/uid", "value": "u"},
                {"op": "test", "path": "/metadata/finalizers", "value": ["theirs", FINALIZER, "more"]},
                {"op": "remove", "path": "/metadata/finalizers/1"},
            ]))
        );
    }

    #[test]
    fn what_is_so_already_needs_no_patch() {
        assert_eq!(patched(Some(&["theirs", FINALIZER]), Change::Add), None);
        assert_eq!(patched(Some(&["theirs"]), Change::Remove), None);
        assert_eq!(patched(None, Change::Remove), None);
    }
}
