//! `make up` and `make down`, for real.

#![allow(clippy::unwrap_used)]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use serde_json::Value;

/// A local control plane of its own, beside the one that a person may have running.
struct Local {
    dir: tempfile::TempDir,
}

impl Local {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("local-cluster")
    }

    fn xtask(&self, args: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .args(args)
            .arg("--state-dir")
            .arg(self.state())
            .output()
            .unwrap()
    }

    /// Brings it up, and gives what it printed.
    fn up(&self) -> String {
        let output = self.xtask(&["up"]);
        let [stdout, stderr] =
            [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{stdout}\n{stderr}");
        stdout
    }

    fn status(&self) -> Value {
        let status = fs::read(self.state().join("status.json")).unwrap();
        serde_json::from_slice(&status).unwrap()
    }

    fn pid(&self, program: &str) -> i32 {
        let pid = self.status()[program]["pid"].as_i64();
        pid.unwrap().try_into().unwrap()
    }

    fn kubectl(&self, args: &[&str]) {
        let status = self.status();
        let kubectl = Command::new(status["kubectl"].as_str().unwrap())
            .env("KUBECONFIG", status["kubeconfig"].as_str().unwrap())
            .args(args)
            .status();
        assert!(kubectl.unwrap().success(), "{args:?}");
    }
}

impl Drop for Local {
    fn drop(&mut self) {
        self.xtask(&["down"]);
    }
}

/// The command lines of the processes that were started for the state folder `dir`.
fn processes_of(dir: &Path) -> Vec<String> {
    let dir = dir.to_str().unwrap();
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.unwrap().path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
        .filter(|line| line.contains(dir))
        .collect()
}

/// The lines of the table that follows `$ kubectl get <resource>`.
fn table<'a>(output: &'a str, resource: &str) -> Vec<&'a str> {
    let title = format!("$ kubectl get {resource}");
    let lines = output.lines().skip_while(|line| *line != title).skip(2);
    lines.take_while(|line| !line.is_empty()).collect()
}

// One test, since each start takes seconds.
#[test]
fn up_shows_the_samples_ready_mends_what_died_tells_of_a_conflict_and_down_leaves_nothing() {
    let local = Local::new();

    let output = local.up();
    for version in ["v1", "v1alpha1"] {
        let rows = table(&output, &format!("tasks.{version}.task.example.io"));
        let names: Vec<_> = rows
            .iter()
            .filter_map(|row| row.split_whitespace().next())
            .collect();
        assert_eq!(names, ["database", "reporting", "storefront"], "{output}");
        assert!(rows.iter().all(|row| row.contains("True")), "{output}");
    }
    // Its end was told by the provider.
    let told = "--for=jsonpath={.status.operation.lastEventID}";
    local.kubectl(&["wait", told, "--timeout=10s", "task/database"]);
    let told = [
        "publish-event",
        "--operation=nobody.0.0",
        "--status=Running",
    ];
    assert!(local.xtask(&told).status.success());
    let [conversion, controller] = [local.pid("conversion"), local.pid("controller")];

    local.up();
    assert_eq!(
        [local.pid("conversion"), local.pid("controller")],
        [conversion, controller]
    );

    kill(Pid::from_raw(controller), Signal::SIGKILL).unwrap();
    local.up();
    assert_eq!(local.pid("conversion"), conversion);
    assert_ne!(local.pid("controller"), controller);

    local.kubectl(&["delete", "task", "storefront", "--cascade=foreground"]);
    local.kubectl(&["create", "service", "clusterip", "storefront", "--tcp=80"]);
    let start = Instant::now();
    let output = local.xtask(&["up"]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success(), "{stderr}");
    let told = stderr.lines().last().unwrap();
    assert!(
        told.starts_with("Task storefront is stalled (ChildConflict): "),
        "{stderr}"
    );
    assert!(start.elapsed() < Duration::from_secs(100), "{stderr}");

    let controller = local.pid("controller");
    let runs = |pid: i32| Path::new(&format!("/proc/{pid}")).exists();
    assert!(runs(controller));
    let processes = processes_of(&local.state());
    assert_eq!(
        processes.len(),
        9,
        "five of the control plane, supervisor, task-conversion, task-controller, nats-server: {processes:#?}"
    );
    assert!(local.xtask(&["down"]).status.success());
    assert_eq!(processes_of(&local.state()), Vec::<String>::new());
    assert!(!runs(controller));
    assert!(!local.state().exists());
}
