//! JSON as a tree whose scalars keep their exact text, since that is what the laws speak of.

use std::collections::BTreeMap;

use crate::json::Node;

/// A JSON value. Objects are equal whatever the order of their members; scalars are equal when their texts are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Json {
    /// A string, a number, `true`, `false` or `null`, as it is written.
    Scalar(String),
    /// The members by their keys, as they are written between the quotes.
    Object(BTreeMap<String, Json>),
    /// The items.
    Array(Vec<Json>),
}

impl Json {
    /// Reads a well-formed text. Of several members with the same key the last one counts.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let node = Node::from(text);
        if let Some(object) = node.members() {
            let members = object.members().iter();
            return Self::Object(
                members
                    .map(|member| {
                        (
                            member.key.raw().to_owned(),
                            Self::parse(&member.value.text()),
                        )
                    })
                    .collect(),
            );
        }
        match node.items() {
            Some(items) => {
                Self::Array(items.iter().map(|item| Self::parse(&item.text())).collect())
            }
            None => Self::Scalar(text.to_owned()),
        }
    }

    /// The text, without white space.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Scalar(text) => text.clone(),
            Self::Array(items) => format!(
                "[{}]",
                items.iter().map(Self::text).collect::<Vec<_>>().join(",")
            ),
            Self::Object(members) => {
                let member = |(key, value): (&String, &Self)| format!("\"{key}\":{}", value.text());
                format!(
                    "{{{}}}",
                    members.iter().map(member).collect::<Vec<_>>().join(",")
                )
            }
        }
    }

    /// An object with these members.
    #[must_use]
    pub fn object(members: impl IntoIterator<Item = (&'static str, Self)>) -> Self {
        Self::Object(
            members
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect(),
        )
    }

    /// The value at a path such as `/spec/env`.
    #[must_use]
    pub fn at(&self, pointer: &str) -> Option<&Self> {
        pointer
            .split('/')
            .skip(1)
            .try_fold(self, |value, step| match value {
                Self::Object(members) => members.get(step),
                _ => None,
            })
    }

    /// The object at a path, where there is one.
    pub fn object_mut(&mut self, pointer: &str) -> Option<&mut BTreeMap<String, Self>> {
        let place = pointer
            .split('/')
            .skip(1)
            .try_fold(self, |value, step| match value {
                Self::Object(members) => members.get_mut(step),
                _ => None,
            })?;
        match place {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }
}
