//! The command line of `task-conversion`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;

use super::budget::cost;

/// The command line of `task-conversion`.
#[derive(Clone, Debug, clap::Parser)]
#[command(
    version,
    about = "Converts Tasks between their API versions for the API server"
)]
pub struct Args {
    /// The address to serve HTTPS on.
    #[arg(long, env = "TASK_CONVERSION_BIND", default_value = "0.0.0.0:9443")]
    pub bind: SocketAddr,
    /// The folder with the serving certificate: tls.crt and tls.key, in PEM. A change is noticed within 5 s.
    #[arg(long, env = "TASK_CONVERSION_CERT_DIR")]
    pub cert_dir: PathBuf,
    /// The largest body that is read, in bytes. A list of thousands of Tasks comes as one body.
    #[arg(long, env = "TASK_CONVERSION_MAX_BODY_BYTES", default_value_t = 64 * 1024 * 1024)]
    pub max_body_bytes: usize,
    /// The most memory, in bytes, that reviews may take with their answers: above it the API server is told to try again in a
    /// second. It must do for one body of the largest size, which takes 3.25 times its bytes.
    #[arg(long, env = "TASK_CONVERSION_MAX_INFLIGHT_BYTES", default_value_t = 256 * 1024 * 1024)]
    pub max_inflight_bytes: usize,
    /// The most connections at a time. Those beyond wait until an idle one is closed.
    #[arg(long, env = "TASK_CONVERSION_MAX_CONNECTIONS", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub max_connections: u32,
    /// How long to go on serving after SIGTERM, so that nobody sends requests here any more once it is over.
    #[arg(long, env = "TASK_CONVERSION_DRAIN_DELAY", default_value = "10s", value_parser = duration)]
    pub drain_delay: Duration,
    /// How many threads serve, and how many more answer reviews of more than 256 KiB.
    #[arg(long, env = "TASK_CONVERSION_WORKER_THREADS", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    pub worker_threads: u16,
    /// How log lines are written. RUST_LOG sets which are.
    #[arg(long, env = "TASK_CONVERSION_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Arguments that are each right, but not together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--max-inflight-bytes is {inflight}, but one body of --max-body-bytes {body} takes {needed} with its answer"
)]
pub struct TooLittleRoom {
    inflight: usize,
    body: usize,
    needed: usize,
}

impl Args {
    /// Checks that the largest body fits the bound on all.
    ///
    /// # Errors
    /// When it does not: such a body would be put off for ever.
    pub fn check(&self) -> Result<(), TooLittleRoom> {
        let needed = cost(self.max_body_bytes);
        if needed > self.max_inflight_bytes {
            return Err(TooLittleRoom {
                inflight: self.max_inflight_bytes,
                body: self.max_body_bytes,
                needed,
            });
        }
        Ok(())
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let duration: SignedDuration = text.parse().map_err(|error| format!("{error}"))?;
    Duration::try_from(duration).map_err(|_| "must not be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn parse(more: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(
            ["task-conversion", "--cert-dir", "certs"]
                .iter()
                .chain(more),
        )
    }

    #[test]
    fn the_defaults_go_together() {
        let args = parse(&[]).unwrap();
        assert_eq!(args.check(), Ok(()));
        assert_eq!(args.drain_delay, Duration::from_secs(10));
    }

    #[test]
    fn a_body_that_would_never_fit_is_told() {
        let args = parse(&["--max-inflight-bytes", "1000", "--max-body-bytes", "400"]).unwrap();
        assert_eq!(
            args.check().unwrap_err().to_string(),
            "--max-inflight-bytes is 1000, but one body of --max-body-bytes 400 takes 1300 with its answer"
        );
    }

    #[test]
    fn a_delay_is_written_with_its_unit() {
        for (text, millis) in [("0s", 0), ("1500ms", 1500), ("1m", 60_000)] {
            let args = parse(&["--drain-delay", text]).unwrap();
            assert_eq!(args.drain_delay, Duration::from_millis(millis), "{text}");
        }
        assert!(parse(&["--drain-delay=-1s"]).is_err());
        assert!(parse(&["--drain-delay", "10"]).is_err());
    }
}
