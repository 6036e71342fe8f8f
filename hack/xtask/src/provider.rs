//! A provider for the local control plane, and the way from it back to the controller.

use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Read},
    path::PathBuf,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use control_plane::{Port, ScratchError};
use operation_signals::signature::{BadSecret, Scheme, Secrets};
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
    #[error("the simulator cannot call back")]
    Caller(#[from] provider_simulator::CallerError),
}

/// A simulator that calls the controller back. It ends when this value is dropped.
pub(crate) struct LocalProvider {
    _simulator: Simulator,
    /// Held while the controller is started again.
    callbacks: Port,
}

impl LocalProvider {
    /// Starts it, and writes the file by which Tasks can have operations carried out. The certificates are there.
    pub(crate) async fn start(dir: &ClusterDir) -> Result<Self, Error> {
        let simulator = Simulator::start().await?;
        let secret = secret()?;
        let authority = dir.certificates().join("ca.crt");
        let authority = fs::read_to_string(&authority).map_err(at(authority))?;
        let secrets = Secrets::parse(Scheme::StandardWebhooks, &secret)?;
        simulator.call_back_by(Caller::new(secrets, &authority)?);

        let file = dir.callback_secret();
        fs::write(&file, secret).map_err(at(file))?;
        let file = dir.providers();
        let text = providers(&simulator, dir);
        fs::write(&file, text).map_err(at(file))?;
        Ok(Self {
            _simulator: simulator,
            callbacks: Port::claim()?,
        })
    }

    /// What the controller has to be told of it.
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
