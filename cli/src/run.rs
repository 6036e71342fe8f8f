//! Running a command.

use std::error::Error;
use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::outcome::{ERROR, Outcome};
use crate::{check, completion, convert, diff, events, migrate, status, version};

/// Runs the command and gives the exit code. Errors are told on the standard error, each with what caused it.
pub async fn main(args: Args) -> ExitCode {
    match run(args).await {
        Ok(outcome) => outcome.into(),
        Err(error) => {
            eprintln!("error: {}", chain(error.as_ref()));
            ERROR.into()
        }
    }
}

async fn run(args: Args) -> Result<Outcome, Box<dyn Error>> {
    let cluster = args.cluster;
    match args.command {
        Command::Status(args) => Ok(status::run(&cluster, &args).await?),
        Command::Events(args) => Ok(events::run(&cluster, &args).await?),
        Command::Convert(args) => Ok(convert::run(&args)?),
        Command::Diff(args) => Ok(diff::run(&cluster, &args).await?),
        Command::Check(args) => Ok(check::run(&cluster, &args).await?),
        Command::Migrate(args) => Ok(migrate::run(&cluster, &args).await?),
        Command::Version(args) => Ok(version::run(&cluster, &args).await?),
        Command::Completion(args) => Ok(completion::run(&args)?),
        Command::Complete(words) => Ok(completion::complete(&words)?),
    }
}

/// The error and its causes in one line, each only where it is not told already.
pub(crate) fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let told = cause.to_string();
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        next = cause.source();
    }
    text
}
