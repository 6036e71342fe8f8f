//! What a message says of itself before it is known whom it is from. Pure.

use serde::Deserialize;

use crate::operations::key::Key;

/// The names in a message. Nothing else is read of it: it may be anybody's.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Names {
    operation_id: Option<String>,
    id: Option<String>,
}

/// The `Operation-Id` of the operation that a message is about: its `operationId`, or, from a provider that has no name of its own for
/// it, its `id`.
pub fn operation(body: &[u8]) -> Option<Key> {
    let names: Names = serde_json::from_slice(body).ok()?;
    let name = names.operation_id.or(names.id)?;
    Some(Key::recorded(&name))
}

/// Whether this can be the name of a Task, or of its namespace. Of anything else the API server need not be asked.
pub fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    (1..=63).contains(&text.len()) && text.chars().all(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_is_named_by_either_field_and_ours_goes_first() {
        for (body, expected) in [
            (r#"{"operationId": "a", "id": "b"}"#, Some("a")),
            (r#"{"status": "Running", "id": "b"}"#, Some("b")),
            (r#"{"operationId": null, "id": "b"}"#, Some("b")),
            (r#"{"operationId": 1, "id": "b"}"#, None),
            (r#"{"status": "Running"}"#, None),
            ("[]", None),
            ("", None),
        ] {
            let found = operation(body.as_bytes());
            assert_eq!(found.as_ref().map(Key::as_str), expected, "{body}");
        }
    }

    #[test]
    fn what_is_nested_without_end_names_nothing() {
        let deep = format!(r#"{{"id": "b", "result": {}"#, "[".repeat(500_000));
        assert_eq!(operation(deep.as_bytes()), None);
    }

    #[test]
    fn a_path_is_no_name() {
        for text in ["", ".", "..", "a/b", "A", "a%2f", &"a".repeat(64)] {
            assert!(!is_name(text), "{text}");
        }
        assert!(is_name("task-1"));
    }
}
