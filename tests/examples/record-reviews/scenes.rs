//! What is done to Tasks while the webhook listens.

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Duration;

use control_plane::ControlPlane;
use tokio::io::AsyncWriteExt;
use tokio::time::sleep;

use crate::settle::settle;
use crate::webhook::Recorder;

/// After so long without a review, no more comes of what was done.
const QUIET: Duration = Duration::from_millis(500);

const OLD: &str = r#"{"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "metadata": {"name": "old"},
    "spec": {"env": [{"name": "B", "value": "2"}, {"name": "A", "value": "<1>"}], "provider": "volumes",
        "parameters": {"size": "10"}, "timeoutSeconds": 90}}"#;

const NEW: &str = r#"{"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "new"},
    "spec": {"env": {"B": "2", "A": "1"}, "operation": {"provider": "volumes", "completion": "Queue", "timeout": "1.5s",
        "parameters": {"size": 10, "exact": 9007199254740993, "list": [1.5, null, "é <b>"]}}}}"#;

const STATUS: &str = r#"{"status": {"phase": "Running", "lastAsyncOperationID": "id-7",
    "operation": {"phase": "Creating", "key": "key-7", "startedAt": "2026-01-02T03:04:05Z"}}}"#;

/// Each scene: its name, the arguments of kubectl, and its standard input.
const SCENES: [(&str, &[&str], &str); 12] = [
    ("create-old", &["create", "-f", "-"], OLD),
    ("create-new", &["create", "-f", "-"], NEW),
    (
        "get-old-as-new",
        &["get", "tasks.v1.task.example.io", "old", "--output=json"],
        "",
    ),
    (
        "get-new-as-old",
        &[
            "get",
            "tasks.v1alpha1.task.example.io",
            "new",
            "--output=json",
        ],
        "",
    ),
    (
        "list-as-old",
        &["get", "tasks.v1alpha1.task.example.io", "--output=json"],
        "",
    ),
    (
        "status-of-new",
        &[
            "patch",
            "tasks.v1.task.example.io",
            "new",
            "--subresource=status",
            "--type=merge",
            "--patch",
            STATUS,
        ],
        "",
    ),
    (
        "status-by-old-name",
        &[
            "patch",
            "tasks.v1alpha1.task.example.io",
            "new",
            "--subresource=status",
            "--type=merge",
            "--patch",
            r#"{"status": {"taskStatus": "Completed"}}"#,
        ],
        "",
    ),
    (
        "scale-old",
        &[
            "scale",
            "tasks.v1alpha1.task.example.io",
            "new",
            "--replicas=3",
        ],
        "",
    ),
    ("replace-old", &["replace", "-f", "-"], OLD),
    (
        "apply-old",
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        OLD,
    ),
    (
        "apply-new",
        &["apply", "--server-side", "--force-conflicts", "-f", "-"],
        NEW,
    ),
    (
        "delete-as-old",
        &[
            "delete",
            "tasks.v1alpha1.task.example.io",
            "new",
            "--wait=false",
        ],
        "",
    ),
];

/// Plays every scene, and gives what the webhook was asked in each, without what it had been asked before.
pub async fn play(
    control_plane: &ControlPlane,
    recorder: &Recorder,
) -> Vec<(&'static str, Vec<String>)> {
    let mut seen: Vec<String> = Vec::new();
    let mut recorded = Vec::new();
    for (scene, args, input) in SCENES {
        kubectl(control_plane, args, input).await;
        let mut reviews = settled(recorder).await;
        reviews.retain(|review| !seen.contains(review));
        seen.extend(reviews.iter().cloned());
        recorded.push((scene, reviews));
    }
    recorded
}

/// What is asked until nothing more is, without what is asked twice, in an order that is the same each time: the API server keeps
/// its caches up to date on the side.
async fn settled(recorder: &Recorder) -> Vec<String> {
    let mut reviews = BTreeSet::new();
    loop {
        sleep(QUIET).await;
        let new = recorder.take();
        if new.is_empty() {
            return reviews.into_iter().collect();
        }
        reviews.extend(new.iter().map(|review| settle(review)));
    }
}

async fn kubectl(control_plane: &ControlPlane, args: &[&str], input: &str) {
    let mut command = control_plane.kubectl();
    command
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    assert!(child.wait().await.unwrap().success(), "kubectl {args:?}");
}
