//! The release build of the server, as a child process.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::Result;
use crate::process::Process;

pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Starts it with a certificate of its own in `folder`, and waits until it listens.
    pub fn start(folder: &Path) -> Result<Self> {
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let made = rcgen::generate_simple_self_signed(names)?;
        fs::write(folder.join("tls.crt"), made.cert.pem())?;
        fs::write(folder.join("tls.key"), made.signing_key.serialize_pem())?;
        let arguments = env::var("BENCH_ARGS").unwrap_or_default();
        let mut child = Command::new(env!("CARGO_BIN_EXE_task-conversion"))
            .args(["--bind", "127.0.0.1:0", "--cert-dir"])
            .arg(folder)
            .args(arguments.split_whitespace())
            .stderr(Stdio::piped())
            .spawn()?;
        let mut log = BufReader::new(child.stderr.take().ok_or("no standard error")?).lines();
        let address = loop {
            let line = log.next().ok_or("the server did not start")??;
            if let Some((_, address)) = line.split_once("serving address=") {
                break address.to_owned();
            }
            eprintln!("{line}");
        };
        std::thread::spawn(move || {
            log.map_while(std::io::Result::ok)
                .for_each(|line| eprintln!("{line}"))
        });
        Ok(Self { child, address })
    }

    pub fn url(&self) -> String {
        format!("https://{}/convert", self.address)
    }

    pub fn process(&self) -> Process {
        Process::of(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
