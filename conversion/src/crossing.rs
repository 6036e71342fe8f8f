//! One step between a spoke and the hub: the order in which the parts of the conversion act.

use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::annotations;
use crate::error::ConvertError;
use crate::json::{Node, Object, encode};
use crate::kind::{Mapping, Place, Spoke};
use crate::lens::{Crossed, Way};
use crate::rest::Rest;
use crate::restore::restore;
use crate::unknown::carry;
use crate::{Event, Events};

pub(crate) struct Crossing<'k> {
    pub(crate) spoke: &'k Spoke,
    pub(crate) way: Way,
}

impl Crossing<'_> {
    /// Makes an object of the source's version one of the target's.
    pub(crate) fn run(
        &self,
        root: &mut Object<'_>,
        events: &mut Events,
    ) -> Result<(), ConvertError> {
        let (source_key, target_key) = self.sort(&self.spoke.hub_key, &self.spoke.key);
        let (source, target) = self.sort(&self.spoke.hub_tree, &self.spoke.tree);

        let mut kept = annotations::take(root, target_key, source_key, events)?;
        let mut rest = Rest::default();
        carry(root, source, target, &kept, &mut rest)?;
        if self.way == Way::Up {
            self.follow_old_names(root, &mut rest);
        }
        self.drop_impossible(&mut kept, events);
        let alive = self.cross_fields(root, &mut kept, &mut rest)?;
        restore(root, target, kept, &mut rest, |pointer| {
            alive.contains(pointer)
        });
        if self.way == Way::Down {
            self.write_old_names(root);
        }
        root.set("apiVersion", Node::from(encode(target_key)));
        annotations::put(root, source_key, &rest, events);
        Ok(())
    }

    /// The hub's and the spoke's thing as the source's and the target's.
    fn sort<T>(&self, hub: T, spoke: T) -> (T, T) {
        match self.way {
            Way::Down => (hub, spoke),
            Way::Up => (spoke, hub),
        }
    }

    fn from<'m>(&self, mapping: &'m Mapping) -> &'m Place {
        self.sort(&mapping.hub, &mapping.spoke).0
    }

    fn to<'m>(&self, mapping: &'m Mapping) -> &'m Place {
        self.sort(&mapping.hub, &mapping.spoke).1
    }

    /// Moves every mapped field and takes out what only the source has. Gives the pointers of the containers that exist in one
    /// version only and of which something is shown in the other.
    fn cross_fields(
        &self,
        root: &mut Object<'_>,
        kept: &mut Rest,
        rest: &mut Rest,
    ) -> Result<BTreeSet<&str>, ConvertError> {
        let (source_only, _) = self.sort(&self.spoke.hub_only, &self.spoke.spoke_only);
        let (source_folded, target_folded) =
            self.sort(&self.spoke.hub_folded, &self.spoke.spoke_folded);

        let mut crossed = Vec::new();
        for mapping in &self.spoke.mappings {
            let found = find(root, &self.from(mapping).path);
            let result = self.cross_field(mapping, found, kept)?;
            crossed.push((mapping, found.is_some(), result));
        }

        // A container that only the target has comes to be only by what the source shows of it.
        let mut alive = BTreeSet::new();
        for folded in target_folded {
            if crossed.iter().any(|(mapping, found, _)| {
                *found && self.to(mapping).path.starts_with(&folded.path)
            }) {
                alive.insert(folded.pointer.as_str());
            } else {
                for (mapping, _, crossed) in &mut crossed {
                    if self.to(mapping).path.starts_with(&folded.path) {
                        *crossed = Crossed::default();
                    }
                }
            }
        }

        // One that only the source has, and of which nothing is shown, is kept whole.
        let mut hidden: Vec<&Place> = Vec::new();
        for folded in source_folded {
            let shown = crossed.iter().any(|(mapping, _, crossed)| {
                self.from(mapping).path.starts_with(&folded.path) && crossed.value.is_some()
            });
            if shown {
                alive.insert(folded.pointer.as_str());
            } else if let Some(container) = find(root, &folded.path)
                && !hidden
                    .iter()
                    .any(|outer| folded.path.starts_with(&outer.path))
            {
                if !is_all_known_before(container, kept, &folded.pointer) {
                    rest.entries
                        .insert(folded.pointer.clone(), container.text().into_owned());
                }
                hidden.push(folded);
            }
        }
        let is_hidden = |place: &Place| {
            hidden
                .iter()
                .any(|folded| place.path.starts_with(&folded.path))
        };

        for place in source_only {
            if let Some(value) = take(root, &place.path)
                && !is_hidden(place)
            {
                rest.entries
                    .insert(place.pointer.clone(), value.text().into_owned());
            }
        }
        let mut values = Vec::new();
        for (mapping, _, Crossed { value, rest: lost }) in crossed {
            let (from, to) = (self.from(mapping), self.to(mapping));
            if from.path != to.path || value.is_none() {
                take(root, &from.path);
            }
            if let Some(lost) = lost
                && !is_hidden(from)
            {
                rest.entries.insert(key(mapping, from), lost);
            }
            values.extend(value.map(|value| (to, value)));
        }
        for folded in source_folded.iter().rev() {
            let gone = find(root, &folded.path).is_some_and(|left| match left {
                Node::Object(object) => object.is_empty(),
                left => left.is_null(),
            });
            if gone {
                take(root, &folded.path);
            }
        }
        for (to, value) in values {
            put(root, &to.path, value);
        }
        Ok(alive)
    }

    /// Drops what the source could not have kept: a container of the target of which the source would show something, or that could
    /// not be converted back. Only a hand can have written that, and the object must stay convertible all the same.
    fn drop_impossible(&self, kept: &mut Rest, events: &mut Events) {
        let (_, target_folded) = self.sort(&self.spoke.hub_folded, &self.spoke.spoke_folded);
        let back = match self.way {
            Way::Down => Way::Up,
            Way::Up => Way::Down,
        };
        for folded in target_folded {
            let Some(text) = kept.entries.get(&folded.pointer) else {
                continue;
            };
            let container = Node::from(text.as_str());
            let possible = container.is_null() || container.kind() == "object";
            let members = container.members().map(Cow::into_owned).unwrap_or_default();
            let hidden = |mapping: &Mapping| {
                let Some(below) = self.to(mapping).path.strip_prefix(folded.path.as_slice()) else {
                    return true;
                };
                let value = find(&members, below);
                mapping
                    .lens
                    .cross(back, value, None)
                    .is_ok_and(|crossed| crossed.value.is_none())
            };
            if !possible || !self.spoke.mappings.iter().all(hidden) {
                kept.entries.remove(&folded.pointer);
                events.push(Event::Broken(format!(
                    "{} cannot have been kept",
                    folded.pointer
                )));
            }
        }
    }

    fn cross_field<'a>(
        &self,
        mapping: &Mapping,
        found: Option<&Node<'a>>,
        kept: &mut Rest,
    ) -> Result<Crossed<'a>, ConvertError> {
        let kept = kept
            .entries
            .remove(&key(mapping, self.to(mapping)))
            .map(Node::from);
        mapping
            .lens
            .cross(self.way, found, kept.as_ref())
            .map_err(|unexpected| {
                let pointer = self.from(mapping).pointer.clone() + &unexpected.at;
                ConvertError::unexpected(pointer, unexpected.expected, unexpected.found)
            })
    }

    fn write_old_names(&self, root: &mut Object<'_>) {
        for renamed in &self.spoke.old_names {
            if let Some(old) = find(root, &renamed.hub.path).and_then(|new| renamed.lens.older(new))
            {
                put(root, &renamed.spoke.path, Node::from(old));
            }
        }
    }

    fn follow_old_names(&self, root: &mut Object<'_>, rest: &mut Rest) {
        for renamed in &self.spoke.old_names {
            let Some(old) = find(root, &renamed.spoke.path) else {
                continue;
            };
            let silent = old.is_null() || old.string() == Some("");
            let given = find(root, &renamed.hub.path)
                .and_then(|new| renamed.lens.older(new))
                .map(Node::from);
            let agrees = given.is_some_and(|given| renamed.lens.agree(old, &given));
            if !silent && !agrees {
                match renamed.lens.newer(old) {
                    Some(new) => put(root, &renamed.hub.path, Node::from(new)),
                    None => {
                        rest.entries
                            .insert(renamed.spoke.pointer.clone(), old.text().into_owned());
                    }
                }
            }
            take(root, &renamed.spoke.path);
        }
    }
}

/// The key of a mapped field's rest.
fn key(mapping: &Mapping, owner: &Place) -> String {
    match mapping.lens.label() {
        Some(label) => format!("{label}:{}", owner.pointer),
        None => owner.pointer.clone(),
    }
}

/// Whether a container has members, and each was the target's own before.
fn is_all_known_before(container: &Node<'_>, kept: &Rest, pointer: &str) -> bool {
    match container {
        Node::Object(object) => {
            let known = |key: &str| kept.entries.contains_key(&format!("{pointer}/{key}"));
            !object.is_empty() && object.members().iter().all(|member| known(&member.key))
        }
        _ => false,
    }
}

fn find<'n, 'a>(root: &'n Object<'a>, path: &[&str]) -> Option<&'n Node<'a>> {
    let (first, below) = path.split_first()?;
    let value = root.get(first)?;
    match value {
        _ if below.is_empty() => Some(value),
        Node::Object(object) => find(object, below),
        _ => None,
    }
}

fn take<'a>(root: &mut Object<'a>, path: &[&str]) -> Option<Node<'a>> {
    let (first, below) = path.split_first()?;
    if below.is_empty() {
        return root.take(first);
    }
    match root.get_mut(first)? {
        Node::Object(object) => take(object, below),
        _ => None,
    }
}

/// Sets the value at `path`, making the objects above it where there are none.
fn put<'a>(root: &mut Object<'a>, path: &[&str], value: Node<'a>) {
    let Some((first, below)) = path.split_first() else {
        return;
    };
    if below.is_empty() {
        root.set(first, value);
        return;
    }
    if !matches!(root.get(first), Some(Node::Object(_))) {
        root.set(first, Node::Object(Object::default()));
    }
    if let Some(Node::Object(object)) = root.get_mut(first) {
        put(object, below, value);
    }
}
