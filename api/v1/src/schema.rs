//! What makes a derived schema fit for Kubernetes.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

/// What a timestamp must look like beside `format: date-time`.
///
/// The API server's own check of that format lets through texts that no parser of RFC 3339 reads
/// (`2024-01-01T00:00:00x5+99:99`); one of them in a status would make the object unreadable to the operator.
pub const TIMESTAMP_PATTERN: &str = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[-+]([01][0-9]|2[0-3]):[0-5][0-9])$";

/// Rewrites a derived schema, with all that is in it, the way Kubernetes APIs are written:
///
/// - An optional field may be absent, never `null`. Derived, an `Option` may be null; the API server
///   would keep that null, and a client in another language would have to tell it from absent.
/// - A timestamp has the form that [`TIMESTAMP_PATTERN`] gives.
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
        if object
            .get("format")
            .is_some_and(|format| format == "date-time")
        {
            object.insert("pattern".into(), TIMESTAMP_PATTERN.into());
        }
    }
}
