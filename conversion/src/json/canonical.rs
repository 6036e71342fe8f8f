//! How the API server writes a JSON value anew, which it does with all that it stores.

use memchr::memchr3;
use serde_json::{Number, Value};

use super::{Key, Malformed, Scanner, decode, encode};

/// How deep a value may nest to be looked at.
const DEPTH: usize = 127;

/// Whether the API server would surely write the value that `text` is just like this: no white space, members by their names, the
/// shortest form of each number, and only those characters escaped that Go escapes.
///
/// It may be false for such a text (of a very small or large number, or one that nests deep), and never is true for another one.
pub fn is_canonical(text: &str) -> bool {
    let mut scanner = Scanner::with_depth(text, DEPTH);
    matches!(written(&mut scanner), Ok(length) if length == text.len())
}

/// That a value, or a part of it, would be written differently.
struct Otherwise;

impl From<Malformed> for Otherwise {
    fn from(_: Malformed) -> Self {
        Self
    }
}

/// How many bytes are written for the value at the scanner, where all but the white space is as it would be written.
fn written(scanner: &mut Scanner<'_>) -> Result<usize, Otherwise> {
    let mut length = 1;
    match scanner.peek() {
        b'{' => {
            let mut before: Option<Key<'_>> = None;
            scanner.object(|scanner, key| {
                let in_order = before
                    .as_ref()
                    .is_none_or(|before| before.name() < key.name());
                if !in_order || !is_string_canonical(key.raw()) {
                    return Err(Otherwise);
                }
                length += key.raw().len() + r#""":,"#.len() + written(scanner)?;
                before = Some(key);
                Ok(())
            })?;
        }
        b'[' => scanner.array(|scanner| {
            length += ",".len() + written(scanner)?;
            Ok::<_, Otherwise>(())
        })?,
        _ => {
            let text = scanner.value()?;
            return is_scalar_canonical(text)
                .then_some(text.len())
                .ok_or(Otherwise);
        }
    }
    // Two brackets, and no comma after the last part.
    Ok(length.max(2))
}

fn is_scalar_canonical(text: &str) -> bool {
    match text.as_bytes() {
        [b'"', ..] => is_string_canonical(&text[1..text.len() - 1]),
        [b't' | b'f' | b'n', ..] => true,
        _ => is_number_canonical(text),
    }
}

fn is_string_canonical(raw: &str) -> bool {
    if !raw.contains('\\') {
        return !needs_escape_in_go(raw);
    }
    // Short forms of these two have come with Go 1.22.
    !(raw.contains("\\b") || raw.contains("\\f")) && {
        let quoted = as_go_escapes(&encode(&decode(raw)));
        quoted[1..quoted.len() - 1] == *raw
    }
}

/// Whether Go escapes one of these characters though RFC 8259 does not ask for it.
fn needs_escape_in_go(raw: &str) -> bool {
    memchr3(b'<', b'>', b'&', raw.as_bytes()).is_some() || raw.contains(['\u{2028}', '\u{2029}'])
}

/// JSON text with the characters escaped that Go escapes besides those of RFC 8259; all of them stand in strings only.
fn as_go_escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(char)));
            }
            char => out.push(char),
        }
    }
    out
}

fn is_number_canonical(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.len() < 16 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return text != "-0";
    }
    serde_json::from_str::<Number>(text).is_ok_and(|number| {
        // In this range Go writes a double without exponent, and the shortest digits are the same everywhere.
        let is_shortest =
            |double: f64| (1e-6..1e21).contains(&double.abs()) && double.to_string() == text;
        (number.is_i64() && number.to_string() == text) || number.as_f64().is_some_and(is_shortest)
    })
}

/// Whether two texts are the same value: members in any order, numbers in any writing.
///
/// Of what nests too deep for a tree of values only the same text is the same.
pub fn same_value(a: &str, b: &str) -> bool {
    let value = serde_json::from_str::<Value>;
    a == b || matches!((value(a), value(b)), (Ok(a), Ok(b)) if same(&a, &b))
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => same_number(a, b),
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// A whole number is the same as a double only where the double is exact.
fn same_number(a: &Number, b: &Number) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let exact = |number: &Number| number.as_f64().filter(|double| double.abs() < EXACT);
    a == b || exact(a).is_some_and(|a| Some(a) == exact(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_api_server_writes_is_canonical() {
        for (text, canonical) in [
            ("10", true),
            ("-1", true),
            ("1.5", true),
            ("0.001", true),
            ("0.000001", true),
            ("0.0000001", false),
            ("2.0", false),
            ("1e3", false),
            ("-0", false),
            ("0.10", false),
            ("9007199254740993", true),
            ("18446744073709551615", false),
            (r#"{"a":[1,{"b":null}],"c":"\n\"\\ü"}"#, true),
            (r#"{"a": 1}"#, false),
            (r#"{"b":1,"a":1}"#, false),
            (r#""<""#, false),
            (r#""\u003c&""#, false),
            (r#""\u003c\u0026\u2028""#, true),
            (r#""\u00fc""#, false),
            ("[]", true),
            ("{}", true),
            ("[[],{}]", true),
            ("[ ]", false),
            ("\"\u{2028}\"", false),
            ("\"\\b\"", false),
            (r#"{"a":1,"a":2}"#, false),
            (r#"{"<":1}"#, false),
            (" 1", false),
            ("1 ", false),
        ] {
            assert_eq!(is_canonical(text), canonical, "{text}");
        }
    }

    #[test]
    fn a_value_is_the_same_in_any_writing() {
        for (a, b, same) in [
            ("2.0", "2", true),
            ("1e3", "1000", true),
            ("2", "3", false),
            ("9007199254740993", "9007199254740992", false),
            ("9007199254740993", "9007199254740993.0", false),
            (r#"{"z":1, "a":["<"]}"#, r#"{"a":["\u003c"],"z":1}"#, true),
            ("[1,2]", "[2,1]", false),
            ("\"2\"", "2", false),
        ] {
            assert_eq!(same_value(a, b), same, "{a} and {b}");
        }
    }
}
