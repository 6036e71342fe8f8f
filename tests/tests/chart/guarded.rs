//! What keeps people from taking the webhooks away from under their Tasks, on a real API server.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use control_plane::{ControlPlane, Options, crd};
use serde_json::{Value, json};
use task_tests::{Kubectl, Operator};
use tokio::process::Command;
use tokio::time::{Instant, sleep};

use crate::helm::{Release, find, rendered};

const DEADLINE: Duration = Duration::from_secs(60);

const DEFINITION: &str = "customresourcedefinition/tasks.task.example.io";

/// kubectl, which must succeed or say why not.
async fn kubectl(control_plane: &ControlPlane, args: &[&str]) -> Result<(), String> {
    let mut command = control_plane.kubectl();
    command.args(args).stdin(Stdio::null());
    let output = command.output().await.unwrap();
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

async fn until(what: &str, holds: impl AsyncFn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "not {what}");
        sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn the_webhook_server_cannot_be_deleted_while_the_definition_needs_them() {
    let control_plane = ControlPlane::start(Options::api_server_only())
        .await
        .unwrap();
    let client = control_plane.client().unwrap();
    crd::install(client, &task_crds::crd()).await.unwrap();
    let guarded = [
        "Namespace",
        "Service",
        "Deployment",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ];
    let mut objects = local_operator::manifest().unwrap();
    objects.retain(|object| guarded.iter().any(|kind| object["kind"] == *kind));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("objects.json");
    let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
    fs::write(&file, list.to_string()).unwrap();
    let apply = ["apply", "--server-side", "-f", file.to_str().unwrap()];
    kubectl(&control_plane, &apply).await.unwrap();

    let parts = [
        "service/task-conversion",
        "deployment/task-conversion",
        "namespace/task-system",
    ];
    let delete = async |part: &str| {
        let args = [
            "delete",
            "--dry-run=server",
            "--namespace=task-system",
            part,
        ];
        kubectl(&control_plane, &args).await
    };
    for part in parts {
        // It takes the API server a moment to go by a new policy.
        until(part, async || {
            let told = delete(part).await;
            told.is_err_and(|why| why.contains("delete the Tasks, then the definition"))
        })
        .await;
    }
    // Another Service is nobody's business.
    delete("service/task-controller-metrics").await.unwrap();

    kubectl(&control_plane, &["delete", DEFINITION])
        .await
        .unwrap();
    for part in parts {
        until(part, async || delete(part).await.is_ok()).await;
    }
}

/// How the container of a Job ends, as the Job's ServiceAccount.
async fn run(job: &Value, kubeconfig: &Path) -> (Option<i32>, String) {
    let plugin = local_operator::build_plugin(&local_operator::executables().unwrap())
        .await
        .unwrap();
    let container = &job["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(container["command"], json!(["/kubectl-task"]));
    let args = container["args"].as_array().unwrap().iter();
    let output = Command::new(plugin)
        .args(args.map(|arg| arg.as_str().unwrap()))
        .env("KUBECONFIG", kubeconfig)
        .output()
        .await
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (
        output.status.code(),
        String::from_utf8_lossy(&text).into_owned(),
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_uninstall_is_refused_while_there_are_tasks_and_an_upgrade_rewrites_what_is_stored() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guarded");
    let operator = Operator::start(&folder).await.unwrap();
    let objects = rendered(Release::default(), &["migration.enabled=true"]);
    let control_plane = operator.control_plane();
    let mut jobs = Vec::new();
    for name in ["task-uninstall", "task-migration"] {
        let job = find(&objects, "Job", name);
        let kubeconfig =
            local_operator::kubeconfig_of(name, objects.clone(), control_plane, &folder);
        jobs.push((job, kubeconfig.await.unwrap()));
    }
    let [uninstall, migration] = &jobs[..] else {
        panic!("two jobs")
    };

    let in_shop = Kubectl::in_namespace(&operator, "shop").await;
    let task = json!({"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "metadata": {"name": "web"}, "spec": {}});
    in_shop
        .ok_with(&["apply", "--filename=-"], &task.to_string())
        .await;
    let (code, told) = run(&uninstall.0, &uninstall.1).await;
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("1 Tasks; delete them first"), "{told}");

    let (code, told) = run(&migration.0, &migration.1).await;
    assert_eq!(code, Some(0), "{told}");

    in_shop.ok(&["delete", "tasks", "--all"]).await;
    in_shop.ok(&["delete", DEFINITION]).await;
    let (code, told) = run(&uninstall.0, &uninstall.1).await;
    assert_eq!(code, Some(0), "{told}");
}
