//! The options of the queue.

use std::{path::PathBuf, time::Duration};

use operation_signals::nats::{BadUrl, Servers};
use task_api_v1::duration;

/// The options of the queue.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "nats")]
pub struct Args {
    /// The URLs of NATS servers with JetStream, such as tls://nats.example:4222, with commas between. Providers publish there how operations stand.
    /// Without it no queue is looked at.
    #[arg(long, env = "TASK_NATS_URL")]
    nats_url: Option<String>,

    /// A file of credentials for NATS, as nsc makes it. It is read anew for each connection.
    #[arg(long, env = "TASK_NATS_CREDENTIALS_FILE")]
    nats_credentials_file: Option<PathBuf>,

    /// A file of authorities that NATS servers are trusted by, as PEM, beside those of the system.
    #[arg(long, env = "TASK_NATS_CA_FILE")]
    nats_ca_file: Option<PathBuf>,

    /// For how long a message waits to be taken in, where the controller makes the stream.
    #[arg(long, default_value = "72h", value_parser = span)]
    pub nats_max_age: Duration,

    /// How often a message that cannot be taken in is tried before it is put among the dead letters.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    pub nats_max_deliveries: u32,

    /// After how long a message that a controller took and did not answer for is given to another one.
    #[arg(long, default_value = "30s", value_parser = span)]
    pub nats_ack_wait: Duration,
}

impl Args {
    /// Where the queue is, if there is one. Empty is the same as not given.
    ///
    /// # Errors
    /// When a URL is none. That is not found out as the options are read, since what is wrong with an option is told with its value, which may hold a
    /// password.
    pub fn servers(&self) -> Result<Option<Servers>, BadUrl> {
        let Some(urls) = self.nats_url.as_ref().filter(|urls| !urls.is_empty()) else {
            return Ok(None);
        };
        let file =
            |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
        Ok(Some(Servers {
            urls: urls.parse()?,
            credentials: file(&self.nats_credentials_file),
            authority: file(&self.nats_ca_file),
        }))
    }
}

fn span(text: &str) -> Result<Duration, String> {
    let nanoseconds = duration::parse(text).map_err(|error| error.to_string())?;
    let nanoseconds = u64::try_from(nanoseconds).unwrap_or_default();
    match Duration::from_nanos(nanoseconds) {
        short if short < Duration::from_secs(1) => Err("it must be 1s at least".to_owned()),
        span => Ok(span),
    }
}
