//! The options of the shards.

use super::identity::Identity;

/// How many replicas divide the Tasks between them.
#[derive(Clone, Debug, clap::Args)]
#[group(id = "replicas")]
#[command(next_help_heading = "Replicas")]
pub struct Args {
    /// Into how many parts the Tasks are divided; each is looked after by one replica at a time. With 1 there is one that works, and the
    /// others stand by. While replicas with another number run, those that were there first go on, and the others wait.
    #[arg(long, env = "TASK_SHARDS", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub shards: u32,

    /// The namespace of the Leases by which the replicas agree; if not given, that of the pod. Replicas that look after different Tasks
    /// (--namespace) need different ones.
    #[arg(long, env = "TASK_LEASE_NAMESPACE")]
    lease_namespace: Option<String>,

    /// What this replica is called: a name that no other process has while this one runs, such as the uid of its pod. A container that
    /// is started again in its pod then goes on at once with what it held, instead of waiting for 15 s. If not given, it is another
    /// replica each time.
    #[arg(long, env = "TASK_IDENTITY", value_parser = identity)]
    identity: Option<String>,
}

impl Args {
    /// The namespace of the Leases, where `own` is that of the pod.
    pub(super) fn lease_namespace<'a>(&'a self, own: &'a str) -> &'a str {
        // A chart sets the variable to nothing where none is asked for.
        let given = self.lease_namespace.as_deref();
        given.filter(|name| !name.is_empty()).unwrap_or(own)
    }

    /// What this replica is called, and whether it may have been called so before.
    #[must_use]
    pub fn identity(&self) -> Identity {
        match self.identity.as_deref().filter(|name| !name.is_empty()) {
            Some(name) => Identity::given(name),
            None => Identity::drawn(),
        }
    }
}

/// It is part of the name of a Lease.
fn identity(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if text.len() > 100 || !text.chars().all(is_plain) || text.ends_with('-') {
        return Err(
            "must be lower case letters, digits and hyphens, 100 at most, the last no hyphen"
                .to_owned(),
        );
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: super::Args,
    }

    fn parse(more: &[&str]) -> Result<super::Args, clap::Error> {
        Command::try_parse_from(["command"].iter().chain(more)).map(|command| command.args)
    }

    #[test]
    fn the_leases_are_where_the_pod_is_unless_it_is_said_where() {
        let namespace = |more: &[&str]| parse(more).unwrap().lease_namespace("pod").to_owned();
        assert_eq!(namespace(&[]), "pod");
        assert_eq!(namespace(&["--lease-namespace="]), "pod");
        assert_eq!(namespace(&["--lease-namespace=ops"]), "ops");
    }

    #[test]
    fn a_name_that_no_lease_could_bear_is_refused() {
        assert!(parse(&["--identity=0b7c-1"]).is_ok());
        for name in ["A", "a.b", "a-", "a b"] {
            assert!(parse(&["--identity", name]).is_err(), "{name}");
        }
    }

    #[test]
    fn no_shards_are_refused() {
        assert!(parse(&["--shards=0"]).is_err());
    }
}
