//! `kubectl task completion`, and what kubectl asks when a person presses Tab after `kubectl task`.

use std::ffi::OsString;
use std::io::{self, Write, stdout};

use clap::{CommandFactory, ValueEnum};
use clap_complete::{Shell, engine};

use crate::{Args as Whole, Outcome};

/// Write a completion script: for a shell, or the shim for kubectl.
///
/// kubectl completes a plugin with the help of a program `kubectl_complete-task` on the PATH:
///
///   kubectl task completion kubectl > ~/.local/bin/kubectl_complete-task
///   chmod +x ~/.local/bin/kubectl_complete-task
#[derive(Clone, Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Args {
    /// For whom.
    #[arg(value_enum)]
    target: Target,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    Bash,
    Elvish,
    Fish,
    Kubectl,
    Powershell,
    Zsh,
}

/// The words of the command line so far, the last of them unfinished or empty.
#[derive(Clone, Debug, clap::Args)]
pub struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// What kubectl runs. The words come as they were typed.
const SHIM: &str = "#!/bin/sh\nexec kubectl-task __complete \"$@\"\n";

/// What a cobra program ends its proposals with: do not propose files as well.
const NO_FILES: &str = ":4";

/// What it ends them with where there are none: propose files.
const FILES: &str = ":0";

/// Writes the script.
///
/// # Errors
/// When the standard output takes no more.
pub fn run(args: &Args) -> io::Result<Outcome> {
    let shell = match args.target {
        Target::Bash => Shell::Bash,
        Target::Elvish => Shell::Elvish,
        Target::Fish => Shell::Fish,
        Target::Powershell => Shell::PowerShell,
        Target::Zsh => Shell::Zsh,
        Target::Kubectl => {
            stdout().write_all(SHIM.as_bytes())?;
            return Ok(Outcome::Fine);
        }
    };
    // The name of the program and not of kubectl's command: a shell completes programs.
    let mut command = Whole::command().bin_name("kubectl-task");
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "kubectl-task", &mut script);
    stdout().write_all(&script)?;
    Ok(Outcome::Fine)
}

/// Writes what the last word may become, one proposal a line, as kubectl expects it.
///
/// # Errors
/// When the standard output takes no more.
pub fn complete(words: &Words) -> io::Result<Outcome> {
    stdout().write_all(proposals(&words.words)?.as_bytes())?;
    Ok(Outcome::Fine)
}

fn proposals(words: &[OsString]) -> io::Result<String> {
    let line: Vec<_> = [OsString::from("kubectl-task")]
        .into_iter()
        .chain(words.iter().cloned())
        .collect();
    let last = line.len() - 1;
    let candidates = engine::complete(&mut Whole::command(), line, last, None)?;
    let mut text = String::new();
    for candidate in candidates
        .iter()
        .filter(|candidate| !candidate.is_hide_set())
    {
        text.push_str(&candidate.get_value().to_string_lossy());
        if let Some(help) = candidate.get_help() {
            let help = help.to_string();
            text.push('\t');
            text.push_str(help.lines().next().unwrap_or_default());
        }
        text.push('\n');
    }
    let end = if text.is_empty() { FILES } else { NO_FILES };
    Ok(text + end + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(words: &[&str]) -> String {
        let words: Vec<_> = words.iter().map(OsString::from).collect();
        proposals(&words).unwrap()
    }

    #[test]
    fn commands_flags_and_values_are_proposed() {
        assert!(proposed(&["ver"]).starts_with("version\t"));
        assert!(proposed(&["version", "--cl"]).contains("--client\t"));
        assert!(proposed(&["completion", "z"]).starts_with("zsh"));
        assert!(proposed(&["ver"]).ends_with("\n:4\n"));
    }

    #[test]
    fn what_is_not_for_people_is_not_proposed() {
        assert!(!proposed(&[""]).contains("__complete"));
    }

    #[test]
    fn the_shim_in_the_repository_is_the_one_that_is_written() {
        assert_eq!(include_str!("../kubectl_complete-task"), SHIM);
    }
}
