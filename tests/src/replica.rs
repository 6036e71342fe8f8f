//! A replica of task-conversion, one of several.

#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::time::Duration;

use control_plane::Port;
use control_plane::process::{self, Process};
use local_operator::CONVERSION;

/// The longest that it may take to end on a machine under heavy load.
const DEADLINE: Duration = Duration::from_secs(60);

/// A replica.
pub struct Replica {
    /// Where it listens.
    pub port: Port,
    /// The process.
    pub process: Process,
}

impl Replica {
    /// Starts one with the certificate in the folder `certificates`, logging into the folder `logs`. It stops within seconds.
    ///
    /// # Panics
    /// When it does not start.
    pub fn start(name: &str, certificates: &Path, logs: &Path) -> Self {
        let port = Port::claim().unwrap();
        let args = [
            "--bind".into(),
            port.address().to_string().into(),
            "--cert-dir".into(),
            certificates.into(),
            "--drain-delay".into(),
            "2s".into(),
        ];
        let program = process::Program {
            name: name.to_owned(),
            path: local_operator::executables().unwrap().join(CONVERSION),
            args: args.into(),
            env: Vec::new(),
        };
        let process = Process::start(program, logs).unwrap();
        Self { port, process }
    }

    /// Ends it as a kubelet does, and starts it again.
    ///
    /// # Panics
    /// When it does not end by itself, or not well, or does not start.
    pub async fn roll(&mut self) {
        let status = self.process.terminate(DEADLINE).await.unwrap();
        assert!(status.success(), "{status}: {}", self.process.log_tail());
        self.process.restart().unwrap();
    }
}
