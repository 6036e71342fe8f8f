//! A provider for the local control plane, and the ways from it back to the controller.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use control_plane::{Port, ScratchError, process};
use local_operator::{Nats, NatsError};
use operation_signals::{
    nats::{self, BadUrl, Servers},
    signature::{BadSecret, Scheme, Secrets},
};
use provider_simulator::{Caller, Simulator};

use crate::cluster_dir::ClusterDir;

/// Where the system's random numbers come from.
const RANDOM: &str = "/dev/urandom";

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Simulator(#[from] provider_simulator::Error),
    #[error(transparent)]
    Port(#[from] ScratchError),
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("the secret for callbacks is of no use")]
    Secret(#[from] BadSecret),
    #[error(transparent)]
    Nats(#[from] NatsError),
    #[error(transparent)]
    Url(#[from] BadUrl),
    #[error("the simulator cannot publish")]
    Queue(#[from] nats::Error),
    #[error("the simulator cannot call back")]
    Caller(#[from] provider_simulator::CallerError),
}

/// A simulator that calls the controller back, and a queue that it publishes to. They end when this value is dropped.
pub(crate) struct LocalProvider {
    _simulator: Simulator,
    nats: Nats,
    /// Held while the controller is started again.
    callbacks: Port,
}

impl LocalProvider {
    /// Starts both, the queue from this executable, and writes the file by which Tasks can have operations carried out. The certificates are
    /// there.
    pub(crate) async fn start(dir: &ClusterDir, nats_server: &Path) -> Result<Self, Error> {
        let nats = Nats::start(nats_server, &dir.logs()).await?;
        let simulator = Simulator::start().await?;
        let secret = secret()?;
        let authority = dir.certificates().join("ca.crt");
        let authority = fs::read_to_string(&authority).map_err(at(authority))?;
        let secrets = Secrets::parse(Scheme::StandardWebhooks, &secret)?;
        simulator.call_back_by(Caller::new(secrets, &authority)?);

        let servers = Servers {
            urls: nats.url().parse()?,
            ..Servers::default()
        };
        simulator.publish_to(servers.connect("provider-simulator").await?);

        let file = dir.callback_secret();
        fs::write(&file, secret).map_err(at(file))?;
        let file = dir.providers();
        let text = providers(&simulator, dir);
        fs::write(&file, text).map_err(at(file))?;
        Ok(Self {
            _simulator: simulator,
            nats,
            callbacks: Port::claim()?,
        })
    }

    /// The URL of the queue.
    pub(crate) fn nats_url(&self) -> String {
        self.nats.url()
    }

    /// Starts the queue again if it has ended; gives whether it had.
    pub(crate) fn mend(&mut self) -> Result<bool, process::Error> {
        let process = self.nats.process_mut();
        let has_ended = process.exit_status()?.is_some();
        if has_ended {
            process.restart()?;
        }
        Ok(has_ended)
    }

    /// What the controller has to be told of them.
    pub(crate) fn controller_args(&self, dir: &ClusterDir) -> Vec<OsString> {
        let callbacks = self.callbacks.address();
        vec![
            "--providers".into(),
            dir.providers().into(),
            "--callback-cert-dir".into(),
            dir.certificates().into(),
            "--callback-bind".into(),
            callbacks.to_string().into(),
            "--callback-url".into(),
            format!("https://{callbacks}").into(),
            "--nats-url".into(),
            self.nats_url().into(),
        ]
    }
}

fn providers(simulator: &Simulator, dir: &ClusterDir) -> String {
    format!(
        "# A simulator, for trying operations out.\n\
         providers:\n\
         \x20 - name: simulator\n\
         \x20   url: {}\n\
         \x20   polling: {{interval: 2s}}\n\
         \x20   callbacks: {{secretFile: {:?}}}\n",
        simulator.url(),
        dir.callback_secret(),
    )
}

/// A new secret, as Standard Webhooks has it.
fn secret() -> Result<String, Error> {
    let mut bytes = [0; 32];
    let read = File::open(RANDOM).and_then(|mut random| random.read_exact(&mut bytes));
    read.map_err(at(RANDOM.into()))?;
    Ok(format!("whsec_{}", BASE64_STANDARD.encode(bytes)))
}

fn at(path: PathBuf) -> impl FnOnce(io::Error) -> Error {
    |source| Error::Io { path, source }
}
