//! Log lines, on standard error.

use std::env;
use std::io::{self, IsTerminal};

use tracing::error;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::util::SubscriberInitExt;

use super::args::LogFormat;

/// Starts logging. What is logged is said by `RUST_LOG`, as in `info,task_conversion=debug`, and is `info` without it. The message of a
/// panic may quote what was being converted, so only its place is logged.
pub(super) fn start(format: LogFormat) {
    // Not `EnvFilter`, which also tells spans apart by their fields, and takes regular expressions for that: 200 KiB of memory.
    let filter = env::var("RUST_LOG").ok().and_then(|text| text.parse().ok());
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let registry = Registry::default().with(filter);
    match format {
        LogFormat::Text => registry.with(lines).init(),
        LogFormat::Json => registry.with(lines.json()).init(),
    }
    std::panic::set_hook(Box::new(|panic| match panic.location() {
        Some(place) => error!("panicked at {place}"),
        None => error!("panicked"),
    }));
}
