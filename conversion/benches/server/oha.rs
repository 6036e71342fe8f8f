//! The load generator [oha](https://github.com/hatoo/oha), of one version, kept in the cache folder.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::Result;

/// The version that is installed.
const VERSION: &str = "1.16.0";

pub struct Oha(PathBuf);

/// How requests are sent.
#[derive(Clone, Copy)]
pub struct Load {
    pub connections: u64,
    pub is_http2: bool,
}

/// What came of a load.
pub struct Answered {
    pub count: u64,
    pub per_second: f64,
    /// In seconds, as the next.
    pub p50: f64,
    pub p99: f64,
}

impl Oha {
    /// Installs it, unless it is there already.
    pub fn installed() -> Result<Self> {
        let cache = match env::var_os("XDG_CACHE_HOME") {
            Some(folder) => PathBuf::from(folder),
            None => {
                Path::new(&env::var_os("HOME").ok_or("neither XDG_CACHE_HOME nor HOME is set")?)
                    .join(".cache")
            }
        };
        let root = cache.join(format!("task-operator/tools/oha-{VERSION}"));
        let program = root.join("bin/oha");
        if !program.exists() {
            eprintln!("installing oha {VERSION}: some minutes, once");
            let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let status = Command::new(cargo)
                .args(["install", "--locked", "--version", VERSION, "--root"])
                .arg(&root)
                .arg("oha")
                .status()?;
            if !status.success() {
                return Err("oha could not be installed".into());
            }
        }
        Ok(Self(program))
    }

    /// Checks that one request is answered with converted objects: a failure would be fast as well.
    pub fn check(&self, url: &str, body: &Path) -> Result<()> {
        let output = self.command(url, body).arg("--debug").output()?;
        let text = String::from_utf8_lossy(&output.stdout).replace("\\\"", "\"");
        let is_success = [r#""status":"Success""#, r#""status": "Success""#];
        if is_success.iter().any(|success| text.contains(success)) {
            return Ok(());
        }
        Err(format!("{url} does not convert: {text:.2000}").into())
    }

    /// Sends requests for a time, each connection one after the other.
    pub fn send(&self, url: &str, body: &Path, load: Load, time: Duration) -> Result<Answered> {
        let mut command = self.command(url, body);
        command
            .args(["--no-tui", "--output-format", "json", "-w"])
            .args(["-z", &format!("{}s", time.as_secs())])
            .args(["-c", &load.connections.to_string()]);
        if load.is_http2 {
            command.arg("--http2");
        }
        let output = command.stderr(Stdio::inherit()).output()?;
        let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let statuses = &report["statusCodeDistribution"];
        let count = statuses["200"].as_u64().ok_or("no request was answered")?;
        if statuses
            .as_object()
            .is_none_or(|statuses| statuses.len() > 1)
        {
            return Err(format!("some requests failed: {statuses}").into());
        }
        let number = |group: &str, name: &str| {
            let number = report[group][name].as_f64();
            number.ok_or_else(|| format!("oha reports no {group}.{name}"))
        };
        Ok(Answered {
            count,
            per_second: number("summary", "requestsPerSec")?,
            p50: number("latencyPercentiles", "p50")?,
            p99: number("latencyPercentiles", "p99")?,
        })
    }

    fn command(&self, url: &str, body: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command
            .args(["--insecure", "-m", "POST", "-T", "application/json", "-D"])
            .arg(body)
            .arg(url);
        command
    }
}
