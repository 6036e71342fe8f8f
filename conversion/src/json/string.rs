//! JSON strings between their raw and their decoded form.

use std::borrow::Cow;

/// The characters that `raw`, the text between a string's quotes, stands for.
///
/// Text that no Rust string can hold (half a surrogate pair) stands for itself, so that two different names never become one.
pub fn decode(raw: &str) -> Cow<'_, str> {
    if !raw.contains('\\') {
        return Cow::Borrowed(raw);
    }
    match serde_json::from_str::<String>(&format!("\"{raw}\"")) {
        Ok(decoded) => Cow::Owned(decoded),
        Err(_) => Cow::Borrowed(raw),
    }
}

/// `text` as a JSON string, quotes included.
pub fn encode(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Whether `raw`, the text between a string's quotes, stands for `name`.
pub fn name_is(raw: &str, name: &str) -> bool {
    raw == name || (raw.contains('\\') && decode(raw) == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_however_it_is_escaped() {
        assert!(name_is("spec", "spec"));
        assert!(name_is(r"sp\u0065c", "spec"));
        assert!(!name_is(r"sp\u0066c", "spec"));
    }

    #[test]
    fn half_a_surrogate_pair_stands_for_itself() {
        assert_eq!(decode(r"\ud800"), r"\ud800");
        assert_eq!(decode(r"\ud83d\ude00"), "😀");
    }
}
