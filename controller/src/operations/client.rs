//! The connection to one provider.

use std::{io, path::PathBuf, sync::Arc};

use jiff::Timestamp;
use operation_signals::signature::{BadSecret, Secrets};
use reqwest::{
    Certificate, Client, Identity, Method, Response,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER},
    redirect,
};

use super::{
    answer::{Answer, Failure},
    decide::Call,
    gate::{Gate, Outcome, Permit},
    key::Key,
    providers::{file::Entry, validate::Provider},
    wire::{Asked, Reply},
};

/// The longest body of an answer that is read, in bytes.
const BODY_LENGTH_MAX: usize = 1024 * 1024;

/// Carries the idempotency key.
const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// Carries the name under which the provider can be asked about the operation.
const OPERATION_ID: &str = "operation-id";

/// Where the provider is to be asked about the operation.
const OPERATION_LOCATION: &str = "operation-location";

/// Why there can be no connection to a provider.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file that the configuration names cannot be read.
    #[error("{field}: cannot read {}: {source}", path.display())]
    Read {
        /// The field of the configuration.
        field: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that the configuration names holds no certificate, or no key.
    #[error("{field}: {source}")]
    Certificate {
        /// The field of the configuration.
        field: &'static str,
        /// What is wrong.
        source: reqwest::Error,
    },
    /// A file that the configuration names holds no secret that callbacks could be proved by.
    #[error("callbacks.secretFile: {source}")]
    Secret {
        /// What is wrong.
        source: BadSecret,
    },
    /// The client cannot be made.
    #[error("{0}")]
    Client(#[source] reqwest::Error),
}

/// All that the configuration says of a provider, and the content of the files that it names.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The provider.
    pub provider: Provider,
    ca: Option<Vec<u8>>,
    identity: Option<Vec<u8>>,
    secrets: Option<Secrets>,
}

impl Settings {
    /// Reads the files.
    ///
    /// # Errors
    /// [`Error::Read`] and [`Error::Secret`].
    pub fn read(provider: Provider) -> Result<Self, Error> {
        let read = |field, path: &PathBuf| {
            std::fs::read(path).map_err(|source| Error::Read {
                field,
                path: path.clone(),
                source,
            })
        };
        let entry = &provider.entry;
        let ca = entry
            .ca_file
            .as_ref()
            .map(|path| read("caFile", path))
            .transpose()?;
        let identity = match &entry.auth.client_certificate {
            None => None,
            Some(files) => {
                let mut pem = read("auth.clientCertificate.certFile", &files.cert_file)?;
                pem.push(b'\n');
                pem.extend(read("auth.clientCertificate.keyFile", &files.key_file)?);
                Some(pem)
            }
        };
        let secrets = match &entry.callbacks {
            None => None,
            Some(callbacks) => {
                let text = read("callbacks.secretFile", &callbacks.secret_file)?;
                let text = String::from_utf8_lossy(&text);
                let secrets = Secrets::parse(callbacks.scheme, &text);
                Some(secrets.map_err(|source| Error::Secret { source })?)
            }
        };
        Ok(Self {
            provider,
            ca,
            identity,
            secrets,
        })
    }

    /// What proves the provider's callbacks; `None`: none is taken.
    #[must_use]
    pub fn callbacks(&self) -> Option<&Secrets> {
        self.secrets.as_ref()
    }
}

/// The connection to one provider.
#[derive(Debug)]
pub struct Connection {
    /// What it was made from.
    pub settings: Settings,
    /// The gate that its calls pass.
    pub gate: Arc<Gate>,
    client: Client,
}

impl Connection {
    /// Makes the connection; nothing is sent. It keeps the gate of the connection `before` it where the rules of that are the same: what
    /// has been found out of the provider does not depend on how one proves who one is.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn new(settings: Settings, before: Option<&Self>) -> Result<Self, Error> {
        // The client takes the provider of cryptography that the process has; whoever says so first is heard.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let entry = &settings.provider.entry;
        let certificate = |field| move |source| Error::Certificate { field, source };
        let mut builder = Client::builder()
            .user_agent(concat!("task-controller/", env!("CARGO_PKG_VERSION")))
            // Who is redirected would take the credentials along.
            .redirect(redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .connect_timeout(entry.timeouts.connect.0)
            .timeout(entry.timeouts.request.0);
        if let Some(pem) = &settings.ca {
            let authorities = Certificate::from_pem_bundle(pem).map_err(certificate("caFile"))?;
            builder = builder.tls_certs_only(authorities);
        }
        if let Some(pem) = &settings.identity {
            let identity =
                Identity::from_pem(pem).map_err(certificate("auth.clientCertificate"))?;
            builder = builder.identity(identity);
        }
        let rules = |entry: &Entry| (entry.limits, entry.retry);
        let before = before.filter(|before| rules(&before.provider().entry) == rules(entry));
        let gate = match before {
            Some(before) => Arc::clone(&before.gate),
            None => Arc::new(Gate::new(entry.limits, entry.retry)),
        };
        Ok(Self {
            gate,
            client: builder.build().map_err(Error::Client)?,
            settings,
        })
    }

    /// Makes the call that starts an operation.
    pub async fn start(&self, permit: Permit, key: &Key, body: &[u8]) -> Answer {
        let quotes = if self.provider().entry.idempotency_key.quoted {
            "\""
        } else {
            ""
        };
        let request = self
            .client
            .post(self.provider().start_url())
            .header(CONTENT_TYPE, "application/json")
            .header(IDEMPOTENCY_KEY, format!("{quotes}{key}{quotes}"))
            .header(OPERATION_ID, key.as_str())
            .body(body.to_vec());
        self.call(permit, Asked::Start, request).await
    }

    /// Makes a call about an operation that goes by this name.
    pub async fn ask(&self, permit: Permit, call: Call, name: &str) -> Answer {
        let method = match call {
            Call::LookUp | Call::Poll => Method::GET,
            Call::Cancel => Method::DELETE,
        };
        let request = self
            .client
            .request(method, self.provider().operation_url(name));
        self.call(permit, Asked::About(call), request).await
    }

    fn provider(&self) -> &Provider {
        &self.settings.provider
    }

    async fn call(&self, permit: Permit, asked: Asked, request: reqwest::RequestBuilder) -> Answer {
        let answered = self.authorized(request).await;
        let (answer, outcome) = match answered {
            Ok(response) => self.read(asked, response).await,
            Err(Unsent::Credentials(failure)) => {
                let answer = Answer::Failed {
                    failure,
                    retry_after: None,
                    without_effect: true,
                };
                // The provider has no part in this.
                drop(permit);
                return answer;
            }
            Err(Unsent::Request(error)) => (unanswered(&error), Outcome::Failed),
        };
        permit.end(outcome);
        answer
    }

    /// Sends a request with the credentials, and once more if they were refused and have been replaced since.
    async fn authorized(&self, request: reqwest::RequestBuilder) -> Result<Response, Unsent> {
        let again = request.try_clone();
        let token = self.token().await?;
        let response = with_token(request, token.as_ref()).send().await?;
        if !matches!(response.status().as_u16(), 401 | 403) {
            return Ok(response);
        }
        let newest = self.token().await?;
        match again {
            Some(again) if newest != token => Ok(with_token(again, newest.as_ref()).send().await?),
            _ => Ok(response),
        }
    }

    async fn token(&self) -> Result<Option<HeaderValue>, Unsent> {
        let Some(path) = &self.provider().entry.auth.bearer_token_file else {
            return Ok(None);
        };
        let refuse = |why: String| {
            let message = format!("auth.bearerTokenFile: {}: {why}", path.display());
            Unsent::Credentials(Failure::new("NoCredentials", message))
        };
        let text = tokio::fs::read_to_string(path)
            .await
            .map_err(|error| refuse(error.to_string()))?;
        let mut value = HeaderValue::from_str(&format!("Bearer {}", text.trim()))
            .map_err(|_| refuse("it holds no token".to_owned()))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }

    async fn read(&self, asked: Asked, mut response: Response) -> (Answer, Outcome) {
        let code = response.status().as_u16();
        let outcome = if code >= 500 {
            Outcome::Failed
        } else {
            Outcome::Answered
        };
        let mut body = Vec::new();
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if body.len() + chunk.len() <= BODY_LENGTH_MAX => {
                    body.extend_from_slice(&chunk)
                }
                // What is too long cannot be read, and may have had its effect.
                Ok(Some(_)) => {
                    body.clear();
                    break;
                }
                Ok(None) => break,
                Err(error) => return (unanswered(&error), Outcome::Failed),
            }
        }
        let header = |name: &str| {
            response
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
        };
        let reply = Reply {
            code,
            retry_after: header(RETRY_AFTER.as_str()),
            location: header(OPERATION_LOCATION),
            body: &body,
        };
        let answer = self.provider().answer(asked, reply, Timestamp::now());
        (answer, outcome)
    }
}

/// Why a request led to no response.
enum Unsent {
    /// There are no credentials.
    Credentials(Failure),
    /// It failed.
    Request(reqwest::Error),
}

impl From<reqwest::Error> for Unsent {
    fn from(error: reqwest::Error) -> Self {
        Self::Request(error)
    }
}

fn with_token(
    request: reqwest::RequestBuilder,
    token: Option<&HeaderValue>,
) -> reqwest::RequestBuilder {
    match token {
        Some(token) => request.header(AUTHORIZATION, token.clone()),
        None => request,
    }
}

/// What a request without a response means. Where there was no connection, nothing can have come of it.
fn unanswered(error: &reqwest::Error) -> Answer {
    let code = if error.is_connect() {
        "NoConnection"
    } else if error.is_timeout() {
        "NoAnswer"
    } else {
        "BrokenAnswer"
    };
    Answer::Failed {
        failure: Failure::new(code, causes(error)),
        retry_after: None,
        without_effect: error.is_connect(),
    }
}

/// What went wrong, down to the first cause. The URL is the administrator's business, not that of who reads the Task.
fn causes(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    if error.is_timeout() {
        "the provider did not answer in time".to_owned()
    } else {
        cause.to_string()
    }
}
