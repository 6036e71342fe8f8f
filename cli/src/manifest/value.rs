//! JSON whose members keep their order.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Number;

/// A JSON value whose members are in the order in which they were written.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// An array.
    Array(Vec<Self>),
    /// An object; no two members have the same name.
    Object(Vec<(String, Self)>),
}

impl Value {
    /// The member `name`, where this is an object that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let members = self.members()?;
        members
            .iter()
            .find_map(|(key, value)| (key == name).then_some(value))
    }

    /// The member `name`, where it is a string.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The members, where this is an object.
    #[must_use]
    pub fn members(&self) -> Option<&[(String, Self)]> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }

    /// The items, where this is an array.
    #[must_use]
    pub fn items(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// Reads JSON.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_json(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }

    /// The value as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self)
            .unwrap_or_else(|error| unreachable!("plain data always has a form in JSON: {error}"))
    }

    /// Whether both are the same JSON, whatever the order of members.
    #[must_use]
    pub fn same_as(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(a), Self::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same_as(b))
            }
            (Self::Object(a), Self::Object(b)) => {
                a.len() == b.len()
                    && a.iter()
                        .all(|(key, a)| other.get(key).is_some_and(|b| a.same_as(b)))
            }
            (a, b) => a == b,
        }
    }
}

/// Sets a member: the last of equal names counts, at the place of the first.
pub(super) fn set(members: &mut Vec<(String, Value)>, name: String, value: Value) {
    match members.iter_mut().find(|(key, _)| *key == name) {
        Some((_, old)) => *old = value,
        None => members.push((name, value)),
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(number) => number.serialize(serializer),
            Self::String(text) => serializer.serialize_str(text),
            Self::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(item)?;
                }
                sequence.end()
            }
            Self::Object(members) => {
                let mut map = serializer.serialize_map(Some(members.len()))?;
                for (key, value) in members {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Reader)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut object = Vec::new();
        while let Some((name, value)) = members.next_entry()? {
            set(&mut object, name, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_keep_their_order_and_of_equal_names_the_last_counts() {
        let value = Value::from_json(r#"{"b":1,"a":[null,true,"x",1.5],"b":2}"#).unwrap();
        assert_eq!(value.to_json(), r#"{"b":2,"a":[null,true,"x",1.5]}"#);
    }

    #[test]
    fn the_order_of_members_makes_no_difference_and_that_of_items_does() {
        let same = |a: &str, b: &str| {
            let [a, b] = [a, b].map(|text| Value::from_json(text).unwrap());
            a.same_as(&b)
        };
        assert!(same(
            r#"{"a":1,"b":{"c":2,"d":3}}"#,
            r#"{"b":{"d":3,"c":2},"a":1}"#
        ));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":null}"#));
        assert!(!same("[1,2]", "[2,1]"));
    }
}
