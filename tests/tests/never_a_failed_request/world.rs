//! An API server that calls task-conversion, and no controller: nobody but the test writes a Task.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use control_plane::process::{self, Process};
use control_plane::{ControlPlane, Options, Port};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use local_operator::{CONVERSION, Webhook};
use tokio::time::{Instant, sleep};

/// The longest that anything here takes on a machine under heavy load.
const DEADLINE: Duration = Duration::from_secs(60);

/// How often it is looked.
const POLL: Duration = Duration::from_millis(50);

/// An API server, in a folder that was emptied first.
pub async fn api_server(folder: &Path) -> ControlPlane {
    let _ = fs::remove_dir_all(folder);
    local_operator::build(&executables()).await.unwrap();
    let options = Options {
        state_dir: Some(folder.join("control-plane")),
        ..Options::api_server_only()
    };
    ControlPlane::start(options).await.unwrap()
}

fn executables() -> PathBuf {
    local_operator::executables().unwrap()
}

/// A client that tries nothing twice.
pub async fn client(control_plane: &ControlPlane) -> Client {
    let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}

/// Has the API server call the server on `port`, with a certificate of the authority in the folder `certificates`.
pub async fn register(client: &Client, port: std::net::SocketAddr, certificates: &Path) {
    let webhook = Webhook::of(port, certificates).unwrap();
    webhook.install(client.clone()).await.unwrap();
}

/// A replica of task-conversion.
pub struct Replica {
    pub port: Port,
    pub process: Process,
}

impl Replica {
    /// Starts one with the certificate in the folder `certificates`, logging into the folder `logs`. It stops within seconds.
    pub fn start(name: &str, certificates: &Path, logs: &Path) -> Self {
        let port = Port::claim().unwrap();
        let args = [
            "--bind".into(),
            port.address().to_string().into(),
            "--cert-dir".into(),
            certificates.into(),
            "--drain-delay".into(),
            "2s".into(),
        ];
        let program = process::Program {
            name: name.to_owned(),
            path: executables().join(CONVERSION),
            args: args.into(),
            env: Vec::new(),
        };
        let process = Process::start(program, logs).unwrap();
        Self { port, process }
    }

    /// Ends it as a kubelet does, and starts it again.
    pub async fn roll(&mut self) {
        let status = self.process.terminate(DEADLINE).await.unwrap();
        assert!(status.success(), "{status}: {}", self.process.log_tail());
        self.process.restart().unwrap();
    }
}

/// Waits until `holds`.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        sleep(POLL).await;
    }
}
