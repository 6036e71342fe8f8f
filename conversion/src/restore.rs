//! Putting back what a rest kept.
//!
//! A rest is an annotation, and whoever may write the object may write that too: what is put back here was either checked against
//! the target's schema or is of a field that no table knows.

use std::collections::{BTreeMap, HashSet};

use crate::json::{Key, Node, Object};
use crate::lens::Way;
use crate::pointer::name_of;
use crate::rest::{OMITTED, Rest, UNREAD};
use crate::tree::Tree;
use crate::{Event, Events};

/// What is put back, and where.
pub(crate) struct Restore<'r> {
    pub(crate) source: &'r Tree,
    pub(crate) target: &'r Tree,
    pub(crate) way: Way,
    /// The pointers of the containers that only the target has and of which the source shows something.
    pub(crate) alive: &'r [&'r str],
}

impl Restore<'_> {
    /// Puts the entries of `kept` into `root`, each only where nothing visible stands and its parent still exists: what an edit has
    /// changed or deleted is not brought back. What this server cannot read goes on in `rest`.
    pub(crate) fn run(
        &self,
        root: &mut Object<'_>,
        kept: Rest,
        rest: &mut Rest,
        events: &mut Events,
    ) {
        let mut unread = Rest::default();
        let mut members: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
        for (key, value) in kept.entries {
            if key == OMITTED {
                // The mark goes with what could not be read, so that admission can refuse a write that would lose what is missing.
                // It is one of this write, and does not come back to the spoke.
                if self.way == Way::Up {
                    events.push(Event::Omitted);
                    unread.entries.insert(key, value);
                }
            } else if key == UNREAD {
                let passed_on = Rest::parse(&value).unwrap_or_default();
                for (key, value) in passed_on.entries {
                    if key != OMITTED && !key.starts_with('/') {
                        rest.entries.entry(key).or_insert(value);
                    }
                }
            } else if let Some((above, _)) = key.rsplit_once('/').filter(|_| key.starts_with('/')) {
                let below = members.entry(above.to_owned()).or_default();
                below.push((key, value));
            } else {
                unread.entries.insert(key, value);
            }
        }
        for (above, members) in members {
            self.put_back(root, &above, members, events);
        }
        if !unread.entries.is_empty() {
            rest.entries.insert(UNREAD.to_owned(), unread.to_json());
        }
    }

    /// Puts members back below one parent, if that is there and a container.
    ///
    /// A rest names no member twice, so that only those can stand in the way that were there before, and a rest of many members
    /// takes no longer than it must.
    fn put_back(
        &self,
        root: &mut Object<'_>,
        above: &str,
        members: Vec<(String, String)>,
        events: &mut Events,
    ) {
        let Some((parent, known)) = self.parent(root, above) else {
            return;
        };
        let present = names_of(parent);
        for (pointer, value) in members {
            let name = name_of(pointer.rsplit_once('/').map_or("", |(_, step)| step));
            let known = known.and_then(|known| known.child_named(&name));
            let is_present = present.contains(name.as_ref());
            let put = self.put(
                parent,
                &pointer,
                &name,
                Node::from(value),
                known,
                is_present,
            );
            if let Err(why) = put {
                events.push(Event::Broken(why.to_owned()));
            }
        }
    }

    /// The object at a pointer, if it is one of which members can have been kept; and the fields that the target has there, if it knows
    /// any.
    fn parent<'o, 'a>(
        &self,
        root: &'o mut Object<'a>,
        above: &str,
    ) -> Option<(&'o mut Object<'a>, Option<&Tree>)> {
        let (mut source, mut known) = (Some(self.source), Some(self.target));
        let mut parent = root;
        let mut steps = above.split('/').skip(1).peekable();
        while let Some(step) = steps.next() {
            let name = name_of(step);
            source = source.and_then(|tree| tree.container(&name));
            known = known.and_then(|tree| tree.container(&name));
            // What the target has below a container of the source, no table knows, and the source has had no place for it.
            let is_foreign = known.is_none() && source.is_some_and(|source| source.folded);
            if known.is_none() && !is_foreign {
                return None;
            }
            if is_foreign && steps.peek().is_none() && parent.get(&name).is_none() {
                parent.push_named(&name, Node::Object(Object::default()));
            }
            parent = parent.get_mut(&name).and_then(Node::open)?;
        }
        Some((parent, known))
    }

    /// Puts one member back.
    ///
    /// # Errors
    /// When the member can never have been kept.
    fn put(
        &self,
        parent: &mut Object<'_>,
        pointer: &str,
        name: &str,
        value: Node<'static>,
        known: Option<&Tree>,
        is_present: bool,
    ) -> Result<(), &'static str> {
        match known {
            Some(container) if container.is_container() => {
                if !(container.folded && was_hidden(&value, container)) {
                    return Err("a container of which something would have been shown");
                }
                let alive = self.alive.contains(&pointer);
                match parent.get_mut(name) {
                    Some(present) => put_beside(present, &value, container, alive),
                    None if alive => {}
                    None => parent.push_named(name, value),
                }
            }
            _ if is_present => {}
            None => parent.push_named(name, value),
            Some(leaf) => match leaf.restorable {
                Some(admits) if admits(&value) => parent.push_named(name, value),
                Some(_) => return Err("a value that its field never has"),
                None => return Err("a field that is never kept"),
            },
        }
        Ok(())
    }
}

/// What the members of an object are called.
fn names_of(object: &Object<'_>) -> HashSet<String> {
    let members = object.members().iter();
    members
        .map(|member| member.key.name().into_owned())
        .collect()
}

/// Whether nothing of a container could be shown: it holds only what its version alone has, or what no table knows.
fn was_hidden(container: &Node<'_>, known: &Tree) -> bool {
    let hidden = |key: &Key<'_>, value: &Node<'_>| match known.child(key) {
        Some(below) if below.is_container() => was_hidden(value, below),
        Some(leaf) => leaf.restorable.is_some_and(|admits| admits(value)),
        None => true,
    };
    match container.members() {
        Some(object) => object
            .members()
            .iter()
            .all(|member| hidden(&member.key, &member.value)),
        None => container.is_null(),
    }
}

/// A container that was kept whole since nothing of it could be shown: its members are put beside what is there now, but for
/// those that the source could have shown and did not.
fn put_beside(present: &mut Node<'_>, kept: &Node<'_>, container: &Tree, alive: bool) {
    let (Some(present), Some(kept)) = (present.open(), kept.members()) else {
        return;
    };
    let before = names_of(present);
    for member in kept.members() {
        let name = member.key.name();
        let shown = container
            .child_named(&name)
            .is_some_and(|leaf| leaf.restorable.is_none());
        if !(before.contains(name.as_ref()) || alive && shown) {
            let (key, value) = (member.key.clone(), member.value.clone());
            present.push(key.into_owned(), value.into_owned());
        }
    }
}
