//! The command line.

use clap::{Parser, Subcommand};

use crate::{check, cluster, completion, convert, diff, events, migrate, status, version};

/// See how Tasks are, and bring a cluster and its manifests from v1alpha1 to v1.
///
/// Exit codes: 0 all is well, 1 something was found, 2 wrong usage or an error, 124 time is up.
#[derive(Clone, Debug, Parser)]
// kubectl shows it as its own command.
#[command(
    name = "kubectl-task",
    bin_name = "kubectl task",
    version,
    max_term_width = 100
)]
pub struct Args {
    /// Which cluster, as whom, and which namespace.
    #[command(flatten)]
    pub(crate) cluster: cluster::Args,

    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    Status(status::Args),
    Events(events::Args),
    Convert(convert::Args),
    Diff(diff::Args),
    Check(check::Args),
    Migrate(migrate::Args),
    Version(version::Args),
    Completion(completion::Args),
    #[command(name = "__complete", hide = true, disable_help_flag = true)]
    Complete(completion::Words),
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn wrong_usage_ends_with_2() {
        let error = Args::try_parse_from(["kubectl-task", "frobnicate"]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn more_requests_a_second_than_a_clock_can_tell_apart_are_wrong_usage() {
        let qps = |qps| Args::try_parse_from(["kubectl-task", "migrate", qps]);
        assert!(qps("--qps=1000000").is_ok());
        assert!(qps("--qps=1000001").is_err());
    }
}
