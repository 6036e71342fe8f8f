//! A key of an object, as it is written.

use std::borrow::Cow;

use super::skip::plain_until;
use super::{decode, encode};

/// A key: its text, and whether that is also its name. Two keys are equal when they are written alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key<'a> {
    /// The text between the quotes, escapes as written.
    raw: Cow<'a, str>,
    escaped: bool,
}

impl<'a> Key<'a> {
    /// The key that stands for `name`.
    pub fn of(name: &'a str) -> Self {
        if plain_until(name.as_bytes(), 0) == name.len() {
            return Self::read(name, false);
        }
        let quoted = encode(name);
        Self {
            raw: Cow::Owned(quoted[1..quoted.len() - 1].to_owned()),
            escaped: true,
        }
    }

    /// The key whose text between the quotes is `raw`, with escapes in it or without.
    pub(super) fn read(raw: &'a str, escaped: bool) -> Self {
        let raw = Cow::Borrowed(raw);
        Self { raw, escaped }
    }

    /// The text between the quotes, escapes as written.
    pub fn raw(&self) -> &str {
        &self.raw
    }

    /// What the key is called.
    pub fn name(&self) -> Cow<'_, str> {
        match self.escaped {
            false => Cow::Borrowed(&self.raw),
            true => decode(&self.raw),
        }
    }

    /// Whether the key is called `name`.
    pub fn is(&self, name: &str) -> bool {
        match self.escaped {
            false => self.raw == name,
            true => decode(&self.raw) == name,
        }
    }

    /// The same key with a text of its own.
    pub fn into_owned<'b>(self) -> Key<'b> {
        Key {
            raw: Cow::Owned(self.raw.into_owned()),
            escaped: self.escaped,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_however_it_is_escaped() {
        for (raw, is_it) in [("spec", true), (r"sp\u0065c", true), (r"sp\u0066c", false)] {
            assert_eq!(
                Key::read(raw, raw.contains('\\')).is("spec"),
                is_it,
                "{raw}"
            );
        }
    }

    #[test]
    fn a_name_of_any_characters_has_a_key() {
        for name in ["spec", "", "a\"b", "\\u0065", "\n", "é"] {
            let key = Key::of(name);
            assert!(key.is(name) && key.name() == name, "{name}");
            assert_eq!(
                serde_json::from_str::<String>(&format!("\"{}\"", key.raw())).unwrap(),
                name
            );
        }
    }
}
