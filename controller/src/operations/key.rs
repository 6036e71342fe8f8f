//! The idempotency key of an operation. Pure.

use std::fmt;

use super::digest;

/// The idempotency key of an operation, which is also the `Operation-Id` under which a provider is asked about it.
///
/// It reads `<provider>.<operation>.<retry>`, so that the record in a Task's status tells by itself whom to ask about an operation
/// after the spec has gone on to name another provider, and which request of a person to try again it already answers. The middle part is a
/// hash of the Task's uid, its generation, the key before and the third part: the same decision gives the same key, whoever makes it, and
/// none comes again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key(String);

/// Which request of a person to try again a key answers: a short hash of the annotation's value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RetryToken(String);

/// The length of the middle part: 128 bits.
const OPERATION_LENGTH: usize = 32;

/// The length of a retry token: 48 bits.
const RETRY_LENGTH: usize = 12;

impl Key {
    /// The key of the operation that `provider` is asked for on behalf of the Task with this uid at this generation, after the one that
    /// `before` stands for.
    pub fn new(
        provider: &str,
        uid: &str,
        generation: i64,
        retry: Option<&RetryToken>,
        before: Option<&Self>,
    ) -> Self {
        let retry = retry.map_or("0", |token| &token.0);
        let before = before.map_or("", Self::as_str);
        let operation = digest::hex(format!("{uid}/{generation}/{retry}/{before}").as_bytes());
        Self(format!(
            "{provider}.{}.{retry}",
            &operation[..OPERATION_LENGTH]
        ))
    }

    /// A key as it was recorded, whoever made it.
    pub fn recorded(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The provider that the key was given to; `None` for a key that is not of this form.
    pub fn provider(&self) -> Option<&str> {
        self.parts().map(|(provider, _)| provider)
    }

    /// Whether the operation was begun at the request that `token` stands for.
    pub fn answers(&self, token: &RetryToken) -> bool {
        self.parts().is_some_and(|(_, retry)| retry == token.0)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parts(&self) -> Option<(&str, &str)> {
        let (rest, retry) = self.0.rsplit_once('.')?;
        let (provider, _) = rest.rsplit_once('.')?;
        Some((provider, retry))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl RetryToken {
    /// The token of this value of the annotation.
    pub fn of(value: &str) -> Self {
        Self(digest::hex(value.as_bytes())[..RETRY_LENGTH].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_decision_gives_the_same_key() {
        let key = |generation| Key::new("volumes", "u-1", generation, None, None);
        assert_eq!(key(3), key(3));
        assert_ne!(key(3), key(4));
        let after = Key::new("volumes", "u-1", 3, None, Some(&key(3)));
        assert_ne!(after, key(3));
    }

    #[test]
    fn a_key_tells_the_provider_and_the_request_it_answers() {
        let [first, second] = ["1", "2"].map(RetryToken::of);
        let key = Key::recorded(Key::new("volumes", "u-1", 1, Some(&first), None).as_str());
        assert_eq!(key.provider(), Some("volumes"));
        assert!(key.answers(&first));
        assert!(!key.answers(&second));
        assert!(!Key::new("volumes", "u-1", 1, None, None).answers(&first));
    }

    #[test]
    fn a_key_of_another_form_tells_nothing() {
        let key = Key::recorded("by-hand");
        assert_eq!(key.provider(), None);
        assert!(!key.answers(&RetryToken::of("1")));
    }

    #[test]
    fn a_key_is_safe_in_a_header_and_in_a_path() {
        let key = Key::new(
            &"p".repeat(63),
            "u-1",
            i64::MAX,
            Some(&RetryToken::of("\n/")),
            None,
        );
        let safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        assert!(key.as_str().chars().all(safe), "{key}");
        assert!(key.as_str().len() <= 128);
    }
}
