//! The binary of the controller.

use std::process::ExitCode;

use clap::Parser;
use task_controller::{Args, logging, run};

/// One thread is enough, since the controller mostly waits for the API server. One for each core of the machine, which is tokio's default,
/// would take memory that grows with the machine.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let args = Args::parse();
    logging::start(args.log_format);
    match run::run(args).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "stopped");
            ExitCode::FAILURE
        }
    }
}
