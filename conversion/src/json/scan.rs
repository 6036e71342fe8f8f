//! One validating pass over JSON text (RFC 8259) that copies nothing.
//!
//! A value that nobody asked to open is skipped and given back as the exact text that stood there, so that carrying it costs one
//! look at each byte. The rules are the API server's own where RFC 8259 leaves room: numbers must fit a finite double and nesting
//! stops at [`MAX_DEPTH`], since `encoding/json` would refuse to read either back.

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

/// What the grammar asks for where the scanner stands. It stands there as long as nobody reads on, so this is all that goes from hand
/// to hand below.
type Expected = &'static str;

/// A position in JSON text.
#[derive(Debug)]
pub struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// How many levels of nesting are still allowed.
    depth: usize,
    /// The containers that a skip is inside of: true for an object.
    inside: Vec<bool>,
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
            inside: Vec::new(),
        }
    }

    /// The first byte of the next value, or 0 at the end of the text.
    pub fn peek(&mut self) -> u8 {
        self.skip_space();
        self.byte()
    }

    /// The next value's exact text, without the white space around it.
    ///
    /// # Errors
    /// When no well-formed value stands here.
    pub fn value(&mut self) -> Result<&'a str, Malformed> {
        self.skip_space();
        let start = self.at;
        match self.skip_value() {
            Ok(()) => Ok(&self.text[start..self.at]),
            Err(expected) => Err(self.malformed(expected)),
        }
    }

    /// Calls `member` with each key (its text between the quotes, escapes as written) of the object that stands here; `member`
    /// must read exactly the value.
    ///
    /// # Errors
    /// When no well-formed object stands here, or the first error of `member`.
    pub fn object<E: From<Malformed>>(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str) -> Result<(), E>,
    ) -> Result<(), E> {
        self.enter(b'{', "an object")
            .map_err(|expected| self.malformed(expected))?;
        if self.peek() == b'}' {
            self.at += 1;
        } else {
            loop {
                let key = self.key().map_err(|expected| self.malformed(expected))?;
                member(self, key)?;
                let more = self.comma_or(b'}', "',' or '}'");
                if !more.map_err(|expected| self.malformed(expected))? {
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
        self.enter(b'[', "an array")
            .map_err(|expected| self.malformed(expected))?;
        if self.peek() == b']' {
            self.at += 1;
        } else {
            loop {
                item(self)?;
                let more = self.comma_or(b']', "',' or ']'");
                if !more.map_err(|expected| self.malformed(expected))? {
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

    fn byte(&self) -> u8 {
        self.text.as_bytes().get(self.at).copied().unwrap_or(0)
    }

    /// What was expected where the scanner stands.
    #[cold]
    fn malformed(&self, expected: Expected) -> Malformed {
        Malformed {
            offset: self.at,
            expected,
        }
    }

    fn skip_space(&mut self) {
        // What the API server sends has none.
        while self.byte() <= b' ' && matches!(self.byte(), b' ' | b'\n' | b'\r' | b'\t') {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Expected> {
        if self.peek() != byte {
            return Err(expected);
        }
        self.at += 1;
        Ok(())
    }

    fn enter(&mut self, open: u8, expected: &'static str) -> Result<(), Expected> {
        self.expect(open, expected)?;
        self.descend()
    }

    fn descend(&mut self) -> Result<(), Expected> {
        match self.depth.checked_sub(1) {
            Some(left) => {
                self.depth = left;
                Ok(())
            }
            None => Err("fewer levels of nesting"),
        }
    }

    /// True for a comma, false for `close`.
    fn comma_or(&mut self, close: u8, expected: &'static str) -> Result<bool, Expected> {
        let byte = self.peek();
        if byte != b',' && byte != close {
            return Err(expected);
        }
        self.at += 1;
        Ok(byte == b',')
    }

    fn key(&mut self) -> Result<&'a str, Expected> {
        if self.peek() != b'"' {
            return Err("a key in quotes");
        }
        let start = self.at + 1;
        self.skip_string()?;
        let key = &self.text[start..self.at - 1];
        self.expect(b':', "':'")?;
        Ok(key)
    }

    fn skip_key(&mut self) -> Result<(), Expected> {
        if self.peek() != b'"' {
            return Err("a key in quotes");
        }
        self.skip_string()?;
        self.expect(b':', "':'")
    }

    /// Skips one value. Nested ones are followed with a stack of one flag a level, not by recursion: depth is the sender's choice.
    fn skip_value(&mut self) -> Result<(), Expected> {
        debug_assert!(self.inside.is_empty());
        let result = self.skip_nested();
        self.inside.clear();
        result
    }

    fn skip_nested(&mut self) -> Result<(), Expected> {
        loop {
            match self.peek() {
                open @ (b'{' | b'[') => {
                    self.at += 1;
                    if self.inside.len() >= self.depth {
                        return Err("fewer levels of nesting");
                    }
                    let object = open == b'{';
                    if self.peek() == if object { b'}' } else { b']' } {
                        self.at += 1;
                    } else {
                        self.inside.push(object);
                        if object {
                            self.skip_key()?;
                        }
                        continue;
                    }
                }
                b'"' => self.skip_string()?,
                b'-' | b'0'..=b'9' => self.number()?,
                b't' => self.literal("true")?,
                b'f' => self.literal("false")?,
                b'n' => self.literal("null")?,
                _ => return Err("a value"),
            }
            // A value is complete: so may be any number of containers around it.
            loop {
                let Some(&object) = self.inside.last() else {
                    return Ok(());
                };
                if object {
                    if self.comma_or(b'}', "',' or '}'")? {
                        self.skip_key()?;
                        break;
                    }
                } else if self.comma_or(b']', "',' or ']'")? {
                    break;
                }
                self.inside.pop();
            }
        }
    }

    fn literal(&mut self, word: &'static str) -> Result<(), Expected> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(word);
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Expected> {
        if !self.byte().is_ascii_digit() {
            return Err("a digit");
        }
        while self.byte().is_ascii_digit() {
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Expected> {
        let start = self.at;
        let mut plain = true;
        if self.byte() == b'-' {
            self.at += 1;
        }
        if self.byte() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.byte(), b'e' | b'E') {
            plain = false;
            self.at += 1;
            if matches!(self.byte(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        // Without an exponent, 300 digits are needed to leave the range of a double.
        if (!plain || self.at - start > 300)
            && !self.text[start..self.at].parse().is_ok_and(f64::is_finite)
        {
            self.at = start;
            return Err("a number within the range of a double");
        }
        Ok(())
    }

    fn skip_string(&mut self) -> Result<(), Expected> {
        let bytes = self.text.as_bytes();
        let mut at = self.at + 1;
        loop {
            at = plain_until(bytes, at);
            match bytes.get(at) {
                Some(b'"') => {
                    self.at = at + 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at = at;
                    self.escape()?;
                    at = self.at;
                }
                _ => {
                    self.at = at;
                    return Err("the rest of a string, with control characters escaped");
                }
            }
        }
    }

    fn escape(&mut self) -> Result<(), Expected> {
        self.at += 1;
        match self.byte() {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            b'u' => {
                self.at += 1;
                for _ in 0..4 {
                    if !self.byte().is_ascii_hexdigit() {
                        return Err("four hexadecimal digits");
                    }
                    self.at += 1;
                }
            }
            _ => return Err("a valid escape"),
        }
        Ok(())
    }
}

/// The position of the first byte from `at` on that is no plain part of a string (a quote, a backslash, a control character), or
/// the end. Looks at eight bytes at a time.
#[inline]
pub(super) fn plain_until(bytes: &[u8], mut at: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    // The lowest set bit marks the first such byte; borrows can only set false marks above it.
    let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word;
    let equal = |word: u64, byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let mut rest = bytes.get(at..).unwrap_or_default();
    while let Some((chunk, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let marks = (equal(word, b'"') | equal(word, b'\\') | below(word, 0x20)) & HIGH;
        if marks != 0 {
            return at + marks.trailing_zeros() as usize / 8;
        }
        at += 8;
        rest = after;
    }
    let is_plain = |&&byte: &&u8| byte != b'"' && byte != b'\\' && byte >= 0x20;
    at + rest.iter().take_while(is_plain).count()
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
