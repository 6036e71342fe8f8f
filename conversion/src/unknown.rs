//! Fields that the tables do not know: a newer schema has them, and during a rolling upgrade they must cross unharmed.
//!
//! Each stays at its path and, as the target's schema may prune it there, is kept in the rest as well.

use crate::ConvertError;
use crate::json::{self, Node, Object};
use crate::rest::Rest;
use crate::tree::Tree;

/// The label of unknown members of a list's items: `[{identifying members…, unknown members…}, …]`.
pub(crate) const ITEMS: &str = "items:";

/// A member's place, linked to the one above it (none for a member of the root); rendered only when somebody needs to know.
#[derive(Clone, Copy)]
struct At<'p> {
    above: Option<&'p At<'p>>,
    key: &'p str,
}

impl At<'_> {
    fn pointer(&self) -> String {
        let above = self.above.map(At::pointer).unwrap_or_default();
        above + "/" + &json::decode(self.key).replace('~', "~0").replace('/', "~1")
    }
}

/// Walks the known containers of `root`: checks that each is one, keeps unknown members in `rest`, and takes those out whose
/// place belongs to a field of the target. What `kept` already tells of came from the target and needs no keeping.
///
/// # Errors
/// When a known container is something else.
pub(crate) fn carry(
    root: &mut Object<'_>,
    source: &Tree,
    target: &Tree,
    kept: &Rest,
    rest: &mut Rest,
) -> Result<(), ConvertError> {
    Walk { kept, rest }.object(root, Some(source), target, None)
}

struct Walk<'w> {
    kept: &'w Rest,
    rest: &'w mut Rest,
}

impl Walk<'_> {
    fn object(
        &mut self,
        object: &mut Object<'_>,
        source: Option<&Tree>,
        target: &Tree,
        above: Option<&At<'_>>,
    ) -> Result<(), ConvertError> {
        let mut taken = Vec::new();
        for (index, member) in object.members_mut().iter_mut().enumerate() {
            let key = member.key.clone();
            let at = At { above, key: &key };
            match source.and_then(|source| source.child(&key)) {
                Some(known) if known.is_container() => {
                    self.container(&mut member.value, known, target, at)?
                }
                Some(_) => {}
                None => {
                    if self.unknown(&mut member.value, target.child(&key), at)? {
                        taken.push(index);
                    }
                }
            }
        }
        for index in taken.into_iter().rev() {
            object.members_mut().remove(index);
        }
        Ok(())
    }

    fn container(
        &mut self,
        value: &mut Node<'_>,
        source: &Tree,
        target: &Tree,
        at: At<'_>,
    ) -> Result<(), ConvertError> {
        match value {
            Node::Object(object) if !source.is_list() => {
                let nothing = Tree::default();
                self.object(
                    object,
                    Some(source),
                    target.child(at.key).unwrap_or(&nothing),
                    Some(&at),
                )
            }
            Node::Array(items) if source.is_list() => self.list(items, source, at),
            value if value.is_null() => Ok(()),
            value => {
                let expected = if source.is_list() {
                    "an array"
                } else {
                    "an object"
                };
                Err(ConvertError::unexpected(
                    at.pointer(),
                    expected,
                    value.kind(),
                ))
            }
        }
    }

    /// Keeps a member that the source does not know; true when it must not stay where it is.
    fn unknown(
        &mut self,
        value: &mut Node<'_>,
        target: Option<&Tree>,
        at: At<'_>,
    ) -> Result<bool, ConvertError> {
        if let (Some(target), Node::Object(object)) = (target, &mut *value)
            && target.is_container()
            && !object.is_empty()
        {
            self.object(object, None, target, Some(&at))?;
            return Ok(object.is_empty());
        }
        let pointer = at.pointer();
        if !self.kept.entries.contains_key(&pointer) {
            self.rest.entries.insert(pointer, value.text().into_owned());
        }
        Ok(target.is_some())
    }

    fn list(&mut self, items: &[Node<'_>], source: &Tree, at: At<'_>) -> Result<(), ConvertError> {
        let mut kept = None;
        let mut partial = Vec::new();
        for (index, item) in items.iter().enumerate() {
            let Node::Object(object) = item else {
                let place = format!("{}/{index}", at.pointer());
                return Err(ConvertError::unexpected(place, "an object", item.kind()));
            };
            if object
                .members()
                .iter()
                .all(|member| source.child(&member.key).is_some())
            {
                continue;
            }
            let kept = kept.get_or_insert_with(|| kept_items(self.kept, &at.pointer()));
            let twin = kept
                .iter()
                .find(|kept| same_item(kept, object, source.item_keys));
            let mut keep = Object::default();
            for member in object.members() {
                let identifies = source
                    .item_keys
                    .iter()
                    .any(|key| json::name_is(&member.key, key));
                let unknown = source.child(&member.key).is_none();
                let known_before =
                    twin.is_some_and(|twin| twin.get(&json::decode(&member.key)).is_some());
                if identifies || (unknown && !known_before) {
                    keep.push(member.key.clone(), member.value.clone());
                }
            }
            if keep
                .members()
                .iter()
                .any(|member| source.child(&member.key).is_none())
            {
                partial.push(Node::Object(keep));
            }
        }
        if !partial.is_empty() {
            let key = format!("{ITEMS}{}", at.pointer());
            self.rest
                .entries
                .insert(key, Node::Array(partial).text().into_owned());
        }
        Ok(())
    }
}

/// The items that a rest tells of below a list's pointer.
fn kept_items(rest: &Rest, pointer: &str) -> Vec<Object<'static>> {
    let Some(text) = rest.entries.get(&format!("{ITEMS}{pointer}")) else {
        return Vec::new();
    };
    parse_items(text)
}

/// The objects of an array, each with a text of its own.
pub(crate) fn parse_items(text: &str) -> Vec<Object<'static>> {
    let node = Node::from(text);
    let items = node.items().unwrap_or_default();
    items
        .iter()
        .filter_map(|item| Object::parse(&item.text()).map(Object::into_owned))
        .collect()
}

/// Whether two items are the same one: their identifying members have the same text.
pub(crate) fn same_item(a: &Object<'_>, b: &Object<'_>, keys: &[&str]) -> bool {
    let text =
        |object: &Object<'_>, key: &str| object.get(key).map(|value| value.text().into_owned());
    keys.iter().all(|key| text(a, key) == text(b, key))
}
