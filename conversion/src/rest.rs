//! The rest: what one version says and the other cannot show, as it rides in an annotation.
//!
//! It is a JSON object. A key that starts with `/` is a JSON Pointer (RFC 6901) into the version that the rest is of, and its value
//! stands there as it is. Any other key is `label:pointer`, and only the part of the conversion that wrote it can read its value.
//! [`UNREAD`] holds entries of another version's rest that a server did not understand and passes on.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::json::{self, Malformed, Scanner};

/// The key of what an older server could not read and passes on.
pub const UNREAD: &str = "unread";

/// The key that marks a rest that was left out because the annotations would have grown too large.
pub const OMITTED: &str = "omitted";

/// Text longer than this many bytes is compressed.
pub const COMPRESS_OVER: usize = 16 * 1024;

/// A compressed rest that would unfold to more than this many bytes is not one of ours.
const UNFOLDED_LIMIT: u64 = 16 * 1024 * 1024;

/// The rest of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rest {
    /// JSON text by key.
    pub entries: BTreeMap<String, String>,
}

/// Why an annotation is no rest.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    /// It is not a string.
    #[error("the annotation is not a string")]
    NotAString,
    /// It is neither JSON nor compressed JSON.
    #[error("neither a JSON object nor one compressed by gzip and base64")]
    NotEncoded,
    /// It is JSON, but no object, or no well-formed one.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl Rest {
    /// Reads the value of an annotation.
    ///
    /// # Errors
    /// When it was not written by [`Rest::to_annotation`].
    pub fn from_annotation(value: &str) -> Result<Self, Broken> {
        if value.starts_with('{') {
            Self::parse(value)
        } else {
            Self::parse(&unfold(value).ok_or(Broken::NotEncoded)?)
        }
    }

    /// Reads the object that `text` is.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, Broken> {
        let mut entries = BTreeMap::new();
        let mut scanner = Scanner::new(text);
        scanner.object(|scanner, key| {
            entries.insert(json::decode(key).into_owned(), scanner.value()?.to_owned());
            Ok::<_, Malformed>(())
        })?;
        scanner.end()?;
        Ok(Self { entries })
    }

    /// The value of an annotation, compressed when the text is longer than [`COMPRESS_OVER`].
    pub fn to_annotation(&self) -> String {
        let text = self.to_json();
        if text.len() <= COMPRESS_OVER {
            text
        } else {
            fold(&text).unwrap_or(text)
        }
    }

    /// This rest as JSON, in the order of the keys.
    pub fn to_json(&self) -> String {
        let entries: Vec<String> = self
            .entries
            .iter()
            .map(|(key, value)| format!("{}:{value}", json::encode(key)))
            .collect();
        format!("{{{}}}", entries.join(","))
    }
}

fn fold(text: &str) -> Option<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).ok()?;
    Some(STANDARD.encode(encoder.finish().ok()?))
}

fn unfold(value: &str) -> Option<String> {
    let packed = STANDARD.decode(value).ok()?;
    let mut text = String::new();
    GzDecoder::new(packed.as_slice())
        .take(UNFOLDED_LIMIT)
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(text: &str) -> Rest {
        Rest::parse(text).unwrap()
    }

    #[test]
    fn a_small_rest_is_readable_json() {
        let rest = rest(r#"{"/spec/b":[1, 2],"/spec/a":"x"}"#);
        assert_eq!(rest.to_annotation(), r#"{"/spec/a":"x","/spec/b":[1, 2]}"#);
        assert_eq!(Rest::from_annotation(&rest.to_annotation()).unwrap(), rest);
    }

    #[test]
    fn a_large_rest_is_compressed() {
        let rest = rest(&format!(r#"{{"/spec/a":"{}"}}"#, "x".repeat(COMPRESS_OVER)));
        assert!(rest.to_annotation().len() < 200);
        assert_eq!(Rest::from_annotation(&rest.to_annotation()).unwrap(), rest);
    }

    #[test]
    fn what_is_no_rest_is_told_apart() {
        for value in [
            "",
            "null",
            "[]",
            "{",
            r#"{"a":1}x"#,
            "H4sI",
            "eA==",
            r#"{"a":}"#,
        ] {
            assert!(Rest::from_annotation(value).is_err(), "{value}");
        }
    }
}
