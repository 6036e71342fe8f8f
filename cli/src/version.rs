//! `kubectl task version`.

use std::io::{self, Write, stdout};

use clap::ValueEnum;
use serde_json::json;

use crate::{Outcome, cluster};

/// Tell the version of this plugin and of the API server.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Tell that of the plugin only.
    #[arg(long)]
    client: bool,

    /// The form of what is written.
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,
}

#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Form {
    #[default]
    Text,
    Json,
}

/// Why the versions cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no client.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// The API server does not tell.
    #[error("the API server does not tell its version")]
    Server(#[source] Box<kube::Error>),
    /// The standard output takes no more.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

/// Tells the versions.
///
/// # Errors
/// See [`Error`].
pub async fn run(cluster: &cluster::Args, args: &Args) -> Result<Outcome, Error> {
    let client = env!("CARGO_PKG_VERSION");
    let server = if args.client {
        None
    } else {
        let client = cluster.connect().await?.client;
        let info = client.apiserver_version().await;
        Some(info.map_err(|source| Error::Server(Box::new(source)))?)
    };
    let server = server.map(|info| info.git_version);
    let mut out = stdout();
    match args.output {
        Form::Json => writeln!(out, "{}", json!({"client": client, "server": server}))?,
        Form::Text => {
            writeln!(out, "kubectl task: v{client}")?;
            if let Some(server) = server {
                writeln!(out, "API server: {server}")?;
            }
        }
    }
    Ok(Outcome::Fine)
}
