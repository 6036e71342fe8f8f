//! One validating pass over JSON text (RFC 8259) that copies nothing.
//!
//! A value that nobody asked to open is skipped and given back as the exact text that stood there, so that carrying it costs one
//! look at each byte. The rules are the API server's own where RFC 8259 leaves room: numbers must fit a finite double and nesting
//! stops at [`MAX_DEPTH`], since `encoding/json` would refuse to read either back.

use super::Key;
use super::skip::{self, Stopped};

/// How deep values may nest: the limit of Go's `encoding/json`, which reads what is written here.
pub const MAX_DEPTH: usize = 10_000;

/// Text that is not JSON: where, and what should have stood there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed JSON at byte {offset}: expected {expected}")]
pub struct Malformed {
    /// The offset in bytes from the start of the text.
    pub offset: usize,
    /// What the grammar asks for at this place.
    pub expected: &'static str,
}

/// A position in JSON text.
#[derive(Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// How many levels of nesting are still allowed.
    depth: usize,
    /// Room for the containers around what a skip reads.
    outer: Vec<u8>,
}

impl<'a> Scanner<'a> {
    /// A scanner at the start of `text`.
    pub fn new(text: &'a str) -> Self {
        Self::with_depth(text, MAX_DEPTH)
    }

    /// A scanner for text that will be put below other levels, so that only `depth` are left for it.
    pub fn with_depth(text: &'a str, depth: usize) -> Self {
        Self {
            text,
            at: 0,
            depth,
            outer: Vec::new(),
        }
    }

    /// The first byte of the next value, or 0 at the end of the text.
    pub fn peek(&mut self) -> u8 {
        self.at = skip::space(self.text.as_bytes(), self.at);
        skip::byte(self.text.as_bytes(), self.at)
    }

    /// The next value's exact text, without the white space around it.
    ///
    /// # Errors
    /// When no well-formed value stands here.
    pub fn value(&mut self) -> Result<&'a str, Malformed> {
        let bytes = self.text.as_bytes();
        let start = skip::space(bytes, self.at);
        match skip::value(bytes, start, self.depth, &mut self.outer) {
            Ok(end) => {
                self.at = end;
                Ok(&self.text[start..end])
            }
            Err(stopped) => {
                self.outer.clear();
                Err(malformed(stopped))
            }
        }
    }

    /// What `read`, which must read exactly one value, gives for the value that stands here, and that value's exact text.
    ///
    /// # Errors
    /// The error of `read`.
    pub fn with_text<T, E>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<(T, &'a str), E> {
        self.peek();
        let start = self.at;
        let given = read(self)?;
        Ok((given, &self.text[start..self.at]))
    }

    /// Calls `member` with each key of the object that stands here; `member` must read exactly the value.
    ///
    /// # Errors
    /// When no well-formed object stands here, or the first error of `member`.
    pub fn object<E: From<Malformed>>(
        &mut self,
        mut member: impl FnMut(&mut Self, Key<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.enter(b'{', "an object")?;
        if self.peek() == b'}' {
            self.at += 1;
        } else {
            loop {
                let key = self.key()?;
                member(self, key)?;
                if !self.comma_or(b'}', "',' or '}'")? {
                    break;
                }
            }
        }
        self.depth += 1;
        Ok(())
    }

    /// Calls `item` for each item of the array that stands here; `item` must read exactly the value.
    ///
    /// # Errors
    /// When no well-formed array stands here, or the first error of `item`.
    pub fn array<E: From<Malformed>>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), E>,
    ) -> Result<(), E> {
        self.enter(b'[', "an array")?;
        if self.peek() == b']' {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                if !self.comma_or(b']', "',' or ']'")? {
                    break;
                }
            }
        }
        self.depth += 1;
        Ok(())
    }

    /// Checks that nothing but white space follows.
    ///
    /// # Errors
    /// When something does.
    pub fn end(&mut self) -> Result<(), Malformed> {
        match self.peek() {
            0 if self.at == self.text.len() => Ok(()),
            _ => Err(self.malformed("the end of the text")),
        }
    }

    /// What was expected where the scanner stands.
    #[cold]
    fn malformed(&self, expected: &'static str) -> Malformed {
        malformed((self.at, expected))
    }

    fn enter(&mut self, open: u8, expected: &'static str) -> Result<(), Malformed> {
        if self.peek() != open {
            return Err(self.malformed(expected));
        }
        self.at += 1;
        match self.depth.checked_sub(1) {
            Some(left) => {
                self.depth = left;
                Ok(())
            }
            None => Err(self.malformed("fewer levels of nesting")),
        }
    }

    /// True for a comma, false for `close`.
    fn comma_or(&mut self, close: u8, expected: &'static str) -> Result<bool, Malformed> {
        let byte = self.peek();
        if byte != b',' && byte != close {
            return Err(self.malformed(expected));
        }
        self.at += 1;
        Ok(byte == b',')
    }

    fn key(&mut self) -> Result<Key<'a>, Malformed> {
        self.peek();
        let start = self.at + 1;
        let (string, after) = skip::key(self.text.as_bytes(), self.at).map_err(malformed)?;
        self.at = after;
        Ok(Key::read(&self.text[start..string.end - 1], string.escaped))
    }
}

#[cold]
fn malformed((offset, expected): Stopped) -> Malformed {
    Malformed { offset, expected }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(text: &str) -> Result<&str, Malformed> {
        let mut scanner = Scanner::new(text);
        let value = scanner.value()?;
        scanner.end()?;
        Ok(value)
    }

    #[test]
    fn a_value_is_given_back_as_it_stands() {
        for text in [
            "null",
            "true",
            "-0.5e+3",
            r#""a\u00e9\"b""#,
            r#"{"a": [1, {}], "b" :[] }"#,
            "[ ]",
        ] {
            assert_eq!(scan(&format!("  {text}\n")).unwrap(), text);
        }
    }

    #[test]
    fn what_is_no_json_is_refused_with_its_place() {
        for (text, offset) in [
            ("", 0),
            ("nul", 0),
            ("01", 1),
            ("1.", 2),
            ("1e999", 0),
            ("-", 1),
            (r#""a"#, 2),
            ("\"a\nb\"", 2),
            (r#""\x""#, 2),
            (r#""\u12g4""#, 5),
            ("[1,]", 3),
            ("[1", 2),
            (r#"{"a"}"#, 4),
            (r#"{"a":1,}"#, 7),
            ("{a:1}", 1),
            ("[}", 1),
            ("1 2", 2),
        ] {
            assert_eq!(scan(text).map_err(|e| e.offset), Err(offset), "{text}");
        }
    }

    #[test]
    fn nesting_ends_at_the_limit_of_the_reader() {
        let nested = |n: usize| "[".repeat(n) + &"]".repeat(n);
        assert!(scan(&nested(MAX_DEPTH)).is_ok());
        assert!(scan(&nested(MAX_DEPTH + 1)).is_err());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn it_agrees_with_serde_json_on_any_text(text in r#"[\[\]{},:"\\eEu0-9.\-+ truefalsn\x01-\x21é]{0,24}"#) {
            prop_assert_eq!(scan(&text).is_ok(), serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{}", text);
        }
    }
}
