//! What a YAML scalar is to kubectl.
//!
//! kubectl reads YAML with sigs.k8s.io/yaml, which is go-yaml v2 and then a conversion to JSON: `yes` and `on` are booleans as in
//! YAML 1.1, and so is `0644` an octal number, but `1:30` is a string, and so is a date.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::Number;

use super::Value;

/// Why a scalar is nothing that has a form in JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not a number, or an infinite one.
    #[error("{0} has no form in JSON")]
    NotFinite(String),
    /// The tag says something that the text is not.
    #[error("{text:?} is no {tag}")]
    Tag {
        /// The text.
        text: String,
        /// The tag.
        tag: String,
    },
}

/// What a plain scalar without a tag is.
///
/// # Errors
/// When it is a number that JSON does not have.
pub fn plain(text: &str) -> Result<Value, Error> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Value::Null),
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(Value::Bool(true));
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(Value::Bool(false));
        }
        ".nan" | ".NaN" | ".NAN" | ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF"
        | "-.inf" | "-.Inf" | "-.INF" => return Err(Error::NotFinite(text.to_owned())),
        _ => {}
    }
    let number = match text.as_bytes().first() {
        Some(b'.') => float(text)?,
        Some(b'+' | b'-' | b'0'..=b'9') if !is_date(text) => {
            let text = text.replace('_', "");
            match integer(&text) {
                Some(number) => Some(number),
                None => float(&text)?,
            }
        }
        _ => None,
    };
    Ok(number.map_or_else(|| Value::String(text.to_owned()), Value::Number))
}

/// What a scalar with one of YAML's own tags is, such as `!!str`; any other tag says nothing.
///
/// # Errors
/// When the text is not what the tag says.
pub fn tagged(text: &str, tag: &str) -> Result<Value, Error> {
    if tag == "binary" {
        let bytes = BASE64_STANDARD.decode(text.replace(['\n', ' '], ""));
        let decoded = bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        return decoded.map(Value::String).ok_or_else(|| Error::Tag {
            text: text.to_owned(),
            tag: tag.to_owned(),
        });
    }
    let value = plain(text)?;
    let fits = match (tag, &value) {
        ("str", _) => return Ok(Value::String(text.to_owned())),
        ("bool", Value::Bool(_)) | ("null", Value::Null) | ("float", Value::Number(_)) => true,
        ("int", Value::Number(number)) => number.is_i64() || number.is_u64(),
        ("timestamp", _) => is_date(text),
        ("bool" | "null" | "float" | "int", _) => false,
        _ => return Ok(Value::String(text.to_owned())),
    };
    if fits {
        Ok(value)
    } else {
        Err(Error::Tag {
            text: text.to_owned(),
            tag: tag.to_owned(),
        })
    }
}

/// What a value is as the name of a member; `None` where it can be none.
pub fn key(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Number(number) if number.is_f64() => {
            // A name has the digits of 32 bits only.
            number.as_f64().map(|number| (number as f32).to_string())
        }
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// An integer as Go's `strconv.ParseInt(text, 0, 64)` and `ParseUint` read it.
fn integer(text: &str) -> Option<Number> {
    let (negative, magnitude) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    let lower = magnitude.get(..2).unwrap_or_default().to_ascii_lowercase();
    let (digits, radix) = match lower.as_str() {
        "0x" => (&magnitude[2..], 16),
        "0o" => (&magnitude[2..], 8),
        "0b" => (&magnitude[2..], 2),
        _ => match magnitude.strip_prefix('0') {
            Some(rest) if !rest.is_empty() => (rest, 8),
            _ => (magnitude, 10),
        },
    };
    if digits.starts_with(['-', '+']) {
        return None;
    }
    match u64::from_str_radix(digits, radix) {
        // ParseUint takes no sign.
        Ok(value) if negative => {
            let value = 0i64.checked_sub_unsigned(value)?;
            Some(value.into())
        }
        Ok(value) if i64::try_from(value).is_err() && text.starts_with('+') => None,
        Ok(value) => Some(value.into()),
        Err(_) => None,
    }
}

/// A number with a point or an exponent; one without a fraction is written as an integer, as Go does.
fn float(text: &str) -> Result<Option<Number>, Error> {
    if !looks_like_a_float(text) {
        return Ok(None);
    }
    let Ok(value) = text.parse::<f64>() else {
        return Ok(None);
    };
    if !value.is_finite() {
        // strconv.ParseFloat says that it is out of range, and so it stays a string.
        return Ok(None);
    }
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        return Ok(Some(Number::from(value as i64)));
    }
    Number::from_f64(value)
        .map(Some)
        .ok_or_else(|| Error::NotFinite(text.to_owned()))
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn looks_like_a_float(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mantissa_fits =
        all_digits(whole) && all_digits(fraction) && (!whole.is_empty() || !fraction.is_empty());
    let exponent_fits = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    mantissa_fits && exponent_fits
}

/// Whether go-yaml takes it for a date, which stays the string that it is: `2001-12-14` and the like.
fn is_date(text: &str) -> bool {
    // Nothing else that begins so is a number either.
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_scalar_is_what_go_yaml_takes_it_for() {
        for (text, json) in [
            ("yes", "true"),
            ("Off", "false"),
            ("y", "true"),
            ("oN", "\"oN\""),
            ("~", "null"),
            ("", "null"),
            ("0644", "420"),
            ("0o17", "15"),
            ("0x1F", "31"),
            ("-0b11", "-3"),
            ("0999", "999"),
            ("08", "8"),
            ("1_000", "1000"),
            ("+12", "12"),
            ("18446744073709551615", "18446744073709551615"),
            ("1:30", "\"1:30\""),
            ("2001-12-14", "\"2001-12-14\""),
            ("1.0", "1"),
            ("1e3", "1000"),
            ("1.5", "1.5"),
            (".5", "0.5"),
            ("1e400", "\"1e400\""),
            ("1.2.3", "\"1.2.3\""),
            ("-", "\"-\""),
            ("<<", "\"<<\""),
            ("nginx:1", "\"nginx:1\""),
        ] {
            assert_eq!(plain(text).unwrap().to_json(), json, "{text}");
        }
        assert!(plain(".inf").is_err());
    }

    #[test]
    fn a_tag_is_obeyed_or_refused() {
        assert_eq!(tagged("1", "str").unwrap().to_json(), "\"1\"");
        assert_eq!(tagged("1", "int").unwrap().to_json(), "1");
        assert!(tagged("x", "int").is_err());
        assert_eq!(tagged("x", "mine").unwrap().to_json(), "\"x\"");
        assert_eq!(
            tagged("aGVs\n bG8=", "binary").unwrap().to_json(),
            "\"hello\""
        );
        assert!(tagged("/w==", "binary").is_err());
    }

    #[test]
    fn booleans_and_numbers_are_names_too() {
        let name = |text: &str| key(&plain(text).unwrap());
        assert_eq!(name("on").as_deref(), Some("true"));
        assert_eq!(name("010").as_deref(), Some("8"));
        assert_eq!(name("1.50").as_deref(), Some("1.5"));
        assert_eq!(name("~"), None);
    }
}
