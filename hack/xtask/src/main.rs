//! Developers' commands: `cargo xtask help`.

mod chart;
mod cluster_dir;
mod conditions;
mod down;
mod generate;
mod programs;
mod provider;
mod publish_event;
mod reference;
mod samples;
mod say;
mod status;
mod supervise;
mod turn;
mod up;

use std::{error::Error, path::PathBuf, process::ExitCode};

use clap::{Parser, Subcommand};
use cluster_dir::ClusterDir;
use control_plane::Binaries;

/// Developers' commands.
#[derive(Parser)]
struct Args {
    /// Where the local control plane keeps its state [default: local-cluster in cargo's target folder].
    #[arg(long, global = true)]
    state_dir: Option<PathBuf>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a local control plane with task-conversion and task-controller in it, or bring a running one up to date.
    Up,
    /// Stop what `up` started, and forget its state.
    Down,
    /// Write the YAML files in crds/ from the API types, and from those the chart's templates and deploy/install.yaml.
    Generate {
        /// Write nothing; fail if a file is not as it would be written.
        #[arg(long)]
        check: bool,
    },
    /// Publish an event that tells how an operation stands, as a provider would.
    PublishEvent(publish_event::Args),
    /// Build the programs of the control plane that are missing.
    Tools,
    /// Own the processes of the local control plane until told to stop (`up` starts this one).
    #[command(hide = true)]
    Supervise,
}

#[tokio::main]
async fn main() -> ExitCode {
    match run(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            say::error(err.as_ref());
            ExitCode::FAILURE
        }
    }
}

async fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let cluster_dir = || ClusterDir::new(args.state_dir);
    match args.command {
        Command::Up => up::up(&cluster_dir()?).await?,
        Command::Down => down::down(&cluster_dir()?).await?,
        Command::Generate { check } => {
            tokio::task::spawn_blocking(move || generate::generate(check)).await??;
        }
        Command::Tools => drop(tokio::task::spawn_blocking(Binaries::find_or_build).await??),
        Command::PublishEvent(args) => publish_event::publish(args, &cluster_dir()?).await?,
        Command::Supervise => supervise::supervise(&cluster_dir()?).await?,
    }
    Ok(())
}
