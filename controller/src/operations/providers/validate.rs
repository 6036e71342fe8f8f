//! What is wrong with a file of providers: where, and by which rule. Pure.

use std::{collections::HashSet, fmt};

use reqwest::Url;
use task_api_v1::rules;

use super::file::{Entry, File, Span};
use crate::operations::situation::Policy;

/// The placeholder of an operation's id in a path.
pub const ID: &str = "{id}";

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where, such as `providers[2].url`.
    pub place: String,
    /// What must hold there.
    pub rule: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.rule)
    }
}

/// A provider that keeps to every rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Provider {
    /// What the file says of it.
    pub entry: Entry,
    /// The address that all of its paths begin with.
    pub url: Url,
}

impl Provider {
    /// What the steps of an operation depend on.
    pub fn policy(&self) -> Policy {
        let entry = &self.entry;
        Policy {
            call_timeout: entry.timeouts.request.0,
            lookup: entry.lookup,
            key_lifetime: entry.idempotency_key.lifetime.0,
            poll_interval: entry.polling.interval.0,
            slow_poll_interval: entry.polling.safety_interval.0,
            deletion: entry.deletion_policy,
            deletion_deadline: entry.deletion_deadline.0,
        }
    }
}

/// The providers of a file.
///
/// # Errors
/// All that is wrong with it. Text that is no YAML of this form is one problem, with its line and column.
pub fn parse(text: &str) -> Result<Vec<Provider>, Vec<Problem>> {
    let file: File = if text.trim().is_empty() {
        File::default()
    } else {
        serde_saphyr::from_str(text).map_err(|error| {
            vec![Problem {
                place: "the file".to_owned(),
                rule: error.to_string(),
            }]
        })?
    };
    let mut problems = Vec::new();
    let mut names = HashSet::new();
    let mut providers = Vec::new();
    for (index, entry) in file.providers.into_iter().enumerate() {
        let mut check = Check {
            place: format!("providers[{index}]"),
            problems: &mut problems,
        };
        check.that(
            "name",
            names.insert(entry.name.clone()),
            "names must differ from each other",
        );
        let url = check.entry(&entry);
        providers.extend(url.map(|url| Provider { entry, url }));
    }
    if problems.is_empty() {
        Ok(providers)
    } else {
        Err(problems)
    }
}

struct Check<'p> {
    place: String,
    problems: &'p mut Vec<Problem>,
}

impl Check<'_> {
    fn that(&mut self, field: &str, holds: bool, rule: &str) {
        if !holds {
            self.problems.push(Problem {
                place: format!("{}.{field}", self.place),
                rule: rule.to_owned(),
            });
        }
    }

    fn is_positive(&mut self, field: &str, span: Span) {
        self.that(field, !span.0.is_zero(), "must be above 0s");
    }

    fn entry(&mut self, entry: &Entry) -> Option<Url> {
        self.that(
            "name",
            is_dns_label(&entry.name),
            "must be a DNS label: at most 63 lower-case letters, digits and dashes, the first and the last no dash",
        );
        let url = self.url(&entry.url);
        self.is_positive("timeouts.connect", entry.timeouts.connect);
        self.is_positive("timeouts.request", entry.timeouts.request);
        self.that(
            "limits.concurrency",
            entry.limits.concurrency > 0,
            "must be above 0",
        );
        self.that("limits.burst", entry.limits.burst > 0, "must be above 0");
        let rate = entry.limits.requests_per_second;
        self.that(
            "limits.requestsPerSecond",
            (0.001..=1_000_000.0).contains(&rate),
            "must be from 0.001 to 1000000",
        );
        self.is_positive("retry.maxRetryAfter", entry.retry.max_retry_after);
        self.that(
            "retry.breakerFailures",
            entry.retry.breaker_failures > 0,
            "must be above 0",
        );
        self.is_positive("retry.breakerPause", entry.retry.breaker_pause);
        self.is_positive("polling.interval", entry.polling.interval);
        self.is_positive("polling.safetyInterval", entry.polling.safety_interval);
        self.is_positive("deletionDeadline", entry.deletion_deadline);
        for (field, path) in [
            ("paths.start", &entry.paths.start),
            ("paths.operation", &entry.paths.operation),
        ] {
            self.that(
                field,
                path.starts_with('/') && !path.starts_with("//") && !path.contains(['?', '#']),
                "must begin with one / and have neither ? nor #",
            );
        }
        self.that(
            "paths.operation",
            entry.paths.operation.matches(ID).count() == 1,
            "must hold {id} once",
        );
        url
    }

    fn url(&mut self, text: &str) -> Option<Url> {
        let url = match Url::parse(text) {
            Ok(url) => url,
            Err(error) => {
                self.that("url", false, &format!("must be a URL: {error}"));
                return None;
            }
        };
        let is_safe = url.scheme() == "https" || url.scheme() == "http" && is_of_this_machine(&url);
        self.that(
            "url",
            is_safe,
            "must begin with https://, or with http:// for an address of this machine",
        );
        self.that(
            "url",
            url.query().is_none() && url.fragment().is_none(),
            "must have neither a query nor a fragment",
        );
        self.that(
            "url",
            url.username().is_empty() && url.password().is_none(),
            "must hold no credentials: see auth",
        );
        Some(url)
    }
}

fn is_of_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || address
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn is_dns_label(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !name.is_empty()
        && u32::try_from(name.len()).is_ok_and(|length| length <= rules::PROVIDER_LENGTH_MAX)
        && name.chars().all(inner)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is wrong with a provider that has this beside a name and a URL.
    fn problems(more: &str) -> Vec<String> {
        let text =
            format!("providers:\n  - name: volumes\n    url: https://volumes.example/v1\n{more}");
        match parse(&text) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(Problem::to_string).collect(),
        }
    }

    fn problems_of(name: &str, url: &str) -> Vec<String> {
        let text = format!("providers: [{{name: {name:?}, url: {url:?}}}]");
        match parse(&text) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.iter().map(Problem::to_string).collect(),
        }
    }

    #[test]
    fn a_name_and_a_url_are_enough() {
        let providers =
            parse("providers: [{name: volumes, url: \"https://volumes.example/v1\"}]").unwrap();
        assert_eq!(providers[0].url.as_str(), "https://volumes.example/v1");
        assert_eq!(providers[0].policy(), Policy::default());
        assert_eq!(parse(""), Ok(Vec::new()));
    }

    #[test]
    fn every_field_can_be_given() {
        let all = "
    auth:
      bearerTokenFile: token
      clientCertificate: {certFile: c, keyFile: k}
    caFile: ca
    timeouts: {connect: 1s, request: 1m}
    limits: {concurrency: 1, requestsPerSecond: 0.5, burst: 1}
    retry: {maxRetryAfter: 1h, breakerFailures: 3, breakerPause: 1m}
    polling: {interval: 5s, safetyInterval: 1h}
    idempotencyKey: {quoted: false, lifetime: 1h}
    lookup: false
    paths: {start: /jobs, operation: \"/jobs/{id}\"}
    deletionPolicy: Orphan
    deletionDeadline: 1m
    callbacks: {scheme: HmacSha256, secretFile: secret}
";
        assert_eq!(problems(all), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_its_rule() {
        for (more, expected) in [
            (
                "    limits: {concurrency: 0}",
                "providers[0].limits.concurrency: must be above 0",
            ),
            (
                "    limits: {requestsPerSecond: .nan}",
                "providers[0].limits.requestsPerSecond: must be from 0.001 to 1000000",
            ),
            (
                "    timeouts: {request: 0s}",
                "providers[0].timeouts.request: must be above 0s",
            ),
            (
                "    paths: {start: \"//elsewhere.example\"}",
                "providers[0].paths.start: must begin with one / and have neither ? nor #",
            ),
            (
                "    paths: {operation: /jobs}",
                "providers[0].paths.operation: must hold {id} once",
            ),
            (
                "  - {name: volumes, url: \"https://x.example\"}",
                "providers[1].name: names must differ from each other",
            ),
        ] {
            assert_eq!(problems(more), [expected], "{more}");
        }
    }

    #[test]
    fn a_url_must_be_safe_to_send_credentials_to() {
        for url in [
            "https://volumes.example",
            "http://127.0.0.1:8080",
            "http://[::1]/v1",
            "http://localhost:1",
        ] {
            assert_eq!(problems_of("volumes", url), [""; 0], "{url}");
        }
        for url in [
            "http://volumes.example",
            "ftp://volumes.example",
            "volumes",
            "https://me:secret@volumes.example",
            "https://volumes.example/?a=b",
            "https://volumes.example/#a",
        ] {
            assert_eq!(problems_of("volumes", url).len(), 1, "{url}");
        }
    }

    #[test]
    fn a_name_is_a_dns_label() {
        for name in ["", "Volumes", "a.b", "-a", "a-", &"a".repeat(64)] {
            assert_eq!(problems_of(name, "https://v.example").len(), 1, "{name}");
        }
    }

    #[test]
    fn every_problem_is_told_at_once() {
        let found = problems("    limits: {concurrency: 0, burst: 0}\n    deletionDeadline: 0s");
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn what_is_no_such_file_is_told_with_its_line() {
        for (more, word) in [
            ("    colour: red", "colour"),
            ("    deletionPolicy: Maybe", "Maybe"),
            ("    timeouts: {connect: soon}", "duration"),
            ("    timeouts: {connect: -1s}", "negative"),
        ] {
            let found = problems(more).join("\n");
            assert!(found.contains(word) && found.contains("line 4"), "{found}");
        }
    }
}
