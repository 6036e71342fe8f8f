//! Putting back what a rest kept.
//!
//! A rest is an annotation, and whoever may write the object may write that too: what is put back here was either checked against
//! the target's schema or is of a field that no table knows.

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
        let mut came_in = CameIn::default();
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
            } else if key.starts_with('/') {
                if let Err(why) = self.put_back(root, &key, value, &mut came_in) {
                    events.push(Event::Broken(why.to_owned()));
                }
            } else {
                unread.entries.insert(key, value);
            }
        }
        if !unread.entries.is_empty() {
            rest.entries.insert(UNREAD.to_owned(), unread.to_json());
        }
    }

    /// Puts one member back below its parent, if that is there and a container.
    ///
    /// # Errors
    /// When the member can never have been kept.
    fn put_back(
        &self,
        root: &mut Object<'_>,
        pointer: &str,
        value: String,
        came_in: &mut CameIn,
    ) -> Result<(), &'static str> {
        let (above, name) = pointer.rsplit_once('/').unwrap_or_default();
        let (mut source, mut known) = (Some(self.source), Some(self.target));
        let mut parent = root;
        for name in above.split('/').skip(1) {
            let name = name_of(name);
            source = source.and_then(|tree| tree.container(&name));
            known = known.and_then(|tree| tree.container(&name));
            // What the target has below a container of the source, no table knows, and the source has had no place for it.
            let is_foreign = known.is_none() && source.is_some_and(|source| source.folded);
            if is_foreign && parent.get(&name).is_none() {
                parent.push_named(&name, Node::Object(Object::default()));
            }
            match parent.get_mut(&name).and_then(Node::open) {
                Some(object) if known.is_some() || is_foreign => parent = object,
                _ => return Ok(()),
            }
        }
        let known_as = |name: &str| known.and_then(|known| known.child_named(name));
        let name = name_of(name);
        let value = Node::from(value);
        let present = parent.members()[..came_in.below(above, parent)]
            .iter()
            .position(|member| member.key.is(&name));
        match (known_as(&name), present) {
            (Some(container), present) if container.is_container() => {
                if !(container.folded && was_hidden(&value, container)) {
                    return Err("a container of which something would have been shown");
                }
                let alive = self.alive.contains(&pointer);
                match present {
                    Some(index) => {
                        let present = &mut parent.members_mut()[index].value;
                        put_beside(present, &value, container, alive);
                    }
                    None if alive => {}
                    None => parent.push_named(&name, value),
                }
            }
            (_, Some(_)) => {}
            (None, None) => parent.push_named(&name, value),
            (Some(leaf), None) => match leaf.restorable {
                Some(admits) if admits(&value) => parent.push_named(&name, value),
                Some(_) => return Err("a value that its field never has"),
                None => return Err("a field that is never kept"),
            },
        }
        Ok(())
    }
}

/// How many members each parent had before anything was put back. A rest names none twice, so only those can stand in the way of
/// one that is put back, and a rest of many members takes no longer than it must.
#[derive(Default)]
struct CameIn(Vec<(String, usize)>);

impl CameIn {
    fn below(&mut self, pointer: &str, parent: &Object<'_>) -> usize {
        if let Some((_, count)) = self.0.iter().find(|(known, _)| known == pointer) {
            return *count;
        }
        let count = parent.members().len();
        self.0.push((pointer.to_owned(), count));
        count
    }
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
    for member in kept.members() {
        let name = member.key.name();
        let shown = container
            .child_named(&name)
            .is_some_and(|leaf| leaf.restorable.is_none());
        if !(alive && shown) && present.get(&name).is_none() {
            let (key, value) = (member.key.clone(), member.value.clone());
            present.push(key.into_owned(), value.into_owned());
        }
    }
}
