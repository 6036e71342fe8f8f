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

/// Text longer than this many bytes is no rest: etcd takes no object of this size.
pub const LIMIT: usize = 1536 * 1024;

/// What an entry has besides its key and its value.
const ENTRY: &str = r#""":,"#;

/// How deep a value in a rest may nest: it comes to stand below a few levels of its object, and the object below a few of a review,
/// all of which count for the API server.
const DEPTH: usize = json::MAX_DEPTH - 10;

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
    /// It unfolds to more than [`LIMIT`], or to more than all rests together may.
    #[error("it unfolds to more than {0} bytes")]
    TooLarge(u64),
    /// It is JSON, but no object, or no well-formed one.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}

impl Rest {
    /// Reads the value of an annotation. What a compressed one unfolds to is taken off `may_unfold`.
    ///
    /// # Errors
    /// When it is no JSON object, neither plain nor compressed, or a larger one than is ever written.
    pub fn from_annotation(value: &str, may_unfold: &mut u64) -> Result<Self, Broken> {
        if value.starts_with('{') {
            return Self::parse(value);
        }
        let limit = (*may_unfold).min(LIMIT as u64);
        let text = unfold(value, limit)?;
        *may_unfold -= text.len() as u64;
        Self::parse(&text)
    }

    /// Reads the object that `text` is.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, Broken> {
        let mut entries = BTreeMap::new();
        let mut scanner = Scanner::with_depth(text, DEPTH);
        scanner.object(|scanner, key| {
            entries.insert(key.name().into_owned(), scanner.value()?.to_owned());
            Ok::<_, Malformed>(())
        })?;
        scanner.end()?;
        Ok(Self { entries })
    }

    /// The value of an annotation, compressed when the text is longer than [`COMPRESS_OVER`]; `None` when it is longer than
    /// [`LIMIT`] and would not be read again.
    pub fn to_annotation(&self) -> Option<String> {
        let text = self.to_json();
        if text.len() <= COMPRESS_OVER {
            Some(text)
        } else if text.len() <= LIMIT {
            fold(&text)
        } else {
            None
        }
    }

    /// This rest as JSON, in the order of the keys.
    pub fn to_json(&self) -> String {
        let length = |(key, value): (&String, &String)| key.len() + value.len() + ENTRY.len();
        let mut out = String::with_capacity(self.entries.iter().map(length).sum::<usize>() + 1);
        out.push('{');
        for (key, value) in &self.entries {
            if out.len() > 1 {
                out.push(',');
            }
            json::encode_into(&mut out, key);
            out.push(':');
            out.push_str(value);
        }
        out.push('}');
        out
    }
}

fn fold(text: &str) -> Option<String> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).ok()?;
    Some(STANDARD.encode(encoder.finish().ok()?))
}

fn unfold(value: &str, limit: u64) -> Result<String, Broken> {
    let packed = STANDARD.decode(value).map_err(|_| Broken::NotEncoded)?;
    let mut text = String::new();
    GzDecoder::new(packed.as_slice())
        .take(limit + 1)
        .read_to_string(&mut text)
        .map_err(|_| Broken::NotEncoded)?;
    if text.len() as u64 > limit {
        return Err(Broken::TooLarge(limit));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rest(text: &str) -> Rest {
        Rest::parse(text).unwrap()
    }

    fn read(value: &str) -> Result<Rest, Broken> {
        Rest::from_annotation(value, &mut u64::MAX.clone())
    }

    #[test]
    fn a_small_rest_is_readable_json() {
        let rest = rest(r#"{"/spec/b":[1, 2],"/spec/a":"x"}"#);
        assert_eq!(
            rest.to_annotation().as_deref(),
            Some(r#"{"/spec/a":"x","/spec/b":[1, 2]}"#)
        );
        assert_eq!(read(&rest.to_annotation().unwrap()).unwrap(), rest);
    }

    #[test]
    fn a_large_rest_is_compressed() {
        let rest = rest(&format!(r#"{{"/spec/a":"{}"}}"#, "x".repeat(COMPRESS_OVER)));
        assert!(rest.to_annotation().unwrap().len() < 200);
        assert_eq!(read(&rest.to_annotation().unwrap()).unwrap(), rest);
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
            assert!(read(value).is_err(), "{value}");
        }
    }

    #[test]
    fn no_more_is_unfolded_than_was_ever_folded_or_is_still_allowed() {
        let bomb = fold(&format!(r#"{{"/a":"{}"}}"#, "x".repeat(LIMIT))).unwrap();
        assert!(matches!(read(&bomb), Err(Broken::TooLarge(_))));

        let value = rest(&format!(r#"{{"/spec/a":"{}"}}"#, "x".repeat(COMPRESS_OVER)))
            .to_annotation()
            .unwrap();
        let mut may_unfold = COMPRESS_OVER as u64 + 1000;
        assert!(Rest::from_annotation(&value, &mut may_unfold).is_ok());
        assert!(matches!(
            Rest::from_annotation(&value, &mut may_unfold),
            Err(Broken::TooLarge(_))
        ));
    }
}
