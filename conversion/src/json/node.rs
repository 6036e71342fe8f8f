//! A JSON value of which only the objects that a [`Shape`] names are opened.

use std::borrow::Cow;

use super::{Key, Malformed, Scanner};

/// A value: its exact text, or an opened object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node<'a> {
    /// The text of a well-formed value that nobody opened.
    Text(Cow<'a, str>),
    /// An opened object.
    Object(Object<'a>),
}

/// An opened object: its members in the order of the text.
///
/// A key that is written twice counts as its last writing, as it does for Go's `encoding/json`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Object<'a> {
    members: Vec<Member<'a>>,
}

/// One member of an opened object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// The key.
    pub key: Key<'a>,
    /// The value.
    pub value: Node<'a>,
}

/// Which objects to open.
pub trait Shape: Copy {
    /// The shape of the member `key` of an object, where that is to be opened.
    fn member(self, key: &Key<'_>) -> Option<Self>;
}

impl<'a> Node<'a> {
    /// Reads the value at the scanner, opened as far as `shape` says.
    ///
    /// # Errors
    /// When no well-formed value stands there.
    pub fn read(scanner: &mut Scanner<'a>, shape: impl Shape) -> Result<Self, Malformed> {
        match scanner.peek() {
            b'{' => {
                let mut object = Object::with_room();
                scanner.object(|scanner, key| {
                    let value = match shape.member(&key) {
                        Some(shape) => Node::read(scanner, shape)?,
                        None => Node::from(scanner.value()?),
                    };
                    object.push(key, value);
                    Ok::<_, Malformed>(())
                })?;
                Ok(Self::Object(object))
            }
            _ => scanner.value().map(Self::from),
        }
    }

    /// The members of this object, opened now if need be; `None` when it is no object.
    pub fn members(&self) -> Option<Cow<'_, Object<'a>>> {
        match self {
            Self::Object(object) => Some(Cow::Borrowed(object)),
            Self::Text(Cow::Borrowed(text)) => Object::parse(text).map(Cow::Owned),
            Self::Text(Cow::Owned(text)) => {
                Object::parse(text).map(|object| Cow::Owned(object.into_owned()))
            }
        }
    }

    /// The object that this is, opened now if need be, to be changed in place; `None` when it is none.
    pub fn open(&mut self) -> Option<&mut Object<'a>> {
        if let Self::Text(_) = self {
            let opened = self.members()?.into_owned();
            *self = Self::Object(opened);
        }
        match self {
            Self::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The items of this array; `None` when it is no array.
    pub fn items(&self) -> Option<Vec<Node<'_>>> {
        let Self::Text(text) = self else { return None };
        let mut items = Vec::new();
        Scanner::new(text)
            .array(|scanner| {
                items.push(Node::from(scanner.value()?));
                Ok::<_, Malformed>(())
            })
            .ok()?;
        Some(items)
    }

    /// This value's text.
    pub fn text(&self) -> Cow<'_, str> {
        match self {
            Self::Text(text) => Cow::Borrowed(text),
            _ => {
                let mut out = String::new();
                self.write(&mut out);
                Cow::Owned(out)
            }
        }
    }

    /// The text between the quotes when this is a string.
    pub fn string(&self) -> Option<&str> {
        match self {
            Self::Text(text) => text.strip_prefix('"')?.strip_suffix('"'),
            _ => None,
        }
    }

    /// The text of a value that is not opened.
    pub fn unopened(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Object(_) => None,
        }
    }

    /// Whether this is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Text(text) if text == "null")
    }

    /// What JSON calls this kind of value, for messages and for kinds that are remembered.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Object(_) => "object",
            Self::Text(text) => match text.as_bytes().first() {
                Some(b'{') => "object",
                Some(b'[') => "array",
                Some(b'"') => "string",
                Some(b't' | b'f') => "boolean",
                Some(b'n') => "null",
                _ => "number",
            },
        }
    }

    /// Appends this value's text, which is compact but for what came in with white space and was not opened.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Object(object) => object.write(out),
        }
    }

    /// The same value with a text of its own.
    pub fn into_owned<'b>(self) -> Node<'b> {
        match self {
            Self::Text(text) => Node::Text(Cow::Owned(text.into_owned())),
            Self::Object(object) => Node::Object(object.into_owned()),
        }
    }
}

impl<'a> From<&'a str> for Node<'a> {
    /// A value from its text, which must be well-formed JSON.
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Node<'_> {
    /// A value from its text, which must be well-formed JSON.
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> Object<'a> {
    /// Opens the object that `text` is, its members closed; `None` when it is none.
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut object = Self::with_room();
        let mut scanner = Scanner::new(text);
        scanner
            .object(|scanner, key| {
                object.push(key, Node::from(scanner.value()?));
                Ok::<_, Malformed>(())
            })
            .ok()?;
        scanner.end().ok()?;
        Some(object)
    }

    /// Room for as many members as most objects of Kubernetes have, so that reading one seldom allocates twice.
    fn with_room() -> Self {
        Self {
            members: Vec::with_capacity(12),
        }
    }

    /// The members, in the order of the text.
    pub fn members(&self) -> &[Member<'a>] {
        &self.members
    }

    /// The members, to be changed in place.
    pub fn members_mut(&mut self) -> &mut Vec<Member<'a>> {
        &mut self.members
    }

    /// Whether there is no member.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The value of `name`.
    pub fn get(&self, name: &str) -> Option<&Node<'a>> {
        self.members
            .iter()
            .rev()
            .find(|member| member.key.is(name))
            .map(|member| &member.value)
    }

    /// The value of `name`, to be changed in place.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Node<'a>> {
        self.members
            .iter_mut()
            .rev()
            .find(|member| member.key.is(name))
            .map(|member| &mut member.value)
    }

    /// Removes `name` and gives its value.
    pub fn take(&mut self, name: &str) -> Option<Node<'a>> {
        let mut taken = None;
        // From the last on, which is the one that counts.
        while let Some(index) = self.members.iter().rposition(|member| member.key.is(name)) {
            let member = self.members.remove(index);
            taken.get_or_insert(member.value);
        }
        taken
    }

    /// Sets `name`: in its place if it is there, otherwise at the end.
    pub fn set(&mut self, name: &'a str, value: Node<'a>) {
        match self.get_mut(name) {
            Some(place) => *place = value,
            None => self.push(Key::of(name), value),
        }
    }

    /// Appends the member `name`, which must not be there yet.
    pub fn push_named(&mut self, name: &str, value: Node<'a>) {
        self.push(Key::of(name).into_owned(), value);
    }

    /// Appends a member.
    pub fn push(&mut self, key: Key<'a>, value: Node<'a>) {
        self.members.push(Member { key, value });
    }

    fn write(&self, out: &mut String) {
        out.push('{');
        for (index, member) in self.members.iter().enumerate() {
            out.push_str(if index > 0 { ",\"" } else { "\"" });
            out.push_str(member.key.raw());
            out.push_str("\":");
            member.value.write(out);
        }
        out.push('}');
    }

    /// The same object with a text of its own.
    pub fn into_owned<'b>(self) -> Object<'b> {
        let owned = |member: Member<'a>| Member {
            key: member.key.into_owned(),
            value: member.value.into_owned(),
        };
        Object {
            members: self.members.into_iter().map(owned).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Copy)]
    struct Spec;

    impl Shape for Spec {
        fn member(self, key: &Key<'_>) -> Option<Self> {
            key.is("spec").then_some(self)
        }
    }

    #[test]
    fn what_is_not_opened_keeps_its_text() {
        let text = r#"{"a":1e3,"spec":{"b":[ 1 ],"c":"\u0041"},"d":{ }}"#;
        let node = Node::read(&mut Scanner::new(text), Spec).unwrap();
        assert_eq!(node.text(), text);
    }

    #[test]
    fn of_a_key_written_twice_the_last_counts_and_all_are_taken() {
        let mut object = Object::parse(r#"{"a":1,"b":2,"a":3}"#).unwrap();
        assert_eq!(object.get("a").unwrap().text(), "3");
        assert_eq!(object.take("a").unwrap().text(), "3");
        assert_eq!(Node::Object(object).text(), r#"{"b":2}"#);
    }
}
