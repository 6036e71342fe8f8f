//! The process that owns the local control plane, the operator's two programs, and a provider and a queue for them: they live as long as it does.

use std::{io, path::PathBuf, time::Duration};

use control_plane::{ControlPlane, Options, Tool, crd};
use local_operator::{
    IdentityError, Program, ProgramError, Webhook, WebhookError, controller_kubeconfig,
    issue_certificates,
};
use nix::unistd::setsid;
use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::sleep,
};

use crate::{
    cluster_dir::{self, ClusterDir},
    programs::{self, Supervised},
    provider::{self, LocalProvider},
    status::Status,
};

/// How often it looks whether something has ended; an ended process is started again no faster.
const INTERVAL: Duration = Duration::from_millis(500);

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Dir(#[from] cluster_dir::Error),
    #[error(transparent)]
    ControlPlane(#[from] control_plane::Error),
    #[error(transparent)]
    Webhook(#[from] WebhookError),
    #[error(transparent)]
    Identity(#[from] IdentityError),
    #[error(transparent)]
    Program(#[from] ProgramError),
    #[error(transparent)]
    Supervised(#[from] programs::Error),
    #[error(transparent)]
    Crd(#[from] crd::Error),
    #[error(transparent)]
    Provider(#[from] provider::Error),
    #[error(transparent)]
    Process(#[from] control_plane::process::Error),
    #[error("cannot listen to signals")]
    Signals(#[source] io::Error),
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Starts everything and keeps it running.
///
/// SIGTERM ends it. SIGHUP makes it start again what has been built anew. It also ends when its status file
/// disappears, so that removing the state folder (`cargo clean`) leaves nothing running.
pub(crate) async fn supervise(dir: &ClusterDir) -> Result<(), Error> {
    // A terminal that closes is not its business. It fails only for a process that leads its group, which has a terminal by a person's wish.
    let _ = setsid();
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Signals)?;
    let hangup = signal(SignalKind::hangup()).map_err(Error::Signals)?;
    let _lock = dir.own()?;
    tokio::select! {
        result = keep_running(dir, hangup) => result,
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
    }
}

async fn keep_running(dir: &ClusterDir, mut rebuilt: Signal) -> Result<(), Error> {
    let options = Options {
        state_dir: Some(dir.control_plane()),
        ..Options::default()
    };
    let mut control_plane = ControlPlane::start(options).await?;
    let [executables, certificates, logs] = [dir.executables(), &dir.certificates(), &dir.logs()];
    issue_certificates(certificates)?;
    let conversion = Program::conversion(executables, certificates, logs)?;
    let webhook = Webhook::of(conversion.listens(), certificates)?;
    let mut conversion = Supervised::new(conversion)?;
    crd::install(control_plane.client()?, &webhook.definition()).await?;
    let nats_server = control_plane.binaries().path(Tool::NatsServer).to_owned();
    let mut provider = LocalProvider::start(dir, &nats_server).await?;
    let further = provider.controller_args(dir);
    let kubeconfig = controller_kubeconfig(&control_plane, certificates).await?;
    let controller = Program::controller(executables, &kubeconfig, logs, &further)?;
    let mut controller = Supervised::new(controller)?;
    let mut told = None;
    loop {
        let status = Status {
            kubeconfig: control_plane.kubeconfig().to_owned(),
            kubectl: control_plane.binaries().path(Tool::Kubectl).to_owned(),
            conversion: conversion.running(),
            controller: controller.running(),
            nats_url: provider.nats_url(),
        };
        if told.as_ref() != Some(&status) {
            let path = dir.status();
            status
                .write(&path)
                .map_err(|source| Error::Write { path, source })?;
            told = Some(status);
        } else if !dir.status().exists() {
            return Ok(());
        }
        let newest = tokio::select! {
            _ = rebuilt.recv() => true,
            () = sleep(INTERVAL) => false,
        };
        if newest {
            // Who asks waits for a status, and the one that was written may have been spoiled since.
            told = None;
        }
        if provider.mend()? {
            eprintln!("the queue ended and is started again");
        }
        for component in control_plane.ended()? {
            eprintln!("{component} ended and is started again");
            control_plane.restart(component).await?;
        }
        for program in [&mut conversion, &mut controller] {
            if program.has_ended()? || (newest && program.is_outdated()?) {
                eprintln!("{} is started again", program.name());
                program.restart()?;
            }
        }
    }
}
