//! Tasks of each version in the local control plane, as a person would apply and read it with kubectl.

use std::{
    ffi::OsStr,
    io,
    process::{ExitStatus, Output},
    time::Duration,
};

use control_plane::process::log_tail;
use local_operator::{BuildError, workspace};
use tokio::{process::Command, time::sleep};

use crate::{cluster_dir::ClusterDir, conditions::Tasks, say, status::Status};

/// How often it looks whether waiting has become pointless.
const POLL: Duration = Duration::from_secs(1);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Workspace(#[from] BuildError),
    #[error("cannot run kubectl")]
    Run(#[source] io::Error),
    #[error("kubectl failed ({0})")]
    Failed(ExitStatus),
    #[error("a sample is not Ready.\n{report}")]
    NotReady { report: String },
    #[error("a sample will not be Ready.\n{report}\n{conflicts}")]
    Conflict { report: String, conflicts: String },
}

/// Applies the samples, waits until they are Ready or cannot be, and shows them at both versions.
pub(crate) async fn apply_and_show(dir: &ClusterDir, status: &Status) -> Result<(), Error> {
    let samples = workspace()?.join("hack/samples");
    let samples = samples.as_os_str();
    let kubectl = Kubectl { dir, status };
    say::step("applying hack/samples and waiting until all Tasks are Ready");
    kubectl
        .run(&["apply".as_ref(), "-f".as_ref(), samples])
        .await?;
    let ready = ["wait", "--for=condition=Ready", "--timeout=120s", "-f"];
    let ready = [&ready.map(OsStr::new)[..], &[samples]].concat();
    tokio::select! {
        ready = kubectl.run(&ready) => if ready.is_err() {
            let report = report(&kubectl, samples).await?;
            return Err(Error::NotReady { report });
        },
        conflicts = conflicts(&kubectl, samples) => {
            let conflicts = conflicts?;
            let report = report(&kubectl, samples).await?;
            return Err(Error::Conflict { report, conflicts });
        }
    }
    for version in ["v1", "v1alpha1"] {
        let resource = format!("tasks.{version}.task.example.io");
        println!("\n$ kubectl get {resource}");
        kubectl.run(&["get".as_ref(), resource.as_ref()]).await?;
    }
    println!(
        "\nGo on with:\n  export KUBECONFIG={}\n  {} get tasks\nThe operator's logs are in:\n  {}\nStop, and forget all objects, with:\n  {}",
        say::quoted(&status.kubeconfig),
        say::quoted(&status.kubectl),
        say::quoted(&dir.logs()),
        dir.stop_command(),
    );
    Ok(())
}

/// Returns once it is clear that a sample will not be Ready.
async fn conflicts(kubectl: &Kubectl<'_>, samples: &OsStr) -> Result<String, Error> {
    let get = ["get", "--output=json", "-f"].map(OsStr::new);
    let get = [&get[..], &[samples]].concat();
    loop {
        let answer = kubectl.output(&get).await?;
        // One that cannot be read is none: the deadline of the wait is there for what is wrong otherwise.
        let tasks = serde_json::from_slice::<Tasks>(&answer.stdout).ok();
        if let Some(conflicts) = tasks.and_then(|tasks| tasks.conflicts()) {
            return Ok(conflicts);
        }
        sleep(POLL).await;
    }
}

/// What a person would look at first.
async fn report(kubectl: &Kubectl<'_>, samples: &OsStr) -> Result<String, Error> {
    let described = kubectl
        .output(&["describe".as_ref(), "-f".as_ref(), samples])
        .await?;
    let workloads = kubectl
        .output(
            &[
                "get",
                "deployments,replicasets,pods,events",
                "--output=wide",
            ]
            .map(OsStr::new),
        )
        .await?;
    let mut report = [described.stdout, workloads.stdout]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .join("\n");
    for program in [&kubectl.status.controller, &kubectl.status.conversion] {
        let tail = log_tail(&kubectl.dir.log(&program.name));
        report.push_str(&format!("\nThe log of {} ends:\n{tail}\n", program.name));
    }
    Ok(report)
}

/// The kubectl of the local control plane.
struct Kubectl<'a> {
    dir: &'a ClusterDir,
    status: &'a Status,
}

impl Kubectl<'_> {
    fn command(&self, args: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.status.kubectl);
        command
            .env("KUBECONFIG", &self.status.kubeconfig)
            .env("KUBECACHEDIR", self.dir.kubectl_cache())
            .env("KUBERC", "off")
            .kill_on_drop(true)
            .args(args);
        command
    }

    /// Runs it for a person to see.
    async fn run(&self, args: &[&OsStr]) -> Result<(), Error> {
        let status = self.command(args).status().await.map_err(Error::Run)?;
        if status.success() {
            Ok(())
        } else {
            Err(Error::Failed(status))
        }
    }

    async fn output(&self, args: &[&OsStr]) -> Result<Output, Error> {
        self.command(args).output().await.map_err(Error::Run)
    }
}
