//! Sets of fields in the form FieldsV1.

use serde_json::{Map, Value, json};

/// A name that stands for the container itself.
const ITSELF: &str = ".";

/// The fields of `value`, which are those that `before` named in another form: each leaf of its objects. A list is named as it was.
pub fn of(value: &Value, before: Option<&Value>) -> Value {
    let before = before.and_then(Value::as_object);
    match value {
        Value::Object(members) if !members.is_empty() => {
            let mut set = Map::new();
            if before.is_some_and(|before| before.contains_key(ITSELF)) {
                set.insert(ITSELF.to_owned(), json!({}));
            }
            for (name, member) in members {
                let key = format!("f:{name}");
                let below = of(member, before.and_then(|before| before.get(&key)));
                set.insert(key, below);
            }
            set.into()
        }
        Value::Array(_) => before.cloned().unwrap_or_default().into(),
        _ => json!({}),
    }
}

/// Adds the fields of `other` to `set`.
pub fn join(set: &mut Value, other: &Value) {
    if let (Some(set), Some(other)) = (set.as_object_mut(), other.as_object()) {
        for (key, below) in other {
            join(set.entry(key).or_insert_with(|| json!({})), below);
        }
    }
}

/// Removes a field, and the containers around it of which nothing else is left.
pub fn remove(set: &mut Map<String, Value>, path: &[&str]) {
    match path {
        [] => {}
        [key] => {
            set.remove(*key);
        }
        [key, path @ ..] => {
            if let Some(below) = set.get_mut(*key).and_then(Value::as_object_mut)
                && !below.is_empty()
            {
                remove(below, path);
                if below.keys().all(|key| key == ITSELF) {
                    set.remove(*key);
                }
            }
        }
    }
}
