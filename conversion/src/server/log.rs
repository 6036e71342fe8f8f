//! Log lines, on standard error.

use std::io::{self, IsTerminal};

use tracing::error;
use tracing_subscriber::EnvFilter;

use super::args::LogFormat;

/// Starts logging. The message of a panic may quote what was being converted, so only its place is logged.
pub(super) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().init(),
    }
    std::panic::set_hook(Box::new(|panic| match panic.location() {
        Some(place) => error!("panicked at {place}"),
        None => error!("panicked"),
    }));
}
