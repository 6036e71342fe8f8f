//! Puts in order what is new in every run of an API server.

use std::collections::BTreeMap;

/// The shape of a UUID: a hexadecimal digit for each x.
const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/// The shape of a time to the second, and the time that stands for all.
const TIME: (&str, &str) = ("dddd-dd-ddTdd:dd:ddZ", "2026-01-02T03:04:05Z");

/// The text with its UUIDs numbered as they come, all its times the same, and the numbers of its resource versions likewise.
///
/// Nothing changes its length by more than a version's digits, and nothing its place.
pub fn settle(text: &str) -> String {
    let mut seen = BTreeMap::new();
    let mut settled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (piece, put) = if let Some(uuid) = shaped(rest, UUID) {
            let next = seen.len() + 1;
            let number = seen.entry(uuid).or_insert(next);
            (uuid, format!("00000000-0000-4000-8000-{number:012}"))
        } else if let Some(time) = shaped(rest, TIME.0) {
            (time, TIME.1.to_owned())
        } else if let Some(version) = resource_version(rest) {
            (version, "\"resourceVersion\":\"1\"".to_owned())
        } else {
            (&rest[..first.len_utf8()], first.to_string())
        };
        settled.push_str(&put);
        rest = &rest[piece.len()..];
    }
    settled
}

fn shaped<'t>(text: &'t str, shape: &str) -> Option<&'t str> {
    let candidate = text.get(..shape.len())?;
    let fits = |(byte, shape)| match shape {
        b'x' => u8::is_ascii_hexdigit(&byte),
        b'd' => u8::is_ascii_digit(&byte),
        other => byte == other,
    };
    candidate
        .bytes()
        .zip(shape.bytes())
        .all(fits)
        .then_some(candidate)
}

fn resource_version(text: &str) -> Option<&str> {
    let start = "\"resourceVersion\":\"";
    let digits = text.strip_prefix(start)?.find('"')?;
    text.get(..start.len() + digits + 1)
}
