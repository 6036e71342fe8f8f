//! Log lines on standard error.

use std::io::{self, IsTerminal};

use tracing_subscriber::EnvFilter;

use crate::args::LogFormat;

/// Starts logging in this form. What is logged is said by `RUST_LOG`, and is `info` without it.
///
/// Does nothing if logging was started before.
pub fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    // An error says that there is a subscriber already.
    let _ = match format {
        LogFormat::Text => lines.try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
