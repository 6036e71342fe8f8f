//! Tasks that say something that only their own version can say, and the requests that are made of them.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};

/// The content types of whole objects, of merge patches, and of server-side applies.
pub const JSON: &str = "application/json";
pub const MERGE: &str = "application/merge-patch+json";
pub const APPLY: &str = "application/apply-patch+yaml";

/// The namespace of all Tasks.
pub const NAMESPACE: &str = "default";

/// A version of Task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V1alpha1,
}

pub use Version::{V1, V1alpha1};

impl Version {
    /// The other one.
    pub fn other(self) -> Self {
        match self {
            V1 => V1alpha1,
            V1alpha1 => V1,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            V1 => "v1",
            V1alpha1 => "v1alpha1",
        })
    }
}

/// The spec that is seen at `version` of a Task that was written at its `home`.
pub fn spec(home: Version, version: Version, replicas: usize, port: usize) -> Value {
    let mut spec = match (home, version) {
        (V1, V1) => json!({
            "env": {"A": "1", "B": "$(A)"},
            "operation": {"provider": "p", "completion": "Callback", "timeout": "1.5s", "parameters": {"n": 1.50, "list": [1, {}]}},
        }),
        (V1, V1alpha1) => json!({
            "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)"}],
            "provider": "p", "timeoutSeconds": 2, "parameters": {"n": "1.5", "list": "[1,{}]"},
        }),
        (V1alpha1, V1alpha1) => json!({
            "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}],
            "provider": "p", "timeoutSeconds": 90, "parameters": {"n": "1"},
        }),
        (V1alpha1, V1) => json!({
            "env": {"A": "1", "B": "2"},
            "operation": {"provider": "p", "completion": "Poll", "timeout": "1m30s", "parameters": {"n": "1"}},
        }),
    };
    spec["image"] = json!("a:1");
    spec["replicas"] = json!(replicas);
    spec["port"] = json!(port);
    spec
}

/// What is patched into the status of every Task at v1, and must stay there.
pub fn status() -> Value {
    json!({"operation": {"phase": "Creating", "key": "key-7", "attempts": 2}, "lastAsyncOperationID": "id-7"})
}

/// A Task's manifest.
pub fn manifest(version: Version, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("task.example.io/{version}"),
        "kind": "Task",
        "metadata": {"name": name},
        "spec": spec,
    })
}

/// The path of a place below the Tasks of a version, such as `/name/status`.
pub fn path(version: Version, place: &str) -> String {
    format!("/apis/task.example.io/{version}/namespaces/{NAMESPACE}/tasks{place}")
}

/// Requests to the API server, none of which may fail, and what is to be said against them.
pub struct Requests {
    pub client: Client,
    made: AtomicUsize,
    faults: Mutex<Vec<String>>,
}

impl Requests {
    pub fn of(client: Client) -> Self {
        Self {
            client,
            made: AtomicUsize::default(),
            faults: Mutex::default(),
        }
    }

    /// What a request is answered with. One that fails is noted, and gives null.
    pub async fn send(
        &self,
        method: Method,
        content_type: &str,
        version: Version,
        place: &str,
        body: &Value,
    ) -> Value {
        self.made.fetch_add(1, Ordering::Relaxed);
        match send(
            &self.client,
            method.clone(),
            content_type,
            version,
            place,
            body,
        )
        .await
        {
            Ok(answer) => answer,
            Err(error) => {
                self.note(format!("{method} {}: {error}", path(version, place)));
                Value::Null
            }
        }
    }

    pub async fn get(&self, version: Version, place: &str) -> Value {
        self.send(Method::GET, JSON, version, place, &Value::Null)
            .await
    }

    /// Reads a Task at both versions, and notes where it is not as it must be.
    pub async fn compare(&self, home: Version, name: &str, replicas: usize, port: usize) {
        for version in [V1, V1alpha1] {
            let task = self.get(version, &format!("/{name}")).await;
            let expected = spec(home, version, replicas, port);
            if task["spec"] != expected {
                self.note(format!(
                    "{name} at {version}: expected {expected}, found {task}"
                ));
            }
            let mut kept = task["status"].clone();
            if version == V1alpha1 {
                kept.as_object_mut().map(|kept| kept.remove("taskStatus"));
            }
            if kept != status() {
                self.note(format!("the status of {name} at {version} is {task}"));
            }
        }
    }

    /// Notes what must not be.
    pub fn note(&self, fault: String) {
        let mut faults = self.faults.lock().unwrap_or_else(PoisonError::into_inner);
        faults.push(fault);
    }

    /// How many requests were made.
    pub fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// What was noted.
    pub fn faults(&self) -> Vec<String> {
        self.faults
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// Sends one request.
pub async fn send(
    client: &Client,
    method: Method,
    content_type: &str,
    version: Version,
    place: &str,
    body: &Value,
) -> kube::Result<Value> {
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = Request::builder()
        .method(method)
        .uri(path(version, place))
        .header("Content-Type", content_type)
        .body(body);
    client
        .request(request.map_err(kube::Error::HttpError)?)
        .await
}
