//! The webhook server `task-conversion`.

use std::process::ExitCode;

use clap::Parser;
use task_conversion::server::{self, Args};
use task_conversion::task;

fn main() -> ExitCode {
    server::main(&Args::parse(), &task::service())
}
