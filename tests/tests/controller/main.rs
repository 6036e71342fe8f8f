//! What the controller does for a Task, and what it costs the API server.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod cost;
mod exhausted;
mod foreign;
mod injected;
mod lifetime;
mod numbers;
mod refused;
mod scaled;
mod unready;

use std::path::Path;

use serde_json::{Value, json};
use task_tests::{AuditLog, Kubectl, Operator};
use tokio::sync::OnceCell;

const V1: &str = "tasks.v1.task.example.io";

struct World {
    operator: Operator,
    log: AuditLog,
}

static WORLD: OnceCell<World> = OnceCell::const_new();

/// One operator for all tests of this file; each works in a namespace of its own.
async fn world() -> &'static World {
    let start = || async {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("controller");
        let log = AuditLog::in_folder(&folder.with_extension("audit")).unwrap();
        let operator = Operator::start_with(&folder, log.api_server_args())
            .await
            .unwrap();
        World { operator, log }
    };
    WORLD.get_or_init(start).await
}

async fn kubectl(namespace: &'static str) -> Kubectl<'static> {
    Kubectl::in_namespace(&world().await.operator, namespace).await
}

fn task(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": name}, "spec": spec})
}

async fn create(kubectl: Kubectl<'_>, object: &Value) {
    kubectl
        .ok_with(&["create", "-f", "-"], &object.to_string())
        .await;
}

fn phase(task: &Value) -> &str {
    task["status"]["phase"].as_str().unwrap_or_default()
}

fn succeeded(task: &Value) -> bool {
    phase(task) == "Succeeded"
        && task["status"]["observedGeneration"] == task["metadata"]["generation"]
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap()
}

/// The type, the reason and the message of the condition that is true of `Ready`, `Reconciling` and `Stalled`.
fn standing(task: &Value) -> (&str, &str, &str) {
    let conditions = task["status"]["conditions"].as_array();
    let is_standing = |condition: &&Value| {
        let types = ["Ready", "Reconciling", "Stalled"];
        condition["status"] == "True" && types.iter().any(|type_| condition["type"] == *type_)
    };
    conditions
        .into_iter()
        .flatten()
        .find(is_standing)
        .map_or(("", "", ""), |condition| {
            let field = |name: &str| condition[name].as_str().unwrap_or_default();
            (field("type"), field("reason"), field("message"))
        })
}
