//! A control plane with task-conversion and task-controller running in it.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::{Mutex, PoisonError};

use control_plane::certificates::{self, Authority};
use control_plane::process::{self, Process, Program};
use control_plane::{Component, ControlPlane, Options, Port, ScratchError, crd};

/// Why the operator could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The control plane does not start.
    #[error(transparent)]
    ControlPlane(#[from] control_plane::Error),
    /// No port is free.
    #[error(transparent)]
    Port(#[from] ScratchError),
    /// No certificate can be made.
    #[error(transparent)]
    Certificate(#[from] certificates::Error),
    /// A program does not start.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// The CustomResourceDefinition is refused.
    #[error(transparent)]
    Crd(#[from] crd::Error),
    /// A file cannot be written, or a program not be run.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
    },
    /// The programs do not build.
    #[error("cargo build failed ({0})")]
    Build(ExitStatus),
}

/// The operator at work. All of its processes end with this one, however it ends.
pub struct Operator {
    control_plane: ControlPlane,
    conversion: Mutex<Process>,
    controller: Mutex<Process>,
    webhook: (String, String),
    _ports: Vec<Port>,
}

impl Operator {
    /// Starts everything with its state in `folder`, which is emptied first, and installs the CustomResourceDefinition.
    ///
    /// # Errors
    /// When a part does not build or start.
    pub async fn start(folder: &Path) -> Result<Self, Error> {
        let _ = fs::remove_dir_all(folder);
        let certificates = folder.join("certificates");
        let io = |what: &str| {
            let what = what.to_owned();
            move |source| Error::Io { what, source }
        };
        fs::create_dir_all(&certificates).map_err(io("cannot make a folder for certificates"))?;
        let programs = build()?;
        let options = Options {
            state_dir: Some(folder.join("control-plane")),
            ..Options::default()
        };
        let mut control_plane = ControlPlane::start(options).await?;

        let authority = Authority::new("end-to-end tests")?;
        let serving = authority.serving(["127.0.0.1"])?;
        for (name, text) in [
            ("tls.crt", &serving.cert_pem),
            ("tls.key", &serving.key_pem),
        ] {
            fs::write(certificates.join(name), text).map_err(io("cannot write a certificate"))?;
        }
        let [webhook, health, metrics] = [Port::claim()?, Port::claim()?, Port::claim()?];
        let address = |port: &Port| port.address().to_string();
        let kubeconfig = control_plane.kubeconfig().to_owned();
        let start = |name: &str, args: Vec<String>| {
            let program = Program {
                name: name.to_owned(),
                path: programs.join(name),
                args: args.into_iter().map(Into::into).collect(),
                env: vec![("KUBECONFIG".into(), (&kubeconfig).into())],
            };
            Process::start(program, folder)
        };
        let conversion = start(
            "task-conversion",
            vec![
                "--bind".to_owned(),
                address(&webhook),
                "--cert-dir".to_owned(),
                certificates.display().to_string(),
            ],
        )?;
        let url = format!(
            "https://{}{}",
            webhook.address(),
            task_crds::CONVERSION_PATH
        );
        let ca = authority.cert_pem();
        let mut definition = task_crds::crd();
        crd::convert_at(&mut definition, &url, &ca);
        crd::install(control_plane.client()?, &definition).await?;
        // The garbage collector looks for new kinds every half minute, and at once when it starts.
        control_plane.restart(Component::ControllerManager).await?;
        let controller = start(
            "task-controller",
            vec![
                "--health-bind".to_owned(),
                address(&health),
                "--metrics-bind".to_owned(),
                address(&metrics),
            ],
        )?;
        Ok(Self {
            control_plane,
            conversion: Mutex::new(conversion),
            controller: Mutex::new(controller),
            webhook: (url, ca),
            _ports: vec![webhook, health, metrics],
        })
    }

    /// The control plane.
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// The address of the conversion webhook, and the authority that its certificate is from, in PEM.
    pub fn webhook(&self) -> (&str, &str) {
        (&self.webhook.0, &self.webhook.1)
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
        controller.kill();
        Ok(controller.restart()?)
    }

    /// The last lines that both programs logged.
    pub fn log_tails(&self) -> String {
        let tail = |process: &Mutex<Process>| {
            let process = process.lock().unwrap_or_else(PoisonError::into_inner);
            format!("{} logged:\n{}\n", process.name(), process.log_tail())
        };
        tail(&self.conversion) + &tail(&self.controller)
    }
}

/// Builds the operator's programs as this test was built, and gives the folder that they are in.
fn build() -> Result<PathBuf, Error> {
    let io = |source| Error::Io {
        what: "cannot run cargo build".to_owned(),
        source,
    };
    let executable = env::current_exe().map_err(io)?;
    // target/<profile>/deps/<test>
    let profile = executable.ancestors().nth(2).unwrap_or(&executable);
    let target = profile.parent().unwrap_or(profile);
    let mut command = control_plane::cargo();
    command.args([
        "build",
        "--quiet",
        "--bin=task-conversion",
        "--bin=task-controller",
    ]);
    command
        .env("CARGO_TARGET_DIR", target)
        .current_dir(env!("CARGO_MANIFEST_DIR"));
    // The workspace, since this package alone has no such programs.
    command.arg("--workspace");
    if profile.ends_with("release") {
        command.arg("--release");
    }
    let status = command.status().map_err(io)?;
    if status.success() {
        Ok(profile.to_owned())
    } else {
        Err(Error::Build(status))
    }
}
