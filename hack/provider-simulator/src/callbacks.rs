//! Callbacks: telling the operator how operations stand.

use std::time::Duration;

use jiff::Timestamp;
use operation_signals::signature::Secrets;
use reqwest::{
    Certificate, Client,
    header::{CONTENT_TYPE, HeaderMap, HeaderValue},
};

/// How often a callback is sent that is not taken.
const TRIES: u32 = 240;

/// The pause before it is sent again.
const PAUSE: Duration = Duration::from_millis(500);

/// Why there is nobody to call back.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a client for callbacks")]
pub struct Error(#[from] reqwest::Error);

/// Who calls back: it trusts one authority, and proves itself by these secrets.
#[derive(Clone, Debug)]
pub struct Caller {
    client: Client,
    secrets: Secrets,
}

impl Caller {
    /// A caller that trusts the authority of this certificate (PEM).
    ///
    /// # Errors
    /// When it is no certificate.
    pub fn new(secrets: Secrets, authority: &str) -> Result<Self, Error> {
        // The client takes the provider of cryptography that the process has; whoever says so first is heard.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let authority = Certificate::from_pem(authority.as_bytes())?;
        let client = Client::builder()
            .tls_certs_only([authority])
            .timeout(Duration::from_secs(10))
            .build()?;
        Ok(Self { client, secrets })
    }

    /// The headers that prove a message with this id and body, sent at `at`.
    #[must_use]
    pub fn proof(&self, id: &str, body: &[u8], at: Timestamp) -> HeaderMap {
        self.secrets.sign(id, body, at)
    }

    /// Sends a message once, and gives the answer's code.
    ///
    /// # Errors
    /// When there is no answer.
    pub async fn send(&self, url: &str, proof: HeaderMap, body: Vec<u8>) -> reqwest::Result<u16> {
        let request = self
            .client
            .post(url)
            .headers(proof)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(request.body(body).send().await?.status().as_u16())
    }

    /// Sends a message until it is taken.
    pub(crate) async fn deliver(&self, url: &str, id: &str, body: &[u8]) {
        for _ in 0..TRIES {
            let proof = self.proof(id, body, Timestamp::now());
            if let Ok(200..=299) = self.send(url, proof, body.to_vec()).await {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}
