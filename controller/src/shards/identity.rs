//! What a replica is called.

use std::hash::{BuildHasher, RandomState};

/// What this process calls itself in Leases and towards the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    name: String,
    resumes: bool,
}

impl Identity {
    /// A name that no other process has while this one runs. What was held under it is this process's own.
    #[must_use]
    pub fn given(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            resumes: true,
        }
    }

    /// A name that no other process has or had: that of the host, which in a cluster is the pod's, and a number drawn anew.
    #[must_use]
    pub fn drawn() -> Self {
        let host = nix::unistd::gethostname().unwrap_or_default();
        let number = RandomState::new().hash_one(std::process::id());
        Self {
            name: named(&host.to_string_lossy(), number),
            resumes: false,
        }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether an earlier process may have had it.
    pub(super) fn resumes(&self) -> bool {
        self.resumes
    }
}

/// It is part of the name of a Lease, so only what may stand there is left of the host's.
fn named(host: &str, number: u64) -> String {
    let host: String = host
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .take(63)
        .collect();
    format!(
        "{}-{number:016x}",
        if host.is_empty() { "host" } else { &host }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_may_stand_in_the_name_of_a_lease() {
        assert_eq!(named("Web_1.local", 255), "web-1-local-00000000000000ff");
        assert_eq!(named("", 1), "host-0000000000000001");
        assert!(named(&"a".repeat(200), 0).len() < 100);
    }

    #[test]
    fn no_two_are_alike() {
        assert_ne!(Identity::drawn(), Identity::drawn());
    }
}
