//! One step between a spoke and the hub: the order in which the parts of the conversion act.
//!
//! A *folded* container is one that only one of the two versions has: its fields stand elsewhere in the other, or nowhere. At its
//! target it comes to be only by what is shown of it; at its source it is *hidden* when the target shows nothing of it, and then rides
//! in the rest as a whole.

use crate::Events;
use crate::annotations;
use crate::error::ConvertError;
use crate::json::{Member, Node, Object, encode};
use crate::kind::{Mapping, Place, Spoke};
use crate::lens::{Crossed, Way};
use crate::pointer::step_of;
use crate::rest::Rest;
use crate::restore::Restore;
use crate::tree::Tree;
use crate::unknown::carry;

pub(crate) struct Crossing<'k> {
    pub(crate) spoke: &'k Spoke,
    pub(crate) way: Way,
}

/// A mapped field on its way.
struct Moving<'k, 'a> {
    mapping: &'k Mapping,
    /// Whether the source has it.
    found: bool,
    crossed: Crossed<'a>,
}

impl<'k> Crossing<'k> {
    /// Makes an object of the source's version one of the target's.
    pub(crate) fn run(
        &self,
        root: &mut Object<'_>,
        events: &mut Events,
    ) -> Result<(), ConvertError> {
        let spoke = self.spoke;
        let (source_key, target_key) = self.source_and_target(&spoke.hub_key, &spoke.key);
        let (source, target) = self.source_and_target(&spoke.hub_tree, &spoke.tree);

        let mut kept = annotations::take(root, target_key, source_key, events)?;
        let mut rest = Rest::default();
        carry(root, source, target, &kept, &mut rest)?;
        if self.way == Way::Up {
            self.follow_old_names(root);
        }
        let moving = self.cross_fields(root, &mut kept)?;
        let alive = self.alive(&moving);
        self.take_out(root, &moving, &kept, &mut rest);
        self.put_in(root, moving);
        let restore = Restore {
            source,
            target,
            way: self.way,
            alive: &alive,
        };
        restore.run(root, kept, &mut rest, events);
        if self.way == Way::Down {
            self.write_old_names(root);
        }
        root.set("apiVersion", Node::from(encode(target_key)));
        annotations::put(root, source_key, rest, events);
        Ok(())
    }

    /// The hub's and the spoke's thing as the source's and the target's.
    fn source_and_target<T>(&self, hub: T, spoke: T) -> (T, T) {
        match self.way {
            Way::Down => (hub, spoke),
            Way::Up => (spoke, hub),
        }
    }

    /// Where a mapped field is in the source, and where in the target.
    fn places<'m>(&self, mapping: &'m Mapping) -> (&'m Place, &'m Place) {
        self.source_and_target(&mapping.hub, &mapping.spoke)
    }

    /// What becomes of every mapped field.
    fn cross_fields<'a>(
        &self,
        root: &Object<'a>,
        kept: &mut Rest,
    ) -> Result<Vec<Moving<'k, 'a>>, ConvertError> {
        let cross = |mapping: &'k Mapping| {
            let (_, kept_key) = self.source_and_target(&mapping.hub_rest, &mapping.spoke_rest);
            let (from, _) = self.places(mapping);
            let found = find(root, &from.path);
            let kept = kept.entries.remove(kept_key).map(Node::from);
            let crossed =
                mapping
                    .lens
                    .cross(self.way, found, kept.as_ref())
                    .map_err(|unexpected| {
                        let pointer = from.pointer.clone() + &unexpected.at;
                        ConvertError::unexpected(pointer, unexpected.expected, unexpected.found)
                    })?;
            Ok(Moving {
                mapping,
                found: found.is_some(),
                crossed,
            })
        };
        self.spoke.mappings.iter().map(cross).collect()
    }

    /// The pointers of the target's folded containers of which the source has something.
    fn alive(&self, moving: &[Moving<'_, '_>]) -> Vec<&'k str> {
        let spoke = self.spoke;
        let (_, folded) = self.source_and_target(&spoke.hub_folded, &spoke.spoke_folded);
        let is_alive = |folded: &&Place| {
            moving
                .iter()
                .any(|field| field.found && folded.holds(self.places(field.mapping).1))
        };
        folded
            .iter()
            .filter(is_alive)
            .map(|folded| folded.pointer.as_str())
            .collect()
    }

    /// Takes out of `root` what does not stand at the same place in the target, and puts into `rest` what the target cannot show.
    fn take_out(
        &self,
        root: &mut Object<'_>,
        moving: &[Moving<'_, '_>],
        kept: &Rest,
        rest: &mut Rest,
    ) {
        let spoke = self.spoke;
        let (folded, _) = self.source_and_target(&spoke.hub_folded, &spoke.spoke_folded);
        let (source, _) = self.source_and_target(&spoke.hub_tree, &spoke.tree);
        let hidden = self.hidden(root, folded, moving);
        for container in &hidden {
            let Some(value) = find(root, &container.path) else {
                continue;
            };
            let fields = source.at(&container.path);
            if !is_all_known_before(value, fields, kept, container) {
                let text = value.text().into_owned();
                rest.entries.insert(container.pointer.clone(), text);
            }
        }
        let is_hidden = |place: &Place| hidden.iter().any(|container| container.holds(place));

        let (source_only, _) = self.source_and_target(&spoke.hub_only, &spoke.spoke_only);
        for place in source_only {
            if let Some(value) = take(root, &place.path)
                && !is_hidden(place)
            {
                rest.entries
                    .insert(place.pointer.clone(), value.text().into_owned());
            }
        }
        for field in moving {
            let (from, to) = self.places(field.mapping);
            if from.path != to.path || field.crossed.value.is_none() {
                take(root, &from.path);
            }
            if let Some(lost) = &field.crossed.rest
                && !is_hidden(from)
            {
                let mapping = field.mapping;
                let (key, _) = self.source_and_target(&mapping.hub_rest, &mapping.spoke_rest);
                rest.entries.insert(key.clone(), lost.clone());
            }
        }
        for container in folded.iter().rev() {
            let is_empty = |left: &Node<'_>| match left {
                Node::Object(object) => object.is_empty(),
                left => left.is_null(),
            };
            if find(root, &container.path).is_some_and(is_empty) {
                take(root, &container.path);
            }
        }
    }

    /// The source's folded containers of which the target shows nothing; of those inside each other, the outermost.
    fn hidden(
        &self,
        root: &Object<'_>,
        folded: &'k [Place],
        moving: &[Moving<'_, '_>],
    ) -> Vec<&'k Place> {
        let mut hidden: Vec<&Place> = Vec::new();
        for container in folded {
            let shows = |field: &Moving<'_, '_>| {
                field.crossed.value.is_some() && container.holds(self.places(field.mapping).0)
            };
            if !moving.iter().any(shows)
                && find(root, &container.path).is_some()
                && !hidden.iter().any(|outer| outer.holds(container))
            {
                hidden.push(container);
            }
        }
        hidden
    }

    fn put_in<'a>(&self, root: &mut Object<'a>, moving: Vec<Moving<'_, 'a>>) {
        for field in moving {
            if let Some(value) = field.crossed.value {
                put(root, &self.places(field.mapping).1.path, value);
            }
        }
    }

    fn write_old_names(&self, root: &mut Object<'_>) {
        for renamed in &self.spoke.old_names {
            if let Some(old) = find(root, &renamed.hub.path).and_then(|new| renamed.lens.older(new))
            {
                put(root, &renamed.spoke.path, Node::from(old));
            }
        }
    }

    /// Lets an old name that an old client has changed win over the newer one, and takes the old names out.
    fn follow_old_names(&self, root: &mut Object<'_>) {
        for renamed in &self.spoke.old_names {
            let Some(old) = find(root, &renamed.spoke.path) else {
                continue;
            };
            let silent = old.is_null() || old.string() == Some("");
            let given = find(root, &renamed.hub.path)
                .and_then(|new| renamed.lens.older(new))
                .map(Node::from);
            let agrees = given.is_some_and(|given| renamed.lens.agree(old, &given));
            if !silent
                && !agrees
                && let Some(new) = renamed.lens.newer(old)
            {
                put(root, &renamed.hub.path, Node::from(new));
            }
            take(root, &renamed.spoke.path);
        }
    }
}

/// Whether a container has members, and each was the target's own before: one that the source does not know, and `kept` does.
fn is_all_known_before(
    container: &Node<'_>,
    fields: Option<&Tree>,
    kept: &Rest,
    place: &Place,
) -> bool {
    let Node::Object(object) = container else {
        return false;
    };
    let is_known_before = |member: &Member<'_>| {
        let pointer = || format!("{}/{}", place.pointer, step_of(&member.key));
        fields.is_none_or(|fields| fields.child(&member.key).is_none())
            && kept.entries.contains_key(&pointer())
    };
    !object.is_empty() && object.members().iter().all(is_known_before)
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
fn put<'a>(root: &mut Object<'a>, path: &[&'static str], value: Node<'a>) {
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
