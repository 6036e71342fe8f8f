//! The control plane against the real programs.

#![allow(clippy::unwrap_used)]

use std::{
    collections::BTreeMap,
    env,
    fs::{self, Permissions},
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use control_plane::{Component, ControlPlane, Error, Options, ReadinessError, Tool};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Node},
};
use kube::{
    Api, Client,
    api::{ListParams, PostParams},
};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::{Value, json};

const EXECUTABLE: &str = env!("CARGO_BIN_EXE_control-plane");

async fn put_config_map(client: Client, name: &str) {
    let config_map = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    let api = Api::<ConfigMap>::default_namespaced(client);
    api.create(&PostParams::default(), &config_map)
        .await
        .unwrap();
}

async fn config_maps(client: Client) -> Vec<String> {
    let api = Api::<ConfigMap>::default_namespaced(client);
    let list = api.list(&ListParams::default()).await.unwrap();
    list.items
        .into_iter()
        .filter_map(|item| item.metadata.name)
        .collect()
}

#[tokio::test]
async fn data_survives_a_restart_of_the_api_server_and_of_etcd() {
    let mut control_plane = ControlPlane::start(Options::api_server_only())
        .await
        .unwrap();
    let client = control_plane.client().unwrap();
    put_config_map(client.clone(), "kept").await;

    control_plane.stop(Component::ApiServer).await.unwrap();
    control_plane.kill(Component::Etcd).unwrap();
    assert_eq!(
        control_plane.ended().unwrap(),
        [Component::Etcd, Component::ApiServer]
    );
    control_plane.restart(Component::Etcd).await.unwrap();
    control_plane.restart(Component::ApiServer).await.unwrap();

    assert_eq!(control_plane.ended().unwrap(), []);
    assert_eq!(config_maps(client).await, ["kept"]);
}

#[tokio::test]
async fn two_control_planes_run_side_by_side() {
    let (one, other) = tokio::try_join!(
        ControlPlane::start(Options::api_server_only()),
        ControlPlane::start(Options::api_server_only()),
    )
    .unwrap();
    put_config_map(one.client().unwrap(), "mine").await;

    assert_eq!(config_maps(one.client().unwrap()).await, ["mine"]);
    assert_eq!(
        config_maps(other.client().unwrap()).await,
        Vec::<String>::new()
    );
    assert_ne!(one.state_dir(), other.state_dir());
}

#[tokio::test]
async fn a_deployment_becomes_available_and_kubectl_sees_it() {
    let control_plane = ControlPlane::start(Options::default()).await.unwrap();
    let deployment: Deployment = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "web", "image": "nginx:alpine"}]},
            },
        },
    }))
    .unwrap();
    let api = Api::<Deployment>::default_namespaced(control_plane.client().unwrap());
    api.create(&PostParams::default(), &deployment)
        .await
        .unwrap();

    let wait = [
        "wait",
        "--for=condition=Available",
        "--timeout=60s",
        "deployment/web",
    ];
    let status = control_plane.kubectl().args(wait).status().await.unwrap();

    assert!(status.success());
    let deployment = api.get("web").await.unwrap();
    assert_eq!(deployment.status.unwrap().ready_replicas, Some(3));
}

#[tokio::test]
async fn the_programs_tell_their_true_version() {
    let control_plane = ControlPlane::start(Options::api_server_only())
        .await
        .unwrap();
    let version = control_plane
        .client()
        .unwrap()
        .apiserver_version()
        .await
        .unwrap();
    assert_eq!(version.git_version, control_plane::kubernetes_version());
}

#[tokio::test]
async fn a_component_that_fails_to_start_shows_its_log() {
    let options = Options {
        api_server_args: vec!["--no-such-flag".into()],
        ..Options::api_server_only()
    };
    let err = ControlPlane::start(options).await.unwrap_err();
    assert!(
        matches!(&err, Error::NotReady(ReadinessError::Ended { component, log_tail, .. })
            if component == "kube-apiserver" && log_tail.contains("unknown flag: --no-such-flag")),
        "{err}"
    );
}

#[tokio::test]
async fn a_control_plane_without_workloads_has_no_node_and_no_kwok() {
    let mut control_plane = ControlPlane::start(Options::api_server_only())
        .await
        .unwrap();
    let nodes = Api::<Node>::all(control_plane.client().unwrap());
    assert!(
        nodes
            .list(&ListParams::default())
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let err = control_plane.kill(Component::Kwok).unwrap_err();
    assert!(matches!(err, Error::Absent(Component::Kwok)), "{err}");
}

#[test]
fn every_process_dies_with_a_parent_that_is_killed() {
    let mut parent = Command::new(EXECUTABLE)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let ready: Value = serde_json::from_str(&line).unwrap();
    let pids: BTreeMap<String, u32> = serde_json::from_value(ready["pids"].clone()).unwrap();
    assert_eq!(pids.len(), 5, "{pids:?}");
    assert!(pids.values().all(|&pid| runs(pid)), "{pids:?}");

    parent.kill().unwrap();
    parent.wait().unwrap();

    let deadline = Instant::now() + Duration::from_secs(10);
    while pids.values().any(|&pid| runs(pid)) {
        assert!(Instant::now() < deadline, "still running: {pids:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process exists and has not ended; one that its new parent has not yet waited for has.
fn runs(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat"))
        .ok()
        .and_then(|stat| {
            Some(
                !stat
                    .rsplit_once(')')?
                    .1
                    .trim_start()
                    .starts_with(['Z', 'X']),
            )
        })
        .unwrap_or(false)
}

#[test]
fn without_go_the_error_says_what_is_missing_and_how_to_help_it() {
    let empty = tempfile::tempdir().unwrap();
    let output = Command::new(EXECUTABLE)
        .env_remove("KUBEBUILDER_ASSETS")
        .env("XDG_CACHE_HOME", empty.path())
        .env("PATH", empty.path())
        .output()
        .unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    for part in ["etcd is neither in $KUBEBUILDER_ASSETS", "install Go"] {
        assert!(message.contains(part), "{message}");
    }
}

/// A build by a stand-in for Go, which writes half a program and waits.
struct HalfDoneBuild {
    builder: Child,
    dir: tempfile::TempDir,
}

impl HalfDoneBuild {
    fn start() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let fake_go = dir.path().join("go");
        let script = "#!/bin/sh\n\
            [ \"$1\" = version ] && exit 0\n\
            while [ \"$1\" != -o ]; do shift; done\n\
            printf half > \"$2\"\n\
            chmod +x \"$2\"\n\
            exec sleep 60\n";
        fs::write(&fake_go, script).unwrap();
        fs::set_permissions(&fake_go, Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", dir.path().display(), env::var("PATH").unwrap());
        let builder = Command::new(EXECUTABLE)
            .env_remove("KUBEBUILDER_ASSETS")
            .env("XDG_CACHE_HOME", dir.path())
            .env("PATH", path)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let build = Self { builder, dir };
        let deadline = Instant::now() + Duration::from_secs(20);
        while !build.cache().join(".etcd.partial").exists() {
            assert!(Instant::now() < deadline, "the build did not begin");
            thread::sleep(Duration::from_millis(20));
        }
        build
    }

    fn cache(&self) -> PathBuf {
        let cache = self.dir.path().join("task-operator/control-plane");
        cache.join(Tool::Etcd.version())
    }
}

impl Drop for HalfDoneBuild {
    fn drop(&mut self) {
        let _ = self.builder.kill();
        let _ = self.builder.wait();
    }
}

#[test]
fn a_killed_build_leaves_no_program_behind() {
    let mut build = HalfDoneBuild::start();
    build.builder.kill().unwrap();
    build.builder.wait().unwrap();
    assert!(!build.cache().join("etcd").exists());
}

#[test]
fn a_build_is_not_waited_for_when_the_control_plane_is_told_to_stop() {
    let mut build = HalfDoneBuild::start();
    let pid = Pid::from_raw(build.builder.id().cast_signed());
    kill(pid, Signal::SIGTERM).unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    while build.builder.try_wait().unwrap().is_none() {
        assert!(Instant::now() < deadline, "it still runs");
        thread::sleep(Duration::from_millis(20));
    }
}
