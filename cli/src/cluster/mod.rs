//! Which cluster a command talks to, as whom, and in which namespace: the same flags as kubectl's.

mod patience;
mod tasks;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use kube::{Client, Config};
pub use patience::{Patience, may_pass};
pub use tasks::{Page, Tasks, full_name, is_newer, names};

/// How long to wait for an answer where nothing is said: as long as an API server itself works at a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Why there is no client for a cluster.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kubeconfig cannot be read, or has no such context, cluster or user.
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[source] Box<KubeconfigError>),
    /// It has no such user.
    #[error("the kubeconfig has no user {0}")]
    User(String),
    /// The connection's settings are of no use.
    #[error("cannot connect to the cluster")]
    Client(#[source] Box<kube::Error>),
}

/// The flags.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Cluster")]
#[group(skip)]
pub struct Args {
    /// The kubeconfig to use, instead of KUBECONFIG or ~/.kube/config.
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,

    /// The context of the kubeconfig to use.
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,

    /// The cluster of the kubeconfig to use.
    #[arg(long, global = true, value_name = "NAME")]
    cluster: Option<String>,

    /// The user of the kubeconfig to be.
    #[arg(long, global = true, value_name = "NAME")]
    user: Option<String>,

    /// The user to act as.
    #[arg(long = "as", global = true, value_name = "USER")]
    impersonate: Option<String>,

    /// A group to act as a member of. May be given more than once.
    #[arg(long = "as-group", global = true, value_name = "GROUP")]
    impersonate_groups: Vec<String>,

    /// The namespace, instead of that of the context.
    #[arg(short, long, global = true, value_name = "NAME")]
    namespace: Option<String>,

    /// How long to wait for an answer, such as 30s, instead of a minute; 0: as long as it takes.
    #[arg(long, global = true, value_name = "TIME", value_parser = duration)]
    request_timeout: Option<Duration>,
}

/// Whether all namespaces are meant.
#[derive(Clone, Copy, Debug, clap::Args)]
#[group(skip)]
pub struct Reach {
    /// Those of all namespaces.
    #[arg(short = 'A', long, conflicts_with = "namespace")]
    pub all_namespaces: bool,
}

/// A client, and the namespace that the person means where none is named.
#[derive(Clone)]
pub struct Cluster {
    /// The client.
    pub client: Client,
    /// The namespace of the flags, else that of the context, else `default`.
    pub namespace: String,
}

impl Args {
    /// Whether a namespace is named.
    #[must_use]
    pub fn names_namespace(&self) -> bool {
        self.namespace.is_some()
    }

    /// Whether neither a kubeconfig nor a part of one is named.
    fn names_nothing(&self) -> bool {
        self.kubeconfig.is_none()
            && self.context.is_none()
            && self.cluster.is_none()
            && self.user.is_none()
    }

    /// Without it the client would be nobody, which is told as a lack of permissions.
    fn must_have_user(&self, kubeconfig: &Kubeconfig) -> Result<(), Error> {
        let Some(name) = &self.user else {
            return Ok(());
        };
        let mut users = kubeconfig.auth_infos.iter();
        match users.any(|user| user.name == *name) {
            true => Ok(()),
            false => Err(Error::User(name.clone())),
        }
    }

    /// How long to wait for an answer; `None`: as long as it takes.
    fn answer_within(&self) -> Option<Duration> {
        let time = self.request_timeout.unwrap_or(REQUEST_TIMEOUT);
        (!time.is_zero()).then_some(time)
    }

    /// Makes a client. Nothing is asked of the cluster yet.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn connect(&self) -> Result<Cluster, Error> {
        let kubeconfig_error = |source| Error::Kubeconfig(Box::new(source));
        let options = KubeConfigOptions {
            context: self.context.clone(),
            cluster: self.cluster.clone(),
            user: self.user.clone(),
        };
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let mut config = match kubeconfig {
            Ok(kubeconfig) => {
                self.must_have_user(&kubeconfig)?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await
            }
            // As kubectl: in a pod it is the pod's service account.
            Err(error) if self.names_nothing() && is_absent(&error) => {
                Config::incluster().map_err(|_| error)
            }
            Err(error) => Err(error),
        }
        .map_err(kubeconfig_error)?;
        if let Some(user) = &self.impersonate {
            config.auth_info.impersonate = Some(user.clone());
        }
        if !self.impersonate_groups.is_empty() {
            config.auth_info.impersonate_groups = Some(self.impersonate_groups.clone());
        }
        config.read_timeout = self.answer_within();
        if let Some(time) = config.read_timeout {
            config.connect_timeout = config.connect_timeout.map(|most| most.min(time));
        }
        let namespace = self
            .namespace
            .clone()
            .unwrap_or_else(|| config.default_namespace.clone());
        let client = Client::try_from(config).map_err(|source| Error::Client(Box::new(source)))?;
        Ok(Cluster { client, namespace })
    }
}

/// Whether there is no kubeconfig, rather than one that is of no use.
fn is_absent(error: &KubeconfigError) -> bool {
    match error {
        KubeconfigError::FindPath => true,
        KubeconfigError::ReadConfig(source, _) => source.kind() == ErrorKind::NotFound,
        _ => false,
    }
}

/// What the API server says, in its own words where it has answered.
#[must_use]
pub fn told(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) if !status.message.is_empty() => status.message.clone(),
        kube::Error::Service(why) => why.to_string(),
        other => other.to_string(),
    }
}

/// A duration as kubectl takes it: Go's grammar, or a number of seconds.
///
/// # Errors
/// When it is neither.
pub fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse() {
        return Ok(Duration::from_secs(seconds));
    }
    let nanoseconds = task_api_v1::duration::parse(text).map_err(|error| error.to_string())?;
    u64::try_from(nanoseconds)
        .map(Duration::from_nanos)
        .map_err(|_| "a time must not be negative".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_that_is_of_no_use_is_not_passed_over_for_the_pods_service_account() {
        let read = |kind: ErrorKind| KubeconfigError::ReadConfig(kind.into(), PathBuf::new());
        for (error, absent) in [
            (KubeconfigError::FindPath, true),
            (read(ErrorKind::NotFound), true),
            (read(ErrorKind::PermissionDenied), false),
            (KubeconfigError::CurrentContextNotSet, false),
        ] {
            assert_eq!(is_absent(&error), absent, "{error}");
        }
    }

    #[tokio::test]
    async fn a_user_that_the_kubeconfig_does_not_have_is_not_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config");
        let text = "apiVersion: v1\nkind: Config\ncurrent-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nclusters: [{name: a, cluster: {server: http://127.0.0.1:1}}]\nusers: [{name: a, user: {token: t}}]\n";
        std::fs::write(&file, text).unwrap();
        for (user, known) in [(None, true), (Some("a"), true), (Some("b"), false)] {
            let args = Args {
                kubeconfig: Some(file.clone()),
                user: user.map(str::to_owned),
                ..Args::default()
            };
            let connected = args.connect().await;
            assert_eq!(matches!(connected, Err(Error::User(_))), !known, "{user:?}");
            assert_eq!(connected.is_ok(), known, "{user:?}");
        }
    }

    #[test]
    fn an_answer_is_waited_for_a_minute_or_as_long_as_is_said() {
        for (flag, time) in [(None, Some(60)), (Some(5), Some(5)), (Some(0), None)] {
            let args = Args {
                request_timeout: flag.map(Duration::from_secs),
                ..Args::default()
            };
            assert_eq!(args.answer_within(), time.map(Duration::from_secs));
        }
    }
}
