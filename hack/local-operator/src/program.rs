//! The two programs of the operator, running.

use std::{
    ffi::OsString,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use control_plane::{
    Port, ScratchError,
    process::{self, Process},
};

/// The name of the conversion server, which is that of its executable and of its log.
pub const CONVERSION: &str = "task-conversion";

/// The name of the controller, which is that of its executable and of its log.
pub const CONTROLLER: &str = "task-controller";

/// Why a program does not run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No port is free.
    #[error(transparent)]
    Port(#[from] ScratchError),
    /// Its process could not be started.
    #[error(transparent)]
    Process(#[from] process::Error),
}

/// A program of the operator, with the ports that it holds also while it is being restarted. It is killed when this
/// value is dropped, and with this process.
#[derive(Debug)]
#[must_use = "a program is killed when it is dropped"]
pub struct Program {
    process: Process,
    executable: PathBuf,
    listens: SocketAddr,
    metrics: Option<SocketAddr>,
    _ports: Vec<Port>,
}

impl Program {
    /// Starts task-conversion from the folder `executables`, with the certificate in the folder `certificates`
    /// ([`issue_certificates`](crate::issue_certificates)), logging into the folder `logs`.
    ///
    /// # Errors
    /// See [`Error`]. Whether it goes on to run is told by its [`process`](Self::process).
    pub fn conversion(executables: &Path, certificates: &Path, logs: &Path) -> Result<Self, Error> {
        let port = Port::claim()?;
        let listens = port.address();
        let args = vec![
            "--bind".into(),
            listens.to_string().into(),
            "--cert-dir".into(),
            certificates.into(),
        ];
        let program = program(CONVERSION, executables, args, Vec::new());
        Self::start(program, logs, listens, None, vec![port])
    }

    /// Starts task-controller from the folder `executables`, as whom `kubeconfig` says and with these further arguments, logging into the
    /// folder `logs`.
    ///
    /// # Errors
    /// See [`Error`]. Whether it goes on to run is told by its [`process`](Self::process).
    pub fn controller(
        executables: &Path,
        kubeconfig: &Path,
        logs: &Path,
        further: &[OsString],
    ) -> Result<Self, Error> {
        let [health, metrics] = [Port::claim()?, Port::claim()?];
        let listens = health.address();
        let mut args = vec![
            "--health-bind".into(),
            listens.to_string().into(),
            "--metrics-bind".into(),
            metrics.address().to_string().into(),
            // It keeps the port while it is restarted, and goes on at once with what it held.
            "--identity".into(),
            format!("local-{}", health.number()).into(),
        ];
        args.extend_from_slice(further);
        let env = vec![("KUBECONFIG".into(), kubeconfig.into())];
        let program = program(CONTROLLER, executables, args, env);
        let numbers = Some(metrics.address());
        Self::start(program, logs, listens, numbers, vec![health, metrics])
    }

    fn start(
        program: process::Program,
        logs: &Path,
        listens: SocketAddr,
        metrics: Option<SocketAddr>,
        ports: Vec<Port>,
    ) -> Result<Self, Error> {
        let executable = program.path.clone();
        Ok(Self {
            process: Process::start(program, logs)?,
            executable,
            listens,
            metrics,
            _ports: ports,
        })
    }

    /// Its process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Its process, to be signalled, killed or started again.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }

    /// What it was started from, and is when it is started again.
    #[must_use]
    pub fn executable(&self) -> &Path {
        &self.executable
    }

    /// Where it listens once it is of use: task-conversion to the API server, task-controller to who asks for its health.
    #[must_use]
    pub fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// Where its metrics are to be had over plain HTTP; of task-conversion they are not.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }
}

fn program(
    name: &str,
    executables: &Path,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
) -> process::Program {
    process::Program {
        name: name.to_owned(),
        path: executables.join(name),
        args,
        env,
    }
}
