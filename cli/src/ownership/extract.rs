//! The part of an object that a set of fields names.

use serde_json::{Map, Value};

/// The members and items of `value` that `fields` (FieldsV1) names, each at its place. What the object does not have is left out.
pub fn extract(value: &Value, fields: &Map<String, Value>) -> Value {
    match value {
        Value::Object(members) => {
            let mut part = Map::new();
            for (key, below) in fields {
                if let Some(name) = key.strip_prefix("f:")
                    && let Some(member) = members.get(name)
                {
                    part.insert(name.to_owned(), below_of(member, below));
                }
            }
            part.into()
        }
        Value::Array(items) => {
            let mut part = Vec::new();
            for item in items {
                let owned = fields.iter().find(|(key, _)| stands_for(key, item));
                if let Some((key, below)) = owned {
                    let mut item = below_of(item, below);
                    // An item is nothing without what tells it from others.
                    if let (Value::Object(item), Some(keys)) = (&mut item, keys_of(key)) {
                        item.extend(keys);
                    }
                    part.push(item);
                }
            }
            part.into()
        }
        scalar => scalar.clone(),
    }
}

/// What is named of a value; where nothing below it is named, all of it is.
fn below_of(value: &Value, below: &Value) -> Value {
    match below.as_object() {
        Some(below) if below.keys().any(|key| key != ".") => extract(value, below),
        _ => value.clone(),
    }
}

/// The members by which `k:{…}` names an item.
fn keys_of(key: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(key.strip_prefix("k:")?).ok()
}

fn stands_for(key: &str, item: &Value) -> bool {
    match (keys_of(key), key.strip_prefix("v:")) {
        (Some(keys), _) => keys
            .iter()
            .all(|(name, value)| item.get(name) == Some(value)),
        (None, Some(value)) => {
            serde_json::from_str::<Value>(value).is_ok_and(|value| value == *item)
        }
        (None, None) => false,
    }
}
