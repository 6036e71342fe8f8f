//! What a replica is called.

use std::hash::{BuildHasher, RandomState};

/// A name for this process that no other has or had: that of its host, which in a cluster is the pod's, and a number drawn anew.
///
/// A container that is started again in the same pod is thus another replica than the one before.
#[must_use]
pub fn identity() -> String {
    let host = nix::unistd::gethostname().unwrap_or_default();
    named(
        &host.to_string_lossy(),
        RandomState::new().hash_one(std::process::id()),
    )
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
        assert_ne!(identity(), identity());
    }
}
