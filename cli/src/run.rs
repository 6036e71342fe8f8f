//! Running a command.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use kube::core::Status;

use crate::args::{Args, Command};
use crate::cluster::told;
use crate::outcome::{ERROR, Outcome};
use crate::{check, completion, convert, diff, events, migrate, progress, status, version};

/// Runs the command and gives the exit code. Errors are told on the standard error, each with what caused it.
pub async fn main(args: Args) -> ExitCode {
    match run(args).await {
        Ok(outcome) => outcome.into(),
        // Whoever reads has seen enough, as head(1) has after ten lines.
        Err(error) if is_broken_pipe(error.as_ref()) => ERROR.into(),
        Err(error) => {
            progress::say(&format!("error: {}", chain(error.as_ref())));
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

/// Whether the standard output takes no more because nobody reads it. That a connection to the API server broke stands deeper.
fn is_broken_pipe(error: &(dyn Error + 'static)) -> bool {
    let cause = error.source().unwrap_or(error);
    let io = cause.downcast_ref::<io::Error>();
    io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe)
}

/// The error and its causes in one line, each only where it is not told already.
pub(crate) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = one(error);
    let mut next = error.source();
    while let Some(cause) = next {
        let told = one(cause);
        if !text.contains(&told) {
            text.push_str(": ");
            text.push_str(&told);
        }
        // The cause of the API server's answer is that answer.
        next = cause
            .source()
            .filter(|cause| !cause.is::<Status>() && !cause.is::<Box<Status>>());
    }
    text
}

fn one(error: &(dyn Error + 'static)) -> String {
    let boxed = error.downcast_ref::<Box<kube::Error>>();
    match boxed.map(AsRef::as_ref).or_else(|| error.downcast_ref()) {
        Some(error) => told(error),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot list Tasks")]
    struct List(#[source] Box<kube::Error>);

    #[test]
    fn what_the_api_server_says_is_told_in_its_words_and_once() {
        let status = Status::failure("tasks is forbidden", "Forbidden").with_code(403);
        let error = List(Box::new(kube::Error::Api(status.boxed())));
        assert_eq!(chain(&error), "cannot list Tasks: tasks is forbidden");
    }
}
