//! Small damage to an object, as a careless hand or a broken client does it.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use crate::generate::any_json;

/// What is done at one place.
#[derive(Clone, Debug)]
pub enum Damage {
    Replace(Value),
    Delete,
    /// The member is written a second time, with another value.
    Repeat(Value),
    Rename(String),
    Wrap,
}

/// Damage, and where: the place's number among all, as a share of their count.
pub fn damage() -> impl Strategy<Value = (Index, Damage)> {
    let names = prop::sample::select(vec![
        "spec",
        "status",
        "operation",
        "provider",
        "parameters",
        "timeout",
        "timeoutSeconds",
        "env",
        "name",
        "value",
        "taskStatus",
        "conditions",
        "x",
    ]);
    let damage = prop_oneof![
        4 => any_json().prop_map(Damage::Replace),
        1 => Just(Damage::Replace(Value::Null)),
        1 => Just(Damage::Delete),
        1 => any_json().prop_map(Damage::Repeat),
        1 => names.prop_map(|name| Damage::Rename(name.to_owned())),
        1 => Just(Damage::Wrap),
    ];
    (any::<Index>(), damage)
}

/// Stands in a key that is to be written without it; no text that is generated has it.
const TWIN: char = '\u{1}';

/// The text of the object with the damage done to it.
pub fn damaged(mut object: Value, all: &[(Index, Damage)]) -> String {
    for (place, damage) in all {
        let count = count(&object);
        let mut left = place.index(count);
        visit(&mut object, &mut left, damage);
    }
    object.to_string().replace("\\u0001", "")
}

/// The number of values in an object, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(members) => members.values().map(count).sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    }
}

/// Does the damage at the place that is `left` values ahead; true when it was below `value`.
fn visit(value: &mut Value, left: &mut usize, damage: &Damage) -> bool {
    if *left == 0 {
        match damage {
            Damage::Replace(other) => *value = other.clone(),
            _ => *value = Value::Array(vec![value.take()]),
        }
        return true;
    }
    *left -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| visit(item, left, damage)),
        Value::Object(members) => {
            if let Damage::Delete | Damage::Repeat(_) | Damage::Rename(_) = damage {
                let mut below = members.iter().scan(0, |before, (key, value)| {
                    let at = *before;
                    *before += count(value);
                    Some((at, key.clone()))
                });
                if let Some((_, key)) = below.find(|(at, _)| at == left) {
                    match damage {
                        Damage::Delete => drop(members.remove(&key)),
                        Damage::Repeat(twin) => {
                            drop(members.insert(format!("{key}{TWIN}"), twin.clone()))
                        }
                        Damage::Rename(name) => {
                            let value = members.remove(&key).unwrap_or_default();
                            members.insert(name.clone(), value);
                        }
                        Damage::Replace(_) | Damage::Wrap => {}
                    }
                    return true;
                }
            }
            members
                .values_mut()
                .any(|member| visit(member, left, damage))
        }
        _ => false,
    }
}
