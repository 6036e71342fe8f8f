//! A running control plane.

use std::{
    collections::BTreeMap,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitStatus,
    time::Duration,
};

use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use tokio::process::Command;

use crate::{
    binaries::{self, Binaries},
    components::{Component, Layout},
    credentials::{self, Credentials},
    node,
    options::Options,
    process::{self, Process},
    readiness,
    scratch::{self, Port, StateDir},
    tools::Tool,
};

/// How long a component may take to stop.
const GRACE: Duration = Duration::from_secs(30);

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
    /// A component ended, or is not ready in time.
    #[error(transparent)]
    NotReady(#[from] readiness::Error),
    /// The control plane was started without it.
    #[error("this control plane has no {0}")]
    Absent(Component),
}

impl From<kube::Error> for Error {
    fn from(err: kube::Error) -> Self {
        Self::Client(Box::new(err))
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
            controller_manager_args: &options.controller_manager_args,
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
            let client = control_plane.client()?;
            node::create(client.clone()).await?;
            let manager = control_plane.process(Component::ControllerManager)?;
            readiness::default_service_account(manager, client.clone()).await?;
            let kwok = control_plane.process(Component::Kwok)?;
            readiness::node(kwok, client).await?;
        }
        Ok(control_plane)
    }

    /// The kubeconfig of a cluster administrator. It needs no other file.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.credentials.admin
    }

    /// Where etcd answers, in plain HTTP, whoever asks: what is stored, as it is stored.
    #[must_use]
    pub fn etcd(&self) -> SocketAddr {
        self.etcd.address()
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
        let etcd = self.etcd.address();
        let client = self.client()?;
        let process = self.process(component)?;
        match component {
            Component::Etcd => readiness::etcd(process, etcd).await?,
            Component::ApiServer => readiness::api_server(process, client).await?,
            Component::ControllerManager | Component::Scheduler | Component::Kwok => {}
        }
        Ok(())
    }
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
