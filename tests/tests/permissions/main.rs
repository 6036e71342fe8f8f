//! task-controller may do what it has to, and nothing else: a life of Tasks in which it needs each of the permissions that the manifest
//! gives it. The audit log tells that it was refused none, and that it used all.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod rules;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::time::{Duration, Instant};

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use nix::sys::signal::Signal;
use rules::Permission;
use serde_json::json;
use task_tests::{AuditLog, Kubectl, Operator};
use tokio::time::sleep;

const DEADLINE: Duration = Duration::from_secs(120);

/// What is asked of the authorizer by an admission plugin, and so is in no audit log: the API server of this test has the plugin.
const UNSEEN: [&str; 1] = ["update tasks/finalizers.task.example.io"];

struct World {
    operator: Operator,
    audit: AuditLog,
}

impl World {
    async fn start() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("permissions");
        let audit = AuditLog::in_folder(&folder.with_extension("audit")).unwrap();
        let mut api_server = audit.api_server_args();
        api_server.push("--enable-admission-plugins=OwnerReferencesPermissionEnforcement".into());
        // The authority that task-conversion's certificate is from stays trusted: nobody gives it the new one.
        let controller: [OsString; 5] = [
            "--shards=2",
            "--self-managed-certs",
            "--certs-name=127.0.0.1",
            "--certs-interval=300ms",
            "--certs-trust-delay=1s",
        ]
        .map(Into::into);
        let operator = Operator::start_all(&folder, api_server, &controller)
            .await
            .unwrap();
        Self { operator, audit }
    }

    /// What the controller has done so far.
    fn done(&self) -> BTreeSet<Permission> {
        let events = self.audit.events_with(rules::USER).unwrap();
        for event in &events {
            let was_refused = event["annotations"]["authorization.k8s.io/decision"] == "forbid";
            let is_own = event["user"]["username"] == rules::USER;
            assert!(!(was_refused && is_own), "{event:#}");
        }
        events.iter().flat_map(Permission::of).collect()
    }

    /// What it may do and has not done.
    fn unused(&self) -> Vec<String> {
        let done = self.done();
        let given = Permission::given(&local_operator::manifest().unwrap());
        assert!(given.len() > 30, "{given:?}");
        let unused = given
            .iter()
            .filter(|given| !done.iter().any(|done| given.allows(done)))
            .map(ToString::to_string);
        unused
            .filter(|permission| !UNSEEN.contains(&permission.as_str()))
            .collect()
    }
}

fn task(name: &str) -> String {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": name}, "spec": {"env": {"A": "1"}}}).to_string()
}

/// Three Tasks each of which wants a name that another object has, which then goes.
async fn names_are_taken(kubectl: &Kubectl<'_>) {
    let others = [
        ("deployment", "taken-0"),
        ("service", "taken-1"),
        ("configmap", "taken-2-config"),
    ];
    for (kind, name) in others {
        let args: &[&str] = match kind {
            "deployment" => &["create", kind, name, "--image=nginx"],
            "service" => &["create", kind, "clusterip", name, "--tcp=80"],
            _ => &["create", kind, name],
        };
        kubectl.ok(args).await;
    }
    for (index, (kind, name)) in others.iter().enumerate() {
        let owner = format!("taken-{index}");
        kubectl
            .ok_with(&["apply", "--filename=-"], &task(&owner))
            .await;
        let is_stalled = |object: &serde_json::Value| {
            let conditions = object["status"]["conditions"].as_array();
            conditions
                .into_iter()
                .flatten()
                .any(|condition| condition["reason"] == "ChildConflict")
        };
        kubectl.until("tasks", &owner, is_stalled).await;
        kubectl.ok(&["delete", kind, name]).await;
        kubectl.until("tasks", &owner, succeeded).await;
        kubectl.ok(&["delete", "task", &owner]).await;
    }
}

fn succeeded(task: &serde_json::Value) -> bool {
    task["status"]["phase"] == "Succeeded"
}

/// A ConfigMap that cannot be changed has to be deleted.
async fn a_config_map_is_made_immutable(kubectl: &Kubectl<'_>) {
    let immutable = r#"--patch={"immutable":true}"#;
    kubectl
        .ok(&[
            "patch",
            "configmap",
            "web-config",
            "--type=merge",
            immutable,
        ])
        .await;
    let edit = r#"--patch={"spec":{"port":8081}}"#;
    kubectl
        .ok(&["patch", "task", "web", "--type=merge", edit])
        .await;
    let is_new = |object: &serde_json::Value| object["immutable"].is_null();
    kubectl.until("configmap", "web-config", is_new).await;
}

/// Another one is put in its place, and signs.
async fn the_authority_is_spoilt(operator: &Operator) {
    let kubectl = Kubectl::in_namespace(operator, "task-system").await;
    let spoilt = r#"--patch={"stringData":{"tls.crt":"nothing"}}"#;
    kubectl
        .ok(&["patch", "secret", "task-conversion-ca", spoilt])
        .await;
}

/// Somebody changes the Leases while the controller cannot see it.
async fn the_leases_change_meanwhile(operator: &Operator) {
    let kubectl = Kubectl::in_namespace(operator, "task-system").await;
    operator.signal_controller(Signal::SIGSTOP).unwrap();
    let now = Instant::now();
    let note =
        format!("note={now:?}").replace(|c: char| !c.is_ascii_alphanumeric() && c != '=', "");
    kubectl
        .ok(&["annotate", "leases", "--all", "--overwrite", &note])
        .await;
    sleep(Duration::from_millis(2500)).await;
    operator.signal_controller(Signal::SIGCONT).unwrap();
}

/// Somebody writes to the Task all the time, so that the controller now and then writes to one that it has not seen.
async fn scribble(client: Client) {
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("task.example.io", "v1", "Task"));
    let tasks: Api<DynamicObject> = Api::namespaced_with(client, "permissions", &resource);
    for number in 0.. {
        let note = json!({"metadata": {"annotations": {"note": number.to_string()}}});
        let note = Patch::Merge(note);
        // It comes to the same if one does not go through.
        let _ = tasks.patch("web", &PatchParams::default(), &note).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_controller_may_do_what_it_has_to_and_nothing_else() {
    let mut world = World::start().await;
    {
        let kubectl = Kubectl::in_namespace(&world.operator, "permissions").await;
        kubectl
            .ok_with(&["apply", "--filename=-"], &task("web"))
            .await;
        kubectl.until("tasks", "web", succeeded).await;
        a_config_map_is_made_immutable(&kubectl).await;
        names_are_taken(&kubectl).await;
    }
    world.operator.roll_controller().await.unwrap();
    the_authority_is_spoilt(&world.operator).await;
    let scribbling = tokio::spawn(scribble(world.operator.control_plane().client().unwrap()));
    let start = Instant::now();
    while start.elapsed() < DEADLINE && !world.unused().is_empty() {
        let kubectl = Kubectl::in_namespace(&world.operator, "permissions").await;
        for replicas in [0, 1] {
            let edit = json!({"spec": {"replicas": replicas}}).to_string();
            let edit = format!("--patch={edit}");
            kubectl
                .ok(&["patch", "task", "web", "--type=merge", &edit])
                .await;
        }
        the_leases_change_meanwhile(&world.operator).await;
    }
    scribbling.abort();
    assert_eq!(world.unused(), Vec::<String>::new());
}
