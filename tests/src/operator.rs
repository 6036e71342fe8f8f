//! A control plane with task-conversion and task-controller running in it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use control_plane::{Component, ControlPlane, Options, process};
use local_operator::{
    BuildError, IdentityError, Program, ProgramError, RegistrationError, Webhook, WebhookError,
};
use nix::sys::signal::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Why the operator could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The programs do not build.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The control plane does not start.
    #[error(transparent)]
    ControlPlane(#[from] control_plane::Error),
    /// No certificate can be made.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    /// The controller has no ServiceAccount.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// A program does not start.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A program does not start again.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// Task or its webhooks are not registered.
    #[error(transparent)]
    Registration(#[from] RegistrationError),
}

/// The operator at work, the controller as the ServiceAccount of the manifest. All of its processes end with this one, however it ends.
pub struct Operator {
    control_plane: ControlPlane,
    conversion: Mutex<Program>,
    controller: Mutex<Program>,
    webhook: Webhook,
}

impl Operator {
    /// Starts everything with its state in `folder`, which is emptied first, and installs the CustomResourceDefinition and the admission
    /// webhooks.
    ///
    /// # Errors
    /// When a part does not build or start.
    pub async fn start(folder: &Path) -> Result<Self, Error> {
        Self::start_with(folder, Vec::new()).await
    }

    /// The same with further arguments of kube-apiserver.
    ///
    /// # Errors
    /// When a part does not build or start.
    pub async fn start_with(folder: &Path, api_server_args: Vec<String>) -> Result<Self, Error> {
        Self::start_all(folder, api_server_args, &[]).await
    }

    /// The same with further arguments of task-controller.
    ///
    /// # Errors
    /// When a part does not build or start.
    pub async fn start_controller_with(
        folder: &Path,
        controller_args: &[OsString],
    ) -> Result<Self, Error> {
        Self::start_all(folder, Vec::new(), controller_args).await
    }

    /// The same with further arguments of both.
    ///
    /// # Errors
    /// When a part does not build or start.
    pub async fn start_all(
        folder: &Path,
        api_server_args: Vec<String>,
        controller_args: &[OsString],
    ) -> Result<Self, Error> {
        let _ = fs::remove_dir_all(folder);
        let executables = local_operator::executables()?;
        local_operator::build(&executables).await?;
        let certificates = folder.join("certificates");
        local_operator::issue_certificates(&certificates)?;
        let options = Options {
            state_dir: Some(folder.join("control-plane")),
            api_server_args,
            ..Options::default()
        };
        let mut control_plane = ControlPlane::start(options).await?;

        let conversion = Program::conversion(&executables, &certificates, folder)?;
        let webhook = Webhook::of(conversion.listens(), &certificates)?;
        webhook.install(control_plane.client()?).await?;
        // The garbage collector looks for new kinds every half minute, and at once when it starts.
        control_plane.restart(Component::ControllerManager).await?;
        let kubeconfig = local_operator::controller_kubeconfig(&control_plane, folder).await?;
        let controller = Program::controller(&executables, &kubeconfig, folder, controller_args)?;
        Ok(Self {
            control_plane,
            conversion: Mutex::new(conversion),
            controller: Mutex::new(controller),
            webhook,
        })
    }

    /// The control plane.
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// task-conversion as the API server sees it.
    pub fn webhook(&self) -> &Webhook {
        &self.webhook
    }

    /// Takes the admission webhooks away, so that something can be stored that they refuse.
    ///
    /// # Errors
    /// When the API server does not let go of them.
    pub async fn remove_admission(&self) -> Result<(), Error> {
        Ok(self
            .webhook
            .remove_admission(self.control_plane.client()?)
            .await?)
    }

    /// Registers the admission webhooks again.
    ///
    /// # Errors
    /// When the API server does not call them.
    pub async fn install_admission(&self) -> Result<(), Error> {
        Ok(self
            .webhook
            .install_admission(self.control_plane.client()?)
            .await?)
    }

    /// Ends the controller as a kubelet does, and starts it again.
    ///
    /// # Errors
    /// When it does not end within half a minute, or does not start.
    pub async fn roll_controller(&mut self) -> Result<(), Error> {
        let controller = self
            .controller
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        let process = controller.process_mut();
        process.terminate(Duration::from_secs(30)).await?;
        Ok(process.restart()?)
    }

    /// Sends the controller a signal.
    ///
    /// # Errors
    /// When it does not run.
    pub fn signal_controller(&self, signal: Signal) -> Result<(), Error> {
        let mut controller = self
            .controller
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        Ok(controller.process_mut().signal(signal)?)
    }

    /// Kills the controller with SIGKILL.
    pub fn kill_controller(&self) {
        let mut controller = self
            .controller
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        controller.process_mut().kill();
    }

    /// Kills the controller with SIGKILL and starts it again.
    ///
    /// # Errors
    /// When it does not start.
    pub fn kill_and_restart_controller(&self) -> Result<(), Error> {
        let mut controller = self
            .controller
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // A restart kills what runs.
        Ok(controller.process_mut().restart()?)
    }

    /// What the controller counts, in the text form of metrics.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn metrics(&self) -> io::Result<String> {
        let address = self
            .controller
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .metrics();
        let address = address.ok_or(io::ErrorKind::NotConnected)?;
        let mut connection = TcpStream::connect(address).await?;
        let request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        connection.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        Ok(answer)
    }

    /// The last lines that both programs logged.
    pub fn log_tails(&self) -> String {
        let tail = |program: &Mutex<Program>| {
            let program = program.lock().unwrap_or_else(PoisonError::into_inner);
            let process = program.process();
            format!("{} logged:\n{}\n", process.name(), process.log_tail())
        };
        tail(&self.conversion) + &tail(&self.controller)
    }
}
