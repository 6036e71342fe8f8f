//! The binary of the controller.

use std::process::ExitCode;

use clap::Parser;
use task_controller::{Args, logging, run};

#[tokio::main]
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
