//! A secret, and the text that it is kept in.

use std::fmt;

use base64::{Engine, prelude::BASE64_STANDARD};
use ring::hmac;
use subtle::ConstantTimeEq;

use super::Scheme;

/// The shortest secret, in bytes: 128 bits.
const LENGTH_MIN: usize = 16;

/// How many secrets may be good at the same time.
const COUNT_MAX: usize = 2;

/// Why a text holds no secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadSecret {
    /// There is none in it.
    #[error("it holds no secret")]
    None,
    /// There are too many.
    #[error("it holds more than {COUNT_MAX} secrets, which are one a line")]
    TooMany,
    /// It is not base64, as Standard Webhooks has it.
    #[error("line {line}: a secret of Standard Webhooks is base64, after whsec_ or not")]
    NotBase64 {
        /// The line.
        line: usize,
    },
    /// It could be guessed.
    #[error("line {line}: a secret has at least {LENGTH_MIN} bytes")]
    TooShort {
        /// The line.
        line: usize,
    },
}

/// A secret.
#[derive(Clone)]
pub(super) struct Secret {
    bytes: Vec<u8>,
    key: hmac::Key,
}

impl Secret {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn key(&self) -> &hmac::Key {
        &self.key
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.bytes.ct_eq(&other.bytes).into()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The secrets in `text`, one a line.
pub(super) fn parse(scheme: Scheme, text: &str) -> Result<Vec<Secret>, BadSecret> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let secrets: Vec<_> = lines
        .filter(|(_, text)| !text.is_empty())
        .map(|(line, text)| secret(scheme, line, text))
        .collect::<Result<_, _>>()?;
    match secrets.len() {
        0 => Err(BadSecret::None),
        1..=COUNT_MAX => Ok(secrets),
        _ => Err(BadSecret::TooMany),
    }
}

fn secret(scheme: Scheme, line: usize, text: &str) -> Result<Secret, BadSecret> {
    let bytes = match scheme {
        Scheme::StandardWebhooks => {
            let encoded = text.strip_prefix("whsec_").unwrap_or(text);
            let decoded = BASE64_STANDARD.decode(encoded);
            decoded.map_err(|_| BadSecret::NotBase64 { line })?
        }
        Scheme::HmacSha256 | Scheme::Bearer => text.as_bytes().to_vec(),
    };
    if bytes.len() < LENGTH_MIN {
        return Err(BadSecret::TooShort { line });
    }
    let key = hmac::Key::new(hmac::HMAC_SHA256, &bytes);
    Ok(Secret { bytes, key })
}
