//! An API server with the real task-conversion behind it, admission included, and no controller: nobody but the test writes a Task.

use std::fs;
use std::path::Path;

use control_plane::{ControlPlane, Options};
use http::{Method, Request};
use kube::Client;
use local_operator::{Program, Webhook};
use serde_json::{Value, json};

use crate::model::Version;

/// Tasks are made in this namespace.
pub const NAMESPACE: &str = "default";

/// The API server and the webhook. Their processes end with this one.
pub struct World {
    pub control_plane: ControlPlane,
    client: Client,
    conversion: Program,
}

impl World {
    /// Starts everything with its state in `folder`, which is emptied first.
    pub async fn start(folder: &Path) -> Self {
        let _ = fs::remove_dir_all(folder);
        let executables = local_operator::executables().unwrap();
        local_operator::build(&executables).await.unwrap();
        let certificates = folder.join("certificates");
        local_operator::issue_certificates(&certificates).unwrap();
        let options = Options {
            state_dir: Some(folder.join("control-plane")),
            ..Options::api_server_only()
        };
        let control_plane = ControlPlane::start(options).await.unwrap();
        let conversion = Program::conversion(&executables, &certificates, folder).unwrap();
        let webhook = Webhook::of(conversion.listens(), &certificates).unwrap();
        let client = control_plane.client().unwrap();
        webhook.install(client.clone()).await.unwrap();
        Self {
            control_plane,
            client,
            conversion,
        }
    }

    /// The Task `name` at `version`.
    pub async fn get(&self, version: Version, name: &str) -> Result<Value, String> {
        self.send(
            Method::GET,
            "application/json",
            version,
            &format!("/{name}"),
            &Value::Null,
        )
        .await
    }

    /// Sends `body` to a place below the Tasks of a version, such as `/name/status`.
    pub async fn send(
        &self,
        method: Method,
        content_type: &str,
        version: Version,
        place: &str,
        body: &Value,
    ) -> Result<Value, String> {
        let path = format!("/apis/task.example.io/{version}/namespaces/{NAMESPACE}/tasks{place}");
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(&method)
            .uri(&path)
            .header("Content-Type", content_type);
        let answer = self.client.request(request.body(body).unwrap()).await;
        answer.map_err(|error| {
            format!(
                "{method} {path}: {error}\n{}",
                self.conversion.process().log_tail()
            )
        })
    }
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
