//! `make up`.

use std::{
    env,
    fs::File,
    io,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use control_plane::{Binaries, BinariesError, process::log_tail};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig, KubeconfigError},
};
use local_operator::{BuildError, RegistrationError, Webhook, WebhookError};
use nix::sys::signal::Signal;
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

use crate::{
    cluster_dir::{self, ClusterDir},
    samples, say,
    status::{Build, Running, Status},
};

/// For the control plane and the programs to start, which takes seconds, on a machine under heavy load.
const DEADLINE: Duration = Duration::from_secs(180);
const POLL: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Dir(#[from] cluster_dir::Error),
    #[error(transparent)]
    Build(#[from] BuildError),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error(transparent)]
    Tools(#[from] BinariesError),
    #[error("the build of the control plane's programs was interrupted")]
    Interrupted(#[from] tokio::task::JoinError),
    #[error("cannot run the supervisor")]
    Supervisor(#[source] io::Error),
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the supervisor ended; its log ends:\n{log_tail}")]
    SupervisorEnded { log_tail: String },
    #[error("{waited_for} is not ready after {} s; its log ends:\n{log_tail}", DEADLINE.as_secs())]
    Deadline {
        waited_for: String,
        log_tail: String,
    },
    #[error("cannot use the local control plane's kubeconfig")]
    Kubeconfig(#[from] KubeconfigError),
    #[error("cannot make a client for the local control plane")]
    Client(#[source] Box<kube::Error>),
    #[error(transparent)]
    Registration(#[from] RegistrationError),
    #[error(transparent)]
    Samples(#[from] samples::Error),
}

/// Builds what is missing, starts what does not run, brings what runs up to date, applies the samples and shows them.
pub(crate) async fn up(dir: &ClusterDir) -> Result<(), Error> {
    let turn = dir.make()?;
    say::step("building task-conversion and task-controller");
    local_operator::build(dir.executables()).await?;
    tokio::task::spawn_blocking(Binaries::find_or_build).await??;

    let started = match dir.supervisor()? {
        Some(supervisor) => {
            say::step("the local control plane runs; starting again what was built anew");
            supervisor.signal(Signal::SIGHUP)?;
            None
        }
        None => {
            say::step("starting the local control plane");
            dir.reset(&turn)?;
            Some(start_supervisor(dir)?)
        }
    };
    let status = wait_for_programs(dir, started).await?;

    say::step("installing the CustomResourceDefinition and the admission webhooks");
    let webhook = Webhook::of(status.conversion.listens, &dir.certificates())?;
    webhook.install(client(&status.kubeconfig).await?).await?;

    Ok(samples::apply_and_show(dir, &status).await?)
}

fn start_supervisor(dir: &ClusterDir) -> Result<Child, Error> {
    let path = dir.supervisor_log();
    let logs = File::create(&path).and_then(|log| Ok((log.try_clone()?, log)));
    let (output, errors) = logs.map_err(|source| Error::Io { path, source })?;
    let executable = env::current_exe().map_err(Error::Supervisor)?;
    Command::new(executable)
        .arg("supervise")
        .arg("--state-dir")
        .arg(dir.root())
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .spawn()
        .map_err(Error::Supervisor)
}

/// Waits until the newest build of both programs listens. `started`: the supervisor, if it is this process's child.
async fn wait_for_programs(dir: &ClusterDir, mut started: Option<Child>) -> Result<Status, Error> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        let status = Status::read(&dir.status()).map_err(|source| Error::Io {
            path: dir.status(),
            source,
        })?;
        let (waited_for, log) = match &status {
            None => ("the control plane", dir.supervisor_log()),
            Some(status) => match lagging(dir, status).await? {
                None => return Ok(status.clone()),
                Some(program) => (program.name.as_str(), dir.log(&program.name)),
            },
        };
        let ended = match &mut started {
            Some(child) => child.try_wait().map_err(Error::Supervisor)?.is_some(),
            None => dir.supervisor()?.is_none(),
        };
        if ended {
            return Err(Error::SupervisorEnded {
                log_tail: log_tail(&dir.supervisor_log()),
            });
        }
        if Instant::now() >= deadline {
            let waited_for = waited_for.to_owned();
            return Err(Error::Deadline {
                waited_for,
                log_tail: log_tail(&log),
            });
        }
        sleep(POLL).await;
    }
}

/// A program whose newest build does not listen.
async fn lagging<'a>(dir: &ClusterDir, status: &'a Status) -> Result<Option<&'a Running>, Error> {
    for running in [&status.conversion, &status.controller] {
        let path = dir.executable(&running.name);
        let newest = Build::of(&path).map_err(|source| Error::Io { path, source })?;
        if running.build != newest || TcpStream::connect(running.listens).await.is_err() {
            return Ok(Some(running));
        }
    }
    Ok(None)
}

async fn client(kubeconfig: &Path) -> Result<Client, Error> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Client::try_from(config).map_err(|err| Error::Client(Box::new(err)))
}
