//! The webhook server `task-conversion`.

use std::process::ExitCode;

use clap::Parser;
use task_conversion::server::{self, Args};

fn main() -> ExitCode {
    server::main(&Args::parse())
}
