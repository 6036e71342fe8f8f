//! The HTTPS server: `/convert`, `/healthz`, `/readyz`, `/metrics`.

mod body;
mod connections;
mod metrics;
mod ready;
mod routes;
mod tls;

use std::io::{self, IsTerminal};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::{error, info};
use tracing_subscriber::EnvFilter;

pub use connections::serve;
pub use routes::{State, router};
pub use tls::{TlsError, load as load_tls};

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
    /// The folder with the serving certificate: tls.crt and tls.key, in PEM.
    #[arg(long, env = "TASK_CONVERSION_CERT_DIR")]
    pub cert_dir: PathBuf,
    /// The largest body that is read, in bytes. A list of thousands of Tasks comes as one body.
    #[arg(long, env = "TASK_CONVERSION_MAX_BODY_BYTES", default_value_t = 64 * 1024 * 1024)]
    pub max_body_bytes: usize,
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

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error("cannot listen on {address}: {source}")]
    Bind {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot start: {0}")]
    Runtime(#[source] io::Error),
}

/// Runs until SIGTERM or SIGINT; exits 0 then, and 1 when it could not start.
pub fn main(args: &Args) -> ExitCode {
    log(args.log_format);
    log_panics_by_place();
    match start(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn log(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().init(),
    }
}

/// The message of a panic may quote what was being converted, so only its place is logged.
fn log_panics_by_place() {
    std::panic::set_hook(Box::new(|panic| match panic.location() {
        Some(place) => error!("panicked at {place}"),
        None => error!("panicked"),
    }));
}

fn start(args: &Args) -> Result<(), Error> {
    let threads = usize::from(args.worker_threads);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        // As many long reviews are answered at the same time; more would take memory, and no less time.
        .max_blocking_threads(threads)
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    let result = runtime.block_on(run(args));
    // What did not finish within the grace is not waited for.
    runtime.shutdown_background();
    result
}

async fn run(args: &Args) -> Result<(), Error> {
    let tls = load_tls(&args.cert_dir)?;
    let bind = |source| Error::Bind {
        address: args.bind,
        source,
    };
    let listener = TcpListener::bind(args.bind).await.map_err(bind)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::Runtime)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Runtime)?;

    info!(address = %listener.local_addr().map_err(bind)?, "serving");
    let state = Arc::new(State::new(args.max_body_bytes));
    serve(listener, tls, router(state), async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        info!("stopping: requests in flight finish");
    })
    .await;
    info!("stopped");
    Ok(())
}
