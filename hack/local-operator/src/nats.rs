//! A queue beside the local control plane.

use std::{path::Path, time::Duration};

use control_plane::{
    Port, ScratchError,
    process::{self, Process},
};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

/// The name of the queue's server, which is that of its log.
const NATS: &str = "nats-server";

/// How long it may take to listen on a machine under heavy load.
const DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// Why there is no queue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No port is free.
    #[error(transparent)]
    Port(#[from] ScratchError),
    /// Its process could not be started.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// It does not listen.
    #[error("{NATS} does not listen; its log ends:\n{log_tail}")]
    Deaf {
        /// The last lines of its log.
        log_tail: String,
    },
}

/// A NATS server with JetStream, which keeps its port and its data while it is started again. It is killed when this value is dropped, and with
/// this process.
#[derive(Debug)]
#[must_use = "the server is killed when it is dropped"]
pub struct Nats {
    process: Process,
    port: Port,
}

impl Nats {
    /// Starts `executable` with its data in a folder of the folder `logs`, where it logs, and waits until it listens.
    ///
    /// # Errors
    /// See [`Error`]. Whether it goes on to run is told by its [`process`](Self::process_mut).
    pub async fn start(executable: &Path, logs: &Path) -> Result<Self, Error> {
        let port = Port::claim()?;
        let address = port.address();
        let program = process::Program {
            name: NATS.to_owned(),
            path: executable.to_owned(),
            args: vec![
                "--addr".into(),
                address.ip().to_string().into(),
                "--port".into(),
                address.port().to_string().into(),
                "--jetstream".into(),
                "--store_dir".into(),
                logs.join("nats").into(),
            ],
            env: Vec::new(),
        };
        let process = Process::start(program, logs)?;
        let deadline = Instant::now() + DEADLINE;
        while TcpStream::connect(address).await.is_err() {
            if Instant::now() >= deadline {
                let log_tail = process.log_tail();
                return Err(Error::Deaf { log_tail });
            }
            sleep(POLL).await;
        }
        Ok(Self { process, port })
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("nats://{}", self.port.address())
    }

    /// Its process, to be killed or started again.
    pub fn process_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}
