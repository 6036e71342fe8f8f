//! What JSON text says, whoever wrote it.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

/// Whether two texts are the same JSON: the same values, in whatever order members stand. Of what nests too deep for a tree of values,
/// only the same text is.
pub fn is_same_json(a: &str, b: &str) -> bool {
    let value = serde_json::from_str::<Value>;
    a == b || matches!((value(a), value(b)), (Ok(a), Ok(b)) if a == b)
}

/// The length in bytes of the shortest text of the well-formed JSON in `text` that leaves numbers as they are written: without space
/// between the tokens, and every character of a string itself unless JSON asks for an escape.
///
/// It does not depend on how a client or the API server happens to write (which escapes `<`, for one), and looks at no more than one
/// character at a time, however deep the value nests.
pub fn json_length(text: &str) -> usize {
    let mut length = 0;
    let mut in_string = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        length += match c {
            '\\' if in_string => escape_length(&mut chars),
            ' ' | '\t' | '\n' | '\r' if !in_string => 0,
            _ => c.len_utf8(),
        };
        in_string ^= c == '"';
    }
    length
}

/// How many levels of objects and lists the well-formed JSON in `text` has: 0 for a string, 1 for `[]`, 2 for `[{}]`.
pub fn json_depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut in_string = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => {
                bytes.next();
            }
            b'[' | b'{' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The length of what the escape after a backslash stands for, taking it off the front.
fn escape_length(chars: &mut Peekable<Chars<'_>>) -> usize {
    match chars.next() {
        Some('u') => match (unit(chars), chars.peek()) {
            // A character beyond the basic plane is written as two units.
            (0xd800..=0xdbff, Some('\\')) => {
                chars.next();
                chars.next();
                unit(chars);
                4
            }
            (0x08 | 0x09 | 0x0a | 0x0c | 0x0d | 0x22 | 0x5c, _) => 2,
            (0..=0x1f, _) => 6,
            (unit, _) => char::from_u32(unit).map_or(6, char::len_utf8),
        },
        Some('/') => 1,
        _ => 2,
    }
}

/// The code unit that the next four digits are.
fn unit(chars: &mut Peekable<Chars<'_>>) -> u32 {
    let digits = chars.by_ref().take(4);
    digits.fold(0, |sum, digit| {
        sum * 16 + digit.to_digit(16).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_order_of_members_does_not_matter_and_that_of_items_does() {
        assert!(is_same_json(r#"{"a":1, "b":[2]}"#, r#"{"b":[2],"a":1}"#));
        assert!(!is_same_json("[1,2]", "[2,1]"));
        let deep = "[".repeat(1000) + &"]".repeat(1000);
        assert!(is_same_json(&deep, &deep));
        assert!(!is_same_json(&deep, &format!("[{deep}]")));
    }

    #[test]
    fn space_and_needless_escapes_do_not_count() {
        for (text, length) in [
            (
                "{ \"a\" : [ 1.50 , null ] }\n",
                r#"{"a":[1.50,null]}"#.len(),
            ),
            (r#""\u003cb\u003e \/ \u00e4""#, r#""<b> / ä""#.len()),
            (r#""\ud83d\ude00""#, "\"😀\"".len()),
            (r#""\u000a\u0001\"\\ ""#, r#""\n\u0001\"\\ ""#.len()),
            (r#"" \" ""#, 6),
        ] {
            assert_eq!(json_length(text), length, "{text}");
        }
    }

    #[test]
    fn depth_does_not_matter() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(json_length(&deep), 200_000);
        assert_eq!(json_depth(&deep), 100_000);
    }

    #[test]
    fn objects_and_lists_are_levels_and_what_a_string_says_is_not() {
        for (text, depth) in [
            ("1", 0),
            ("[]", 1),
            (r#"{"a":[],"b":[{}],"c":1}"#, 3),
            (r#"["[[[", "\"[[", "\\", []]"#, 2),
            (r#"{"[{":"}"}"#, 1),
        ] {
            assert_eq!(json_depth(text), depth, "{text}");
        }
    }

    proptest! {
        #[test]
        fn it_is_what_serde_json_writes(text: String, other: String) {
            let value = serde_json::json!({&text: [text, 1, {&other: null}]});
            prop_assert_eq!(json_length(&value.to_string()), value.to_string().len());
            prop_assert_eq!(json_length(&serde_json::to_string_pretty(&value).unwrap()), value.to_string().len());
        }

        #[test]
        fn every_character_may_be_escaped(text: String) {
            let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
            let plain = Value::from(text).to_string();
            prop_assert_eq!(json_length(&format!("\"{escaped}\"")), plain.len());
        }
    }
}
