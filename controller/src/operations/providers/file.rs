//! The file of providers: its fields, and what each is when it is not given.
//!
//! ```yaml
//! providers:
//!   - name: volumes
//!     url: https://volumes.example.com/v1
//!     auth:
//!       bearerTokenFile: /etc/task-providers/volumes/token
//!     deletionPolicy: Wait
//! ```

use std::{path::PathBuf, time::Duration};

use operation_signals::signature::Scheme;
use serde::Deserialize;
use task_api_v1::duration;

use crate::operations::situation::DeletionPolicy;

/// The file.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct File {
    /// The providers.
    #[serde(default)]
    pub providers: Vec<Entry>,
}

/// A provider, as the file has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Entry {
    /// The name by which Tasks refer to it: a DNS label.
    pub name: String,
    /// The address that all of its paths begin with. Plain `http` is for addresses of this machine only.
    pub url: String,
    /// How the operator proves who it is.
    #[serde(default)]
    pub auth: Auth,
    /// Whom to trust, as PEM, instead of the authorities that the system trusts.
    #[serde(default)]
    pub ca_file: Option<PathBuf>,
    /// How long a call may take.
    #[serde(default)]
    pub timeouts: Timeouts,
    /// How much the provider is asked.
    #[serde(default)]
    pub limits: Limits,
    /// What follows when calls fail.
    #[serde(default)]
    pub retry: Retry,
    /// How often the provider is asked how an operation stands.
    #[serde(default)]
    pub polling: PollingRules,
    /// How the provider takes idempotency keys.
    #[serde(default)]
    pub idempotency_key: IdempotencyKey,
    /// Whether the provider can be asked about an operation by its `Operation-Id`.
    #[serde(default = "yes")]
    pub lookup: bool,
    /// Where the calls go to.
    #[serde(default)]
    pub paths: Paths,
    /// What becomes of an operation that runs when its Task is deleted.
    #[serde(default)]
    pub deletion_policy: DeletionPolicy,
    /// For how long a deletion is held up for it at most. Defaults to 10m.
    #[serde(default = "deletion_deadline")]
    pub deletion_deadline: Span,
    /// How its callbacks are proved. Without it none is taken.
    #[serde(default)]
    pub callbacks: Option<Callbacks>,
}

/// How callbacks of a provider are proved.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Callbacks {
    /// By what. Defaults to StandardWebhooks.
    #[serde(default)]
    pub scheme: Scheme,
    /// A file with the secret, and, while it is replaced, the one before, each in a line of its own. A change is noticed within seconds.
    pub secret_file: PathBuf,
}

/// How the operator proves who it is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Auth {
    /// A file with a token, which is read for each call.
    #[serde(default)]
    pub bearer_token_file: Option<PathBuf>,
    /// A certificate with its key.
    #[serde(default)]
    pub client_certificate: Option<ClientCertificate>,
}

/// A certificate with its key, both as PEM.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClientCertificate {
    /// The certificate, and those between it and the authority.
    pub cert_file: PathBuf,
    /// The key.
    pub key_file: PathBuf,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Timeouts {
    /// To connect. Defaults to 5s.
    pub connect: Span,
    /// In all. Defaults to 10s.
    pub request: Span,
}

/// How much the provider is asked.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Limits {
    /// How many calls are made at the same time. Defaults to 10.
    pub concurrency: u32,
    /// How many calls are made in a second, on average. Defaults to 10.
    pub requests_per_second: f64,
    /// How many calls are made at once after a pause. Defaults to 20.
    pub burst: u32,
}

/// What follows when calls fail.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Retry {
    /// The longest wait that the provider may ask for by `Retry-After`. Defaults to 10m.
    pub max_retry_after: Span,
    /// After so many calls in a row that failed none is made for a while. Defaults to 5.
    pub breaker_failures: u32,
    /// For how long at first; doubled each time that the next call fails too, up to ten times that. Defaults to 30s.
    pub breaker_pause: Span,
}

/// How often the provider is asked how an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct PollingRules {
    /// The interval where the provider says none and fares well. Defaults to 30s.
    pub interval: Span,
    /// The interval beneath callbacks and messages. Defaults to 5m.
    pub safety_interval: Span,
}

/// How the provider takes idempotency keys.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct IdempotencyKey {
    /// Whether the key stands in quotes, as the draft of the header has it. Defaults to true.
    pub quoted: bool,
    /// For how long a key is known. Defaults to 24h.
    pub lifetime: Span,
}

/// Where the calls go to, after the provider's URL.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Paths {
    /// Starts an operation. Defaults to `/operations`.
    pub start: String,
    /// One operation; `{id}` stands for its id. Defaults to `/operations/{id}`.
    pub operation: String,
}

/// A duration as the API of Task writes it, such as `90s` or `1h30m`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Span(pub Duration);

impl TryFrom<String> for Span {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let nanoseconds = duration::parse(&text).map_err(|error| error.to_string())?;
        u64::try_from(nanoseconds)
            .map(|nanoseconds| Self(Duration::from_nanos(nanoseconds)))
            .map_err(|_| "a duration must not be negative".to_owned())
    }
}

const fn seconds(count: u64) -> Span {
    Span(Duration::from_secs(count))
}

const fn yes() -> bool {
    true
}

const fn deletion_deadline() -> Span {
    seconds(600)
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: seconds(5),
            request: seconds(10),
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            concurrency: 10,
            requests_per_second: 10.0,
            burst: 20,
        }
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            max_retry_after: seconds(600),
            breaker_failures: 5,
            breaker_pause: seconds(30),
        }
    }
}

impl Default for PollingRules {
    fn default() -> Self {
        Self {
            interval: seconds(30),
            safety_interval: seconds(300),
        }
    }
}

impl Default for IdempotencyKey {
    fn default() -> Self {
        Self {
            quoted: true,
            lifetime: seconds(24 * 3600),
        }
    }
}

impl Default for Paths {
    fn default() -> Self {
        Self {
            start: "/operations".to_owned(),
            operation: "/operations/{id}".to_owned(),
        }
    }
}
