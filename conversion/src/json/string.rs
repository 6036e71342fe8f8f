//! JSON strings between their raw and their decoded form.

use std::borrow::Cow;

use memchr::memchr;

use super::skip::plain_until;

/// The characters that `raw`, the text between a string's quotes, stands for.
///
/// Half a surrogate pair, which no Rust string can hold, becomes U+FFFD, as it does for Go's `encoding/json`.
pub fn decode(raw: &str) -> Cow<'_, str> {
    if !has_escape(raw) {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let escaped = &rest[at + 1..];
        let (char, length) = unescape(escaped);
        out.push(char);
        rest = escaped.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// What the escape stands for whose text, but for the backslash, `escaped` begins with; and the length of that text.
fn unescape(escaped: &str) -> (char, usize) {
    match escaped.as_bytes().first() {
        Some(b'u') => match (unit(escaped), escaped.get(5..).and_then(low_half)) {
            (high @ 0xd800..0xdc00, Some(low)) => {
                let char = char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
                (char.unwrap_or(char::REPLACEMENT_CHARACTER), 11)
            }
            (unit, _) => (
                char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER),
                5,
            ),
        },
        Some(b'b') => ('\u{8}', 1),
        Some(b'f') => ('\u{c}', 1),
        Some(b'n') => ('\n', 1),
        Some(b'r') => ('\r', 1),
        Some(b't') => ('\t', 1),
        Some(&itself) => (itself.into(), 1),
        None => ('\\', 0),
    }
}

/// The second half of a surrogate pair, if `escaped` begins with one.
fn low_half(escaped: &str) -> Option<u32> {
    let low = unit(escaped.strip_prefix('\\')?);
    (0xdc00..0xe000).contains(&low).then_some(low)
}

/// The UTF-16 code unit that `escaped` begins with, written `u0041`.
fn unit(escaped: &str) -> u32 {
    let digits = escaped.strip_prefix('u').and_then(|rest| rest.get(..4));
    digits
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .unwrap_or_default()
}

fn has_escape(raw: &str) -> bool {
    memchr(b'\\', raw.as_bytes()).is_some()
}

/// `text` as a JSON string, quotes included.
pub fn encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 4 + 2);
    encode_into(&mut out, text);
    out
}

/// Appends `text` as a JSON string, quotes included.
pub fn encode_into(out: &mut String, text: &str) {
    out.push('"');
    let mut rest = text;
    loop {
        let at = plain_until(rest.as_bytes(), 0);
        out.push_str(&rest[..at]);
        let Some(special) = rest.as_bytes().get(at) else {
            break;
        };
        match special {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0x8 => out.push_str("\\b"),
            0xc => out.push_str("\\f"),
            control => out.push_str(&format!("\\u{control:04x}")),
        }
        rest = &rest[at + 1..];
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn half_a_surrogate_pair_is_replaced() {
        assert_eq!(decode(r"\ud83d\ude00"), "😀");
        assert_eq!(decode(r"a\ud800b"), "a\u{fffd}b");
        assert_ne!(decode(r"\ud800"), decode(r"\\ud800"));
    }

    proptest! {
        #[test]
        fn it_agrees_with_serde_json(text in "[\\x00-\\x22\\\\a-zé😀\u{2028}]{0,24}") {
            let encoded = serde_json::Value::from(text.as_str()).to_string();
            prop_assert_eq!(encode(&text), encoded.as_str());
            prop_assert_eq!(decode(&encoded[1..encoded.len() - 1]), text);
        }
    }
}
