//! An API server that calls task-conversion, and no controller: nobody but the test writes a Task.

use std::fs;
use std::path::Path;
use std::time::Duration;

use control_plane::{ControlPlane, Options};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use local_operator::Webhook;
use tokio::time::{Instant, sleep};

/// The longest that anything here takes on a machine under heavy load.
const DEADLINE: Duration = Duration::from_secs(60);

/// How often it is looked.
const POLL: Duration = Duration::from_millis(50);

/// An API server, in a folder that was emptied first.
pub async fn api_server(folder: &Path) -> ControlPlane {
    let _ = fs::remove_dir_all(folder);
    let executables = local_operator::executables().unwrap();
    local_operator::build(&executables).await.unwrap();
    let options = Options {
        state_dir: Some(folder.join("control-plane")),
        ..Options::api_server_only()
    };
    ControlPlane::start(options).await.unwrap()
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

/// Waits until `holds`.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !holds().await {
        assert!(Instant::now() < deadline, "not within a minute: {what}");
        sleep(POLL).await;
    }
}
