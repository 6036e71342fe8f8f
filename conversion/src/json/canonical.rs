//! How the API server writes a JSON value anew, which it does with all that it stores.

use serde_json::{Number, Value};

/// Whether the API server would surely write the value that `text` is just like this: no white space, members by their names, the
/// shortest form of each number, and only those characters escaped that Go escapes.
///
/// It may be false for such a text (of a very small or large number, or one that nests deep), and never is true for another one.
pub fn is_canonical(text: &str) -> bool {
    // Short forms of these two have come with Go 1.22.
    !(text.contains("\\b") || text.contains("\\f"))
        && serde_json::from_str::<Value>(text).is_ok_and(|value| {
            has_plain_numbers(&value) && as_go_escapes(&value.to_string()) == text
        })
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

fn has_plain_numbers(value: &Value) -> bool {
    match value {
        Value::Number(number) => {
            // In this range Go writes a double without exponent, and the shortest digits are the same everywhere.
            let as_double = |double: f64| {
                (1e-6..1e21).contains(&double.abs()) && double.to_string() == number.to_string()
            };
            number.is_i64() || number.as_f64().is_some_and(as_double)
        }
        Value::Array(items) => items.iter().all(has_plain_numbers),
        Value::Object(members) => members.values().all(has_plain_numbers),
        _ => true,
    }
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
            ("0.000001", false),
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
