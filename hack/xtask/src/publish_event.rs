//! Telling the operator how an operation stands, as a provider would by its queue.

use std::{
    io,
    path::PathBuf,
    time::{SystemTime, UNIX_EPOCH},
};

use clap::ValueEnum;
use operation_signals::{
    event::Event,
    nats::{self, BadUrl, Servers},
};
use serde_json::{Value, json};

use crate::{cluster_dir::ClusterDir, say, status::Status};

/// Who made the event.
const SOURCE: &str = "//xtask/publish-event";

/// An event, and where it is published.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The URLs of the NATS servers, with commas between [default: that of the local control plane].
    #[arg(long, env = "TASK_NATS_URL")]
    nats_url: Option<String>,

    /// A file of credentials for them.
    #[arg(long)]
    nats_credentials_file: Option<PathBuf>,

    /// A file of authorities that they are trusted by, as PEM.
    #[arg(long)]
    nats_ca_file: Option<PathBuf>,

    /// The operation's Operation-Id: status.operation.key of its Task.
    #[arg(long)]
    operation: String,

    /// How it stands.
    #[arg(long, value_enum, ignore_case = true)]
    status: Stands,

    /// What came out of it.
    #[arg(long)]
    result: Option<String>,

    /// Why it failed, for programs.
    #[arg(long)]
    code: Option<String>,

    /// Why it failed, for people.
    #[arg(long)]
    message: Option<String>,

    /// The event's id; an event of the same id is the same event [default: one that was not there before].
    #[arg(long)]
    id: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "PascalCase")]
enum Stands {
    Running,
    Succeeded,
    Failed,
    Canceled,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cannot read {}", path.display())]
    Status { path: PathBuf, source: io::Error },
    #[error(
        "no local control plane runs: start one with `make up`, or name a queue with --nats-url"
    )]
    NoQueue,
    #[error(transparent)]
    Url(#[from] BadUrl),
    #[error(transparent)]
    Nats(#[from] nats::Error),
    #[error("the event cannot be written")]
    Event(#[from] serde_json::Error),
}

/// Publishes the event, and returns once it is kept. `dir` is that of the local control plane.
pub(crate) async fn publish(args: Args, dir: &ClusterDir) -> Result<(), Error> {
    let id = args.id.clone().unwrap_or_else(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        now.unwrap_or_default().as_nanos().to_string()
    });
    let event = Event::new(SOURCE, &id, &args.operation, &stands(&args))?;
    let urls = match args.nats_url {
        Some(urls) => urls,
        None => local_queue(dir)?,
    };
    let servers = Servers {
        urls: urls.parse()?,
        credentials: args.nats_credentials_file,
        authority: args.nats_ca_file,
    };
    let context = servers.connect("xtask publish-event").await?;
    nats::publish(&context, &event).await?;
    say::step(&format!("published the event {id}"));
    Ok(())
}

/// The URL of the queue of the local control plane.
fn local_queue(dir: &ClusterDir) -> Result<String, Error> {
    let path = dir.status();
    let status = Status::read(&path).map_err(|source| Error::Status { path, source })?;
    let url = status.map(|status| status.nats_url);
    url.filter(|url| !url.is_empty()).ok_or(Error::NoQueue)
}

fn stands(args: &Args) -> Value {
    let mut stands = json!({"status": format!("{:?}", args.status)});
    if let Some(result) = &args.result {
        stands["result"] = json!(result);
    }
    if args.code.is_some() || args.message.is_some() {
        let (code, message) = (args.code.as_deref(), args.message.as_deref());
        stands["error"] = json!({
            "code": code.unwrap_or("Failed"),
            "message": message.unwrap_or_default(),
        });
    }
    stands
}
