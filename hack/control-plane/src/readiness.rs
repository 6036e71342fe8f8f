//! Waiting until a component is of use.

use std::{net::SocketAddr, process::ExitStatus, time::Duration};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{Api, Client};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use crate::{
    node,
    process::{self, Process},
};

/// Readiness takes seconds; this is for machines under heavy load.
const DEADLINE: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(50);
/// A request that is stuck must not eat a whole deadline.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// Why a component is not of use.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It ended while it was needed.
    #[error("{component} ended ({status}); its log ends:\n{log_tail}")]
    Ended {
        /// The component's name.
        component: String,
        /// How it ended.
        status: ExitStatus,
        /// The last lines of its log.
        log_tail: String,
    },
    /// Something did not happen in time.
    #[error("after {} s {waited_for} is still not so ({last}); the log of {component} ends:\n{log_tail}", deadline.as_secs())]
    Deadline {
        /// What was waited for.
        waited_for: &'static str,
        /// For how long.
        deadline: Duration,
        /// The last answer.
        last: String,
        /// The name of the component whose task it was.
        component: String,
        /// The last lines of its log.
        log_tail: String,
    },
    /// Its process could not be looked at.
    #[error(transparent)]
    Process(#[from] process::Error),
}

/// Waits until etcd, at this address, takes connections.
pub(crate) async fn etcd(process: &mut Process, address: SocketAddr) -> Result<(), Error> {
    wait_for("etcd answers", process, async || {
        TcpStream::connect(address).await.map(drop).map_err(text)
    })
    .await
}

/// Waits until the API server says that it is ready.
pub(crate) async fn api_server(process: &mut Process, client: Client) -> Result<(), Error> {
    wait_for("the API server is ready", process, async || {
        let request = http::Request::get("/readyz").body(Vec::new());
        let request = request.map_err(text)?;
        client.request_text(request).await.map(drop).map_err(text)
    })
    .await
}

/// Waits until Pods can be created, which the controller manager makes possible.
pub(crate) async fn default_service_account(
    process: &mut Process,
    client: Client,
) -> Result<(), Error> {
    let accounts = Api::<ServiceAccount>::namespaced(client, "default");
    wait_for("the default service account exists", process, async || {
        accounts.get("default").await.map(drop).map_err(text)
    })
    .await
}

/// Waits until the Node takes Pods, which kwok makes it do.
pub(crate) async fn node(process: &mut Process, client: Client) -> Result<(), Error> {
    let nodes = Api::<Node>::all(client);
    wait_for("the Node is ready and takes Pods", process, async || {
        let node = nodes.get(node::NAME).await.map_err(text)?;
        if node::takes_pods(&node) {
            Ok(())
        } else {
            Err(format!("{:?}, {:?}", node.spec, node.status))
        }
    })
    .await
}

/// Asks `probe` until it succeeds. It is `process` that makes it succeed.
async fn wait_for(
    waited_for: &'static str,
    process: &mut Process,
    probe: impl AsyncFn() -> Result<(), String>,
) -> Result<(), Error> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let last = match timeout(PROBE_TIMEOUT, probe()).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(last)) => last,
            Err(_) => "no answer".into(),
        };
        if let Some(status) = process.exit_status()? {
            return Err(Error::Ended {
                component: process.name().to_owned(),
                status,
                log_tail: process.log_tail(),
            });
        }
        if Instant::now() >= deadline {
            return Err(Error::Deadline {
                waited_for,
                deadline: DEADLINE,
                last,
                component: process.name().to_owned(),
                log_tail: process.log_tail(),
            });
        }
        sleep(POLL).await;
    }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}
