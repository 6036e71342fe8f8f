//! What makes a derived schema fit for Kubernetes.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

/// What a timestamp must look like beside `format: date-time`.
///
/// The API server's own check of that format lets through texts that no parser of RFC 3339 reads
/// (`2024-01-01T00:00:00x5+99:99`), or that lie beyond what the operator's clock can hold, which ends
/// in the year 9999. One of them in a status would make the object unreadable to the operator.
pub const TIMESTAMP_PATTERN: &str = r"^[0-8][0-9]{3}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$";

/// Rewrites a derived schema, with all that is in it, the way Kubernetes APIs are written:
///
/// - An optional field may be absent, never `null`. Derived, an `Option` may be null; the API server
///   would keep that null, and a client in another language would have to tell it from absent.
/// - A timestamp has the form that [`TIMESTAMP_PATTERN`] gives.
/// - A paragraph of a description is one line, as `kubectl explain` wraps lines itself.
pub fn kubernetes(schema: &mut Schema) {
    Kubernetes.transform(schema);
}

struct Kubernetes;

impl Transform for Kubernetes {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else {
            return;
        };
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [only] = types.as_slice() {
                let only = only.clone();
                object.insert("type".into(), only);
            }
        }
        if let Some(Value::Array(values)) = object.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        if let Some(Value::Array(variants)) = object.get_mut("anyOf") {
            variants.retain(|variant| variant.get("type").is_none_or(|name| name != "null"));
            if let [Value::Object(only)] = variants.as_slice() {
                let only = only.clone();
                object.remove("anyOf");
                for (key, value) in only {
                    // What the field says of itself, such as its description, goes before its type's.
                    object.entry(key).or_insert(value);
                }
            }
        }
        if let Some(Value::String(description)) = object.get_mut("description") {
            *description = one_line_a_paragraph(description);
        }
        if object
            .get("format")
            .is_some_and(|format| format == "date-time")
        {
            object.insert("pattern".into(), TIMESTAMP_PATTERN.into());
        }
    }
}

fn one_line_a_paragraph(text: &str) -> String {
    let paragraphs: Vec<_> = text
        .split("\n\n")
        .map(|lines| lines.replace('\n', " "))
        .collect();
    paragraphs.join("\n\n")
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
    use proptest::prelude::*;
    use regex_lite::Regex;
    use schemars::json_schema;

    use super::*;

    #[test]
    fn an_optional_field_may_be_absent_but_not_null() {
        for (derived, fit) in [
            (
                json_schema!({"type": ["string", "null"]}),
                json_schema!({"type": "string"}),
            ),
            (
                json_schema!({"type": ["string", "null"], "enum": ["A", null]}),
                json_schema!({"type": "string", "enum": ["A"]}),
            ),
            (
                json_schema!({"description": "field", "anyOf": [{"type": "object", "description": "type"}, {"type": "null"}]}),
                json_schema!({"description": "field", "type": "object"}),
            ),
        ] {
            let mut schema = derived;
            kubernetes(&mut schema);
            assert_eq!(schema, fit);
        }
    }

    #[test]
    fn only_paragraphs_break_a_description() {
        let mut schema = json_schema!({"description": "one\ntwo\n\nthree"});
        kubernetes(&mut schema);
        assert_eq!(schema, json_schema!({"description": "one two\n\nthree"}));
    }

    #[test]
    fn a_timestamp_that_only_the_api_server_could_read_is_refused() {
        let pattern = Regex::new(TIMESTAMP_PATTERN).unwrap();
        for text in [
            "2024-01-01T00:00:00x5Z",
            "2024-01-01T00:00:00+99:99",
            "2024-01-01t00:00:00z",
            "2024-01-01T00:00:00",
            "9999-12-31T23:59:59Z",
        ] {
            assert!(!pattern.is_match(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_timestamp_that_is_admitted_is_read(
            date in "[0-8][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])",
            time in "([01][0-9]|2[0-3])(:[0-5][0-9]){2}([.][0-9]{1,9})?",
            zone in "Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9]",
        ) {
            let text = format!("{date}T{time}{zone}");
            prop_assert!(Regex::new(TIMESTAMP_PATTERN).unwrap().is_match(&text));
            let read = serde_json::from_value::<Time>(text.into());
            prop_assert!(read.is_ok(), "{read:?}");
        }
    }
}
