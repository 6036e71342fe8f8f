//! Looking into an object's text.

use std::borrow::Cow;

use crate::json::{Node, Object};

/// The text of the value at `path`, written `spec.operation.timeout`.
pub(super) fn value_at<'a>(object: &'a str, path: &str) -> Option<&'a str> {
    path.split('.').try_fold(object, member)
}

/// The same, but for a null, which the API server takes for nothing where there is a default.
pub(super) fn given<'a>(object: &'a str, path: &str) -> Option<&'a str> {
    value_at(object, path).filter(|value| *value != "null")
}

/// The text of the member `name`, which may have dots in it.
pub(super) fn member<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    match Object::parse(object)?.get(name)? {
        Node::Text(Cow::Borrowed(text)) => Some(text),
        // Whatever was parsed and not changed is a piece of the text.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_its_path() {
        let object = r#"{"a":{"b":[1],"b":{"c": null}}}"#;
        assert_eq!(value_at(object, "a.b.c"), Some("null"));
        assert_eq!(given(object, "a.b.c"), None);
        assert_eq!(value_at(object, "a.c.b"), None);
        assert_eq!(value_at("[]", "a"), None);
    }
}
