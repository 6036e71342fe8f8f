//! The binary `kubectl-task`, which kubectl runs as `kubectl task`.

use std::process::ExitCode;

use clap::Parser;
use kubectl_task::{Args, run};

#[tokio::main]
async fn main() -> ExitCode {
    run::main(Args::parse()).await
}
