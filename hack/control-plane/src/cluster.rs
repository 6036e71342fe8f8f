//! A running control plane.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use k8s_openapi::api::core::v1::{Node, ServiceAccount};
use kube::{
    Api, Client, Config,
    api::PostParams,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use serde_json::json;
use tokio::{
    net::TcpStream,
    process::Command,
    time::{Instant, sleep, timeout},
};

use crate::{
    binaries::{self, Binaries},
    components::{Component, Layout, POD_RANGE},
    credentials::{self, Credentials},
    process::{self, Process},
    scratch::{self, Port, StateDir},
    tools::Tool,
};

/// Readiness takes seconds; this is for machines under heavy load.
const DEADLINE: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);
/// A request that is stuck must not eat a whole deadline.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

const NODE: &str = "fake";

/// Why a control plane does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program is missing and could not be built.
    #[error(transparent)]
    Binaries(#[from] binaries::Error),
    /// No free port, or no folder for the state.
    #[error(transparent)]
    Scratch(#[from] scratch::Error),
    /// Keys and certificates could not be made.
    #[error(transparent)]
    Credentials(#[from] credentials::Error),
    /// The kubeconfig that was just written cannot be read.
    #[error("cannot use the control plane's kubeconfig")]
    Kubeconfig(#[from] KubeconfigError),
    /// A client could not be made, or a request failed.
    #[error("a request to the control plane failed")]
    Client(#[source] Box<kube::Error>),
    /// A child process could not be handled.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// A folder of the state could not be made.
    #[error("cannot use {}", path.display())]
    State {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A component ended while it was needed.
    #[error("{component} ended ({status}); its log ends:\n{log_tail}")]
    Ended {
        /// The component.
        component: Component,
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
        /// Whose task it was.
        component: Component,
        /// The last lines of its log.
        log_tail: String,
    },
    /// The control plane was started without it.
    #[error("this control plane has no {0}")]
    Absent(Component),
}

impl From<kube::Error> for Error {
    fn from(err: kube::Error) -> Self {
        Self::Client(Box::new(err))
    }
}

/// What a control plane is to be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether controller manager, scheduler, kwok and one fake Node run too, so that workloads do. Without
    /// them it starts in half the time; then nothing collects garbage, removes namespaces or makes
    /// service accounts.
    pub workloads: bool,
    /// Further arguments of kube-apiserver, such as `--token-auth-file=…` or `--audit-policy-file=…`.
    pub api_server_args: Vec<String>,
    /// Where its state goes; it must be empty or absent, and stays when the control plane ends. `None`: a temporary folder.
    pub state_dir: Option<PathBuf>,
}

impl Default for Options {
    /// Everything, in a temporary folder.
    fn default() -> Self {
        Self {
            workloads: true,
            api_server_args: Vec::new(),
            state_dir: None,
        }
    }
}

impl Options {
    /// etcd and the API server only, in a temporary folder.
    #[must_use]
    pub fn api_server_only() -> Self {
        Self {
            workloads: false,
            ..Self::default()
        }
    }
}

/// A running control plane. Its processes are killed and its temporary state is removed when it is dropped.
#[derive(Debug)]
#[must_use = "a control plane is killed when it is dropped"]
pub struct ControlPlane {
    // Before the state, so that nothing writes to it any more when it is removed.
    processes: BTreeMap<Component, Process>,
    binaries: Binaries,
    credentials: Credentials,
    config: Config,
    etcd: Port,
    _etcd_peer: Port,
    _api_server: Port,
    state: StateDir,
}

impl ControlPlane {
    /// Starts a control plane and waits until it is of use: the API server is ready and, with workloads, the
    /// default service account exists and the Node is ready.
    ///
    /// Missing programs are built first, which takes minutes ([`Binaries::find_or_build`]).
    ///
    /// # Errors
    /// When a program is missing and cannot be built, or a component ends or is not ready in time; the
    /// error shows the end of its log.
    pub async fn start(options: Options) -> Result<Self, Error> {
        // Building would block the other tasks of the runtime for minutes.
        let binaries = tokio::task::spawn_blocking(Binaries::find_or_build)
            .await
            .map_err(|err| binaries::Error::Interrupted(err.to_string()))??;
        let state = match &options.state_dir {
            Some(path) => StateDir::fixed(path)?,
            None => StateDir::temporary()?,
        };
        let [data, logs, keys] = make_folders(state.path())?;
        let [etcd, etcd_peer, api_server] = [Port::claim()?, Port::claim()?, Port::claim()?];
        let credentials = Credentials::write(&keys, api_server.address())?;
        let config = Config::from_custom_kubeconfig(
            Kubeconfig::read_from(&credentials.admin)?,
            &KubeConfigOptions::default(),
        )
        .await?;

        let layout = Layout {
            binaries: &binaries,
            credentials: &credentials,
            data: &data,
            etcd: etcd.address(),
            etcd_peer: etcd_peer.address(),
            api_server: api_server.address(),
            workloads: options.workloads,
            api_server_args: &options.api_server_args,
        };
        let programs: Vec<_> = Component::API
            .into_iter()
            .chain(
                Component::WORKLOADS
                    .into_iter()
                    .filter(|_| options.workloads),
            )
            .map(|component| (component, layout.program(component)))
            .collect();
        let mut control_plane = Self {
            processes: BTreeMap::new(),
            binaries,
            credentials,
            config,
            etcd,
            _etcd_peer: etcd_peer,
            _api_server: api_server,
            state,
        };
        for (component, program) in programs {
            let process = Process::start(program, &logs)?;
            control_plane.processes.insert(component, process);
            control_plane.wait_until_ready(component).await?;
        }
        if options.workloads {
            control_plane.create_node().await?;
            control_plane.wait_for_workloads().await?;
        }
        Ok(control_plane)
    }

    /// The kubeconfig of a cluster administrator. It needs no other file.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.credentials.admin
    }

    /// A new client of a cluster administrator.
    ///
    /// It belongs to the runtime that it is made on, so make one in each test.
    ///
    /// # Errors
    /// When the client cannot be made.
    pub fn client(&self) -> Result<Client, Error> {
        Ok(Client::try_from(self.config.clone())?)
    }

    /// kubectl of the control plane's own version, as a cluster administrator, independent of the person's own
    /// settings and caches. Killed when its handle is dropped.
    #[must_use]
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(self.binaries.path(Tool::Kubectl));
        command
            .env("KUBECONFIG", self.kubeconfig())
            // By default what an address serves is remembered below HOME, and another control plane had the same one.
            .env("KUBECACHEDIR", self.state.path().join("kubectl-cache"))
            .env("KUBERC", "off")
            .kill_on_drop(true);
        command
    }

    /// The programs that it runs.
    #[must_use]
    pub fn binaries(&self) -> &Binaries {
        &self.binaries
    }

    /// The folder of its state; `logs` in it holds a log for each component.
    #[must_use]
    pub fn state_dir(&self) -> &Path {
        self.state.path()
    }

    /// The process id of each component, running or ended.
    #[must_use]
    pub fn pids(&self) -> BTreeMap<Component, u32> {
        self.processes
            .iter()
            .map(|(&component, process)| (component, process.id()))
            .collect()
    }

    /// The last lines of a component's log.
    ///
    /// # Errors
    /// [`Error::Absent`].
    pub fn log_tail(&self, component: Component) -> Result<String, Error> {
        Ok(self
            .processes
            .get(&component)
            .ok_or(Error::Absent(component))?
            .log_tail())
    }

    /// Those that have ended, by themselves or by [`stop`](Self::stop) or [`kill`](Self::kill).
    ///
    /// # Errors
    /// When the system cannot tell.
    pub fn ended(&mut self) -> Result<Vec<Component>, Error> {
        let mut ended = Vec::new();
        for (&component, process) in &mut self.processes {
            if process.exit_status()?.is_some() {
                ended.push(component);
            }
        }
        Ok(ended)
    }

    /// Stops a component in an orderly way (SIGTERM).
    ///
    /// # Errors
    /// [`Error::Absent`], or when it had to be killed after half a minute.
    pub async fn stop(&mut self, component: Component) -> Result<ExitStatus, Error> {
        Ok(self.process(component)?.terminate(GRACE).await?)
    }

    /// Kills a component (SIGKILL).
    ///
    /// # Errors
    /// [`Error::Absent`].
    pub fn kill(&mut self, component: Component) -> Result<(), Error> {
        self.process(component)?.kill();
        Ok(())
    }

    /// Starts a component again, on the same port and with the same data, killing it first if it runs.
    ///
    /// etcd and the API server are ready when this returns (the API server only if etcd runs as well). The others work by watching and
    /// have no readiness to wait for.
    ///
    /// # Errors
    /// [`Error::Absent`], or when it ends or is not ready in time.
    pub async fn restart(&mut self, component: Component) -> Result<(), Error> {
        self.process(component)?.restart()?;
        self.wait_until_ready(component).await
    }

    fn process(&mut self, component: Component) -> Result<&mut Process, Error> {
        self.processes
            .get_mut(&component)
            .ok_or(Error::Absent(component))
    }

    async fn wait_until_ready(&mut self, component: Component) -> Result<(), Error> {
        match component {
            Component::Etcd => self.wait_for_etcd().await,
            Component::ApiServer => self.wait_for_api_server().await,
            Component::ControllerManager | Component::Scheduler | Component::Kwok => Ok(()),
        }
    }

    async fn wait_for_etcd(&mut self) -> Result<(), Error> {
        let address = self.etcd.address();
        self.wait_for("etcd answers", Component::Etcd, async || {
            TcpStream::connect(address)
                .await
                .map(drop)
                .map_err(|err| err.to_string())
        })
        .await
    }

    async fn wait_for_api_server(&mut self) -> Result<(), Error> {
        let client = self.client()?;
        self.wait_for(
            "the API server is ready",
            Component::ApiServer,
            async || {
                let request = http::Request::get("/readyz").body(Vec::new());
                let request = request.map_err(|err| err.to_string())?;
                client
                    .request_text(request)
                    .await
                    .map(drop)
                    .map_err(|err| err.to_string())
            },
        )
        .await
    }

    async fn create_node(&self) -> Result<(), Error> {
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": NODE,
                "annotations": {"kwok.x-k8s.io/node": "fake"},
                "labels": {"kubernetes.io/hostname": NODE, "kubernetes.io/os": "linux", "type": "kwok"},
            },
            "spec": {"podCIDR": POD_RANGE, "podCIDRs": [POD_RANGE]},
            "status": {
                "allocatable": {"cpu": "1k", "memory": "10Ti", "pods": "10k"},
                "capacity": {"cpu": "1k", "memory": "10Ti", "pods": "10k"},
            },
        });
        let node: Node = serde_json::from_value(node).map_err(kube::Error::SerdeError)?;
        Api::all(self.client()?)
            .create(&PostParams::default(), &node)
            .await?;
        Ok(())
    }

    async fn wait_for_workloads(&mut self) -> Result<(), Error> {
        let client = self.client()?;
        let accounts = Api::<ServiceAccount>::namespaced(client.clone(), "default");
        self.wait_for(
            "the default service account exists",
            Component::ControllerManager,
            async || {
                accounts
                    .get("default")
                    .await
                    .map(drop)
                    .map_err(|err| err.to_string())
            },
        )
        .await?;
        let nodes = Api::<Node>::all(client);
        self.wait_for(
            "the Node is ready and takes Pods",
            Component::Kwok,
            async || {
                let node = nodes.get(NODE).await.map_err(|err| err.to_string())?;
                if takes_pods(&node) {
                    Ok(())
                } else {
                    Err(format!("{:?}, {:?}", node.spec, node.status))
                }
            },
        )
        .await
    }

    /// Asks `probe` until it succeeds. It is `component` that makes it succeed.
    async fn wait_for(
        &mut self,
        waited_for: &'static str,
        component: Component,
        probe: impl AsyncFn() -> Result<(), String>,
    ) -> Result<(), Error> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let last = match timeout(PROBE_TIMEOUT, probe()).await {
                Ok(Ok(())) => return Ok(()),
                Ok(Err(last)) => last,
                Err(_) => "no answer".into(),
            };
            let process = self.process(component)?;
            if let Some(status) = process.exit_status()? {
                return Err(Error::Ended {
                    component,
                    status,
                    log_tail: process.log_tail(),
                });
            }
            if Instant::now() >= deadline {
                let log_tail = process.log_tail();
                return Err(Error::Deadline {
                    waited_for,
                    deadline: DEADLINE,
                    last,
                    component,
                    log_tail,
                });
            }
            sleep(POLL).await;
        }
    }
}

/// Whether the scheduler would put a Pod there: a new Node is tainted until the controller manager has
/// seen that it is ready.
fn takes_pods(node: &Node) -> bool {
    let ready = node
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let mut ready = ready.filter(|condition| condition.type_ == "Ready");
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    ready.any(|condition| condition.status == "True") && taints.is_none_or(Vec::is_empty)
}

fn make_folders(state: &Path) -> Result<[PathBuf; 3], Error> {
    let folders = ["etcd", "logs", "keys"].map(|name| state.join(name));
    for path in &folders {
        fs::create_dir(path).map_err(|source| Error::State {
            path: path.clone(),
            source,
        })?;
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(ready: &str, taints: serde_json::Value) -> Node {
        serde_json::from_value(json!({
            "metadata": {},
            "spec": {"taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": ready}]},
        }))
        .unwrap()
    }

    #[test]
    fn a_node_takes_pods_once_it_is_ready_and_untainted() {
        let tainted = json!([{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]);
        assert!(takes_pods(&node("True", json!([]))));
        assert!(!takes_pods(&node("True", tainted)));
        assert!(!takes_pods(&node("False", json!([]))));
        assert!(!takes_pods(&Node::default()));
    }
}
