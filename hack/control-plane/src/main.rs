//! Runs a control plane in the foreground until it is told to stop.

use std::{error::Error, process::ExitCode};

use clap::Parser;
use control_plane::{ControlPlane, Options};
use serde_json::json;
use tokio::{
    runtime::Runtime,
    signal::unix::{SignalKind, signal},
};

/// Runs a local control plane until Ctrl-C or SIGTERM. One line of JSON on standard output, written once it is ready,
/// tells its kubeconfig and the process id of each component.
#[derive(Parser)]
struct Args {
    /// Run etcd and the API server only.
    #[arg(long)]
    api_server_only: bool,
}

fn main() -> ExitCode {
    match run_to_end(Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("control-plane: {}", with_causes(err.as_ref()));
            ExitCode::FAILURE
        }
    }
}

fn run_to_end(args: Args) -> Result<(), Box<dyn Error>> {
    let runtime = Runtime::new()?;
    let result = runtime.block_on(run(args));
    // A build under way takes minutes more and dies with this process: it is not waited for.
    runtime.shutdown_background();
    result
}

fn with_causes(err: &dyn Error) -> String {
    std::iter::successors(Some(err), |err| (*err).source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

async fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let options = Options {
        workloads: !args.api_server_only,
        ..Options::default()
    };
    let control_plane = tokio::select! {
        started = ControlPlane::start(options) => started?,
        _ = interrupt.recv() => return Ok(()),
        _ = terminate.recv() => return Ok(()),
    };
    let pids: serde_json::Map<_, _> = control_plane
        .pids()
        .into_iter()
        .map(|(component, pid)| (component.to_string(), pid.into()))
        .collect();
    println!(
        "{}",
        json!({"kubeconfig": control_plane.kubeconfig(), "pids": pids})
    );
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    Ok(())
}
