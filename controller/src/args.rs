//! The command line.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

use clap::{ArgAction, Parser, ValueEnum};

use crate::{
    certificates,
    operations::signals::{callbacks, queue},
    shards, work_queue,
};

/// Reconciles Tasks: keeps a Deployment, a Service and a ConfigMap for each, and tells in its status how they are.
///
/// The connection to the API server is that of KUBECONFIG or ~/.kube/config, else that of the pod it runs in.
#[derive(Clone, Debug, Parser)]
#[command(version)]
pub struct Args {
    /// Look after the Tasks of this namespace only, instead of all. Empty is the same as not given.
    #[arg(long, env = "TASK_NAMESPACE")]
    namespace: Option<String>,

    /// How many Tasks are reconciled at the same time.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    pub concurrency: u16,

    /// The file of the providers that carry operations out; it is looked at again every few seconds.
    #[arg(long, env = "TASK_PROVIDERS")]
    providers: Option<PathBuf>,

    /// Callbacks of providers.
    #[command(flatten)]
    pub callbacks: callbacks::Args,

    /// Messages of a queue.
    #[command(flatten)]
    pub queue: queue::Args,

    /// Calls to the outside.
    #[command(flatten)]
    pub work_queue: work_queue::Limits,

    /// The address at which /healthz and /readyz answer.
    #[arg(long, default_value = "0.0.0.0:8081")]
    pub health_bind: SocketAddr,

    /// The address at which /metrics answers.
    #[arg(long, default_value = "0.0.0.0:8080")]
    pub metrics_bind: SocketAddr,

    /// Whether passes are counted for each Task, with its namespace and name. In a cluster of many thousands of Tasks that is more than a
    /// Prometheus should be given.
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub metrics_per_task: bool,

    /// The form of the log lines; what is logged is said by RUST_LOG (default: info).
    #[arg(long, value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,

    /// How the replicas divide the Tasks between them.
    #[command(flatten)]
    pub replicas: shards::Args,

    /// The certificates of the webhooks.
    #[command(flatten)]
    pub certificates: certificates::Args,
}

impl Args {
    /// The file of the providers, if there is one. Empty is the same as not given.
    #[must_use]
    pub fn providers(&self) -> Option<&Path> {
        self.providers
            .as_deref()
            .filter(|path| !path.as_os_str().is_empty())
    }

    /// The only namespace whose Tasks are looked after; `None`: all are.
    #[must_use]
    pub fn namespace(&self) -> Option<&str> {
        // A chart sets the variable to nothing where no namespace is asked for.
        self.namespace.as_deref().filter(|name| !name.is_empty())
    }
}

/// The form of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    Text,
    /// For programs: one JSON object a line.
    Json,
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
    fn an_empty_namespace_means_all() {
        let namespace = |given| {
            let args = Args::parse_from(["task-controller", "--namespace", given]);
            args.namespace().map(str::to_owned)
        };
        assert_eq!(namespace(""), None);
        assert_eq!(namespace("shop").as_deref(), Some("shop"));
    }

    #[test]
    fn passes_are_counted_for_each_task_unless_that_is_not_wanted() {
        let per_task = |args: &[&str]| {
            Args::parse_from([&["task-controller"], args].concat()).metrics_per_task
        };
        assert!(per_task(&[]));
        assert!(!per_task(&["--metrics-per-task=false"]));
    }

    #[test]
    fn no_tasks_at_a_time_is_refused() {
        assert!(Args::try_parse_from(["task-controller", "--concurrency", "0"]).is_err());
    }
}
