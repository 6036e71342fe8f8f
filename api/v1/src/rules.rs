//! The rules of the API: bounds, patterns and the messages that a person reads, in one place.
//!
//! The schema carries them, and [`validation`](crate::validation) asks them of an object.
//!
//! A length is in Unicode code points, as in JSON Schema and CEL. The patterns are written for RE2
//! and mean the same to the `regex-lite` crate. They stand in the schema as CEL rules, not as `pattern`,
//! because only a rule can answer in words.

use std::time::Duration;

use kube::core::{Message, Rule};

/// The most replicas that a Task may have.
pub const REPLICAS_MAX: i32 = 100;

/// The lowest port.
pub const PORT_MIN: i32 = 1;

/// The highest port.
pub const PORT_MAX: i32 = 65_535;

/// The longest image reference, in characters.
pub const IMAGE_LENGTH_MAX: u32 = 512;

/// The most environment variables.
pub const ENV_MAX: u32 = 256;

/// The longest name of an environment variable, in characters.
pub const ENV_NAME_LENGTH_MAX: u32 = 64;

/// The longest value of an environment variable, in characters.
pub const ENV_VALUE_LENGTH_MAX: u32 = 4096;

/// The longest name of a provider, in characters.
pub const PROVIDER_LENGTH_MAX: u32 = 63;

/// The most keys that `parameters` may have.
pub const PARAMETERS_MAX: u32 = 64;

/// The longest `parameters` as JSON, in bytes. Only admission can count them.
pub const PARAMETERS_LENGTH_MAX: usize = 64 * 1024;

/// How many levels of objects and lists `parameters` may have, itself counted. Only admission can count them.
///
/// Clients bound the depth of what they read (Rust's serde_json at 128, for a whole list), and so does the API server of what it sends to a
/// webhook. One object beyond that would break every list that it is in.
pub const PARAMETERS_DEPTH_MAX: usize = 64;

/// The longest text of a timeout, in characters.
pub const TIMEOUT_LENGTH_MAX: u32 = 64;

/// The longest timeout.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(720 * 60 * 60);

/// The longest timeout in seconds, for versions that write it as a number.
pub const TIMEOUT_SECONDS_MAX: i32 = 2_592_000;

/// The range of a timeout, in words.
pub const TIMEOUT_RANGE: &str = "above 0s and at most 720h";

/// What a DNS-1035 label looks like: the name of a Task, which its children carry.
pub const NAME_PATTERN: &str = "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$";

/// What a DNS-1123 label looks like: the name of a provider.
pub const PROVIDER_PATTERN: &str = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$";

/// What the name of an environment variable looks like, but for its length.
pub const ENV_NAME_PATTERN: &str = "^[-._a-zA-Z][-._a-zA-Z0-9]*$";

/// What the text of a duration looks like; its length and its value are bounded elsewhere.
pub const DURATION_PATTERN: &str =
    "^[-+]?(0|(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h))+)$";

/// What an image reference looks like: `[host[:port]/]path[:tag][@digest]`, after the grammar of the
/// OCI distribution project. The host may be an IPv6 address in brackets.
pub const IMAGE_PATTERN: &str = concat!(
    "^",
    // Host and port. A host's labels may be upper case; a path's parts may not.
    "((",
    "[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?)*",
    r"|\[[a-fA-F0-9:]+\]",
    ")(:[0-9]{1,5})?/)?",
    // Path.
    "[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*(/[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*)*",
    // Tag.
    "(:[a-zA-Z0-9_][-.a-zA-Z0-9_]{0,127})?",
    // Digest.
    "(@[a-zA-Z][a-zA-Z0-9]*([-_+.][a-zA-Z][a-zA-Z0-9]*)*:[a-fA-F0-9]{32,})?",
    "$",
);

/// The rule on the name of a Task, in words.
pub const NAME_RULE: &str = "must be a DNS-1035 label: at most 63 characters, lower case letters, digits \
    and '-', beginning with a letter and ending with a letter or digit";

/// The rule on `image`, in words.
pub const IMAGE_RULE: &str =
    "must be an OCI image reference: [host[:port]/]path[:tag][@digest], the path in lower case";

/// The rule on the name of a provider, in words.
pub const PROVIDER_RULE: &str = "must be a DNS label: at most 63 characters, lower case letters, digits and '-', beginning \
    and ending with a letter or digit";

/// The rule on the name of an environment variable, in words. It stands in a CEL string too, so it has no quotes.
pub const ENV_NAME_RULE: &str =
    "must be 1 to 64 letters, digits, dashes, underscores or dots, not beginning with a digit";

/// The rule on `timeout`, in words.
pub fn timeout_rule() -> String {
    format!("must be a duration {TIMEOUT_RANGE}, such as 90s, 1h30m or 1.5s")
}

/// The rule on `metadata.name`, for the root of the schema.
pub fn name() -> Rule {
    Rule::new(format!("self.metadata.name.matches(r'{NAME_PATTERN}')"))
        .message(format!("metadata.name {NAME_RULE}").as_str())
}

/// The rule on `image`.
pub fn image() -> Rule {
    Rule::new(format!("self.matches(r'{IMAGE_PATTERN}')")).message(IMAGE_RULE)
}

/// The rule on the name of a provider.
pub fn provider() -> Rule {
    Rule::new(format!("self.matches(r'{PROVIDER_PATTERN}')")).message(PROVIDER_RULE)
}

/// The rule on `timeout`.
pub fn timeout() -> Rule {
    Rule::new(format!(
        "self.matches(r'{DURATION_PATTERN}') && duration(self) > duration('0s') && duration(self) <= duration('720h')"
    ))
    .message(timeout_rule().as_str())
}

/// The rule on the names in a map of environment variables; it names an offender.
pub fn env_map() -> Rule {
    let good =
        format!("size(name) <= {ENV_NAME_LENGTH_MAX} && name.matches(r'{ENV_NAME_PATTERN}')");
    Rule::new(format!("self.all(name, {good})")).message(Message::Expression(format!(
        "'the name \"' + self.filter(name, !({good}))[0] + '\" {ENV_NAME_RULE}'"
    )))
}

/// The rule on the name of one environment variable.
pub fn env_name() -> Rule {
    Rule::new(format!("self.matches(r'{ENV_NAME_PATTERN}')")).message(ENV_NAME_RULE)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use regex_lite::Regex;

    use super::*;
    use crate::duration::{self, DurationError};

    fn assert_table(pattern: &str, good: &[&str], bad: &[&str]) {
        let pattern = Regex::new(pattern).unwrap();
        let refused: Vec<_> = good.iter().filter(|text| !pattern.is_match(text)).collect();
        let admitted: Vec<_> = bad.iter().filter(|text| pattern.is_match(text)).collect();
        assert!(refused.is_empty(), "refused: {refused:#?}");
        assert!(admitted.is_empty(), "admitted: {admitted:#?}");
    }

    #[test]
    fn an_image_is_an_oci_reference() {
        let digest = format!("sha256:{}", "0123456789abcdef".repeat(4));
        let long_tag = "t".repeat(128);
        assert_table(
            IMAGE_PATTERN,
            &[
                "nginx",
                "nginx:alpine",
                "library/nginx",
                "a/b/c/d",
                "a_b/c__d/e.f/g---h",
                "docker.io/library/nginx:1.27",
                "localhost/nginx",
                "localhost:5000/nginx:v1",
                "Registry.Example.COM/nginx",
                "xn--bcher-kva.example/a",
                "10.0.0.1:443/a:b",
                "[::1]/a",
                "[2001:DB8::1]:5000/a/b:c",
                "nginx:1.0-RC.1_x",
                &format!("nginx:{long_tag}"),
                &format!("nginx@{digest}"),
                &format!("host:5000/nginx:v1@{digest}"),
                &format!("nginx@sha512+b64u.x:{}", "a".repeat(32)),
            ],
            &[
                "",
                " ",
                "::",
                ":",
                "/",
                ":tag",
                "nginx:",
                "nginx::tag",
                "a:b:c",
                "nginx@",
                "nginx@sha256:",
                "nginx@sha256:abc",
                "nginx:tag:tag",
                "Nginx",
                "host/Path",
                "a//b",
                "/nginx",
                "nginx/",
                "a..b",
                "a___b",
                "-a",
                "a-",
                "host:port/a",
                "host:123456/a",
                "-host.example/a",
                "host-/A",
                "::1/a",
                "[::1]",
                "[::1]:5000",
                "[::g]/a",
                "https://example.com/a",
                "nginx alpine",
                "nginx\n",
                "ng\u{ed}nx",
                "nginx:-tag",
                &format!("nginx:{long_tag}t"),
                &format!("nginx@{digest}@{digest}"),
                &format!("nginx@{digest}:tag"),
            ],
        );
    }

    #[test]
    fn the_name_of_a_task_is_a_dns_1035_label() {
        assert_table(
            NAME_PATTERN,
            &["a", "a1", "web-1", "a--b", &"a".repeat(63)],
            &[
                "",
                "1a",
                "-a",
                "a-",
                "a.b",
                "A",
                "a_b",
                "a\n",
                &"a".repeat(64),
            ],
        );
    }

    #[test]
    fn the_name_of_a_provider_is_a_dns_label() {
        assert_table(
            PROVIDER_PATTERN,
            &["a", "1", "1a", "volumes-eu", &"a".repeat(63)],
            &["", "-a", "a-", "a.b", "A", "a_b", "a\n", &"a".repeat(64)],
        );
    }

    #[test]
    fn the_name_of_a_variable_does_not_begin_with_a_digit() {
        assert_table(
            ENV_NAME_PATTERN,
            &["A", "_", "-", ".", "a.b-c_D9"],
            &["", "1A", "a=b", "a b", "a\n", "\u{e4}", "$(A)"],
        );
    }

    #[test]
    fn the_bounds_of_a_timeout_agree() {
        let seconds = u64::try_from(TIMEOUT_SECONDS_MAX).unwrap();
        assert_eq!(TIMEOUT_MAX, Duration::from_secs(seconds));
    }

    proptest! {
        /// Beside the pattern, the API server refuses only what does not fit a duration.
        #[test]
        fn the_pattern_of_a_duration_is_what_is_read(
            text in r"[-+]?(0|([0-9]{0,20}(\.[0-9]{0,20})?(ns|us|\u{b5}s|\u{3bc}s|ms|s|m|h|d| )?){0,3})"
        ) {
            let matches = Regex::new(DURATION_PATTERN).unwrap().is_match(&text);
            match duration::parse(&text) {
                Ok(_) => prop_assert!(matches),
                // It may go on with anything.
                Err(DurationError::Overflow) => {}
                Err(_) => prop_assert!(!matches),
            }
        }
    }
}
