//! How a callback proves whom it is from. Pure.
//!
//! Secrets and what is computed from them are compared in constant time.

mod secret;
#[cfg(test)]
mod tests;

use base64::{Engine, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use jiff::Timestamp;
use ring::{digest, hmac};
use serde::Deserialize;
use subtle::ConstantTimeEq;

pub use secret::BadSecret;
use secret::Secret;

/// What tells this message from all others, and stays the same when it is sent again (Standard Webhooks).
pub const WEBHOOK_ID: HeaderName = HeaderName::from_static("webhook-id");

/// When it was sent, in seconds since 1970 (Standard Webhooks).
pub const WEBHOOK_TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");

/// Its signatures, separated by spaces, one for each secret that is good (Standard Webhooks).
pub const WEBHOOK_SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// `sha256=` and the HMAC of the body as hexadecimal digits.
pub const X_SIGNATURE: HeaderName = HeaderName::from_static("x-signature");

/// How far the sender's clock may be from ours, in seconds, and so for how long a message can be replayed.
pub const TOLERANCE_SECONDS: i64 = 300;

/// The longest `webhook-id`, in bytes.
const ID_LENGTH_MAX: usize = 256;

/// How a callback is proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub enum Scheme {
    /// By the headers `webhook-id`, `webhook-timestamp` and `webhook-signature`, as <https://www.standardwebhooks.com> has it. A secret is
    /// base64, after `whsec_` or not.
    #[default]
    StandardWebhooks,
    /// By the header `X-Signature`, with the HMAC of the body. Such a message can be replayed, which changes nothing.
    HmacSha256,
    /// By `Authorization: Bearer`, with the secret itself. The content is as good as the connection.
    Bearer,
}

/// What proves the callbacks of a provider: the secret, and while it is replaced the one before.
#[derive(Clone, Debug, PartialEq)]
pub struct Secrets {
    scheme: Scheme,
    secrets: Vec<Secret>,
}

/// A callback is not from whom it should be. Why is nobody's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the callback is not proved")]
pub struct Unproved;

impl Secrets {
    /// The secrets in this text, one a line.
    ///
    /// # Errors
    /// See [`BadSecret`].
    pub fn parse(scheme: Scheme, text: &str) -> Result<Self, BadSecret> {
        let secrets = secret::parse(scheme, text)?;
        Ok(Self { scheme, secrets })
    }

    /// Tells a message that is proved by its headers from all others: gives its id, which is the same whenever it comes again.
    ///
    /// # Errors
    /// When it is not proved by any of the secrets, or, for [`Scheme::StandardWebhooks`], its time is too far from `now`.
    pub fn verify(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<String, Unproved> {
        match self.scheme {
            Scheme::StandardWebhooks => self.verify_webhook(headers, body, now),
            Scheme::HmacSha256 => {
                let given = text(headers, &X_SIGNATURE)?;
                let tag = given.strip_prefix("sha256=").and_then(from_hex);
                let tag = tag.ok_or(Unproved)?;
                self.verify_tags(body, &[tag])?;
                Ok(id_of(body))
            }
            Scheme::Bearer => {
                let given = text(headers, &AUTHORIZATION)?;
                let token = given.strip_prefix("Bearer ").ok_or(Unproved)?;
                let is_it = |secret: &Secret| secret.bytes().ct_eq(token.trim().as_bytes()).into();
                self.any(is_it)?;
                Ok(id_of(body))
            }
        }
    }

    /// The headers that prove a message. `id` and `now` are of use to [`Scheme::StandardWebhooks`] only.
    #[must_use]
    pub fn sign(&self, id: &str, body: &[u8], now: Timestamp) -> HeaderMap {
        let mut headers = HeaderMap::new();
        let mut put = |name, text: String| {
            if let Ok(value) = HeaderValue::try_from(text) {
                headers.insert(name, value);
            }
        };
        match self.scheme {
            Scheme::StandardWebhooks => {
                let seconds = now.as_second().to_string();
                let signed = signed_content(id, &seconds, body);
                let signature = |secret: &Secret| {
                    let tag = hmac::sign(secret.key(), &signed);
                    format!("v1,{}", BASE64_STANDARD.encode(tag))
                };
                let signatures: Vec<_> = self.secrets.iter().map(signature).collect();
                put(WEBHOOK_ID, id.to_owned());
                put(WEBHOOK_TIMESTAMP, seconds);
                put(WEBHOOK_SIGNATURE, signatures.join(" "));
            }
            Scheme::HmacSha256 => {
                let tag = hmac::sign(self.newest().key(), body);
                put(X_SIGNATURE, format!("sha256={}", to_hex(tag.as_ref())));
            }
            Scheme::Bearer => {
                let token = String::from_utf8_lossy(self.newest().bytes());
                put(AUTHORIZATION, format!("Bearer {token}"));
            }
        }
        headers
    }

    fn verify_webhook(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        now: Timestamp,
    ) -> Result<String, Unproved> {
        let id = text(headers, &WEBHOOK_ID)?;
        let seconds = text(headers, &WEBHOOK_TIMESTAMP)?;
        let sent: i64 = seconds.parse().map_err(|_| Unproved)?;
        let age = now.as_second().saturating_sub(sent);
        if id.is_empty() || id.len() > ID_LENGTH_MAX || age.saturating_abs() > TOLERANCE_SECONDS {
            return Err(Unproved);
        }
        // Other versions are signatures of other kinds, for whoever knows them.
        let tags: Vec<_> = text(headers, &WEBHOOK_SIGNATURE)?
            .split(' ')
            .filter_map(|signature| signature.strip_prefix("v1,"))
            .filter_map(|tag| BASE64_STANDARD.decode(tag).ok())
            .collect();
        if tags.is_empty() {
            return Err(Unproved);
        }
        self.verify_tags(&signed_content(id, seconds, body), &tags)?;
        Ok(id.to_owned())
    }

    /// Whether one of these is the tag of the content. However many they are, the content is hashed once for each secret.
    fn verify_tags(&self, content: &[u8], tags: &[Vec<u8>]) -> Result<(), Unproved> {
        self.any(|secret| {
            let ours = hmac::sign(secret.key(), content);
            tags.iter().any(|tag| ours.as_ref().ct_eq(tag).into())
        })
    }

    fn any(&self, is_it: impl Fn(&Secret) -> bool) -> Result<(), Unproved> {
        if self.secrets.iter().any(is_it) {
            Ok(())
        } else {
            Err(Unproved)
        }
    }

    /// The secret to sign with where a message has room for one signature.
    fn newest(&self) -> &Secret {
        // There is one: a text without is refused.
        &self.secrets[0]
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<&'h str, Unproved> {
    let value = headers.get(name).ok_or(Unproved)?;
    value.to_str().map_err(|_| Unproved)
}

fn signed_content(id: &str, seconds: &str, body: &[u8]) -> Vec<u8> {
    [id.as_bytes(), seconds.as_bytes(), body].join(&b'.')
}

/// The id of a message that brings none: the same for the same body.
fn id_of(body: &[u8]) -> String {
    let hash = digest::digest(&digest::SHA256, body);
    format!("sha256:{}", to_hex(hash.as_ref()))
}

fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<_>> = text.chars().map(|digit| digit.to_digit(16)).collect();
    digits?
        .chunks(2)
        .map(|pair| match pair {
            [high, low] => u8::try_from(high * 16 + low).ok(),
            _ => None,
        })
        .collect()
}
