//! Log lines on standard error.

use std::{
    env,
    io::{self, IsTerminal},
};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::{
    filter::Targets, layer::SubscriberExt, registry::Registry, util::SubscriberInitExt,
};

use crate::args::LogFormat;

/// Starts logging in this form. What is logged is said by `RUST_LOG`, as in `info,task_controller=debug`, and is `info` without it.
///
/// Does nothing if logging was started before.
pub fn start(format: LogFormat) {
    // Not `EnvFilter`, which also tells spans apart by their fields, and takes regular expressions for that: a megabyte of memory.
    let filter = env::var("RUST_LOG").ok().and_then(|text| text.parse().ok());
    let filter = filter.unwrap_or_else(|| Targets::new().with_default(LevelFilter::INFO));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    let registry = Registry::default().with(filter);
    // An error says that there is a subscriber already.
    let _ = match format {
        LogFormat::Text => registry.with(lines).try_init(),
        LogFormat::Json => registry.with(lines.json().flatten_event(true)).try_init(),
    };
}
