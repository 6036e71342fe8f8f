//! Putting back what a rest kept.

use std::collections::BTreeMap;

use crate::json::{Node, Object, decode};
use crate::rest::{Rest, UNREAD};
use crate::tree::Tree;
use crate::unknown::{ITEMS, parse_items, same_item};

/// Puts the entries of `kept` into `root`, each only where nothing visible stands and its parent still exists: what an edit has
/// changed or deleted is not brought back. What this server cannot read goes on in `rest`.
///
/// `alive` tells whether a container that only the target has (by its pointer) shows anything at the source.
pub(crate) fn restore(
    root: &mut Object<'_>,
    target: &Tree,
    kept: Rest,
    rest: &mut Rest,
    alive: impl Fn(&str) -> bool,
) {
    let mut unread = BTreeMap::new();
    for (key, value) in kept.entries {
        if key == UNREAD {
            let passed_on = Rest::parse(&value).unwrap_or_default();
            for (key, value) in passed_on.entries {
                rest.entries.entry(key).or_insert(value);
            }
        } else if key.starts_with('/') {
            put_back(root, target, &key, value, alive(&key));
        } else if let Some(pointer) = key.strip_prefix(ITEMS) {
            put_back_items(root, target, pointer, &value);
        } else {
            unread.insert(key, value);
        }
    }
    if !unread.is_empty() {
        rest.entries
            .insert(UNREAD.to_owned(), Rest { entries: unread }.to_json());
    }
}

fn segments(pointer: &str) -> Vec<String> {
    pointer
        .split('/')
        .skip(1)
        .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
        .collect()
}

fn put_back(root: &mut Object<'_>, target: &Tree, pointer: &str, value: String, alive: bool) {
    let mut segments = segments(pointer);
    let Some(name) = segments.pop() else { return };
    let mut known = Some(target);
    let mut parent = root;
    for segment in &segments {
        known = match known.and_then(|tree| tree.child(segment)) {
            Some(leaf) if !leaf.is_container() => return,
            below => below,
        };
        match parent.get_mut(segment).and_then(Node::open) {
            Some(object) => parent = object,
            None => return,
        }
    }
    match known.and_then(|tree| tree.child(&name)) {
        Some(container) if container.is_container() => {
            if container.folded {
                put_back_container(parent, container, &name, value, alive);
            }
        }
        Some(leaf) if !leaf.restorable => {}
        _ => {
            if parent.get(&name).is_none() {
                parent.set(&name, Node::from(value));
            }
        }
    }
}

/// A container that was kept whole since nothing of it could be shown: its members are put beside what is there now, but for
/// those that the source could have shown and did not.
fn put_back_container(
    parent: &mut Object<'_>,
    container: &Tree,
    name: &str,
    value: String,
    alive: bool,
) {
    let Some(present) = parent.get_mut(name) else {
        if !alive {
            parent.set(name, Node::from(value));
        }
        return;
    };
    let (Some(present), Some(kept)) = (present.open(), Object::parse(&value)) else {
        return;
    };
    add_absent(present, &kept.into_owned(), |key| {
        let shown = container.child(key).is_some_and(|leaf| !leaf.restorable);
        !(alive && shown)
    });
}

/// Puts those members of `kept` beside what is there that are not there yet, and whose key may be put.
fn add_absent<'a>(present: &mut Object<'a>, kept: &Object<'a>, may: impl Fn(&str) -> bool) {
    for member in kept.members() {
        if may(&member.key) && present.get(&decode(&member.key)).is_none() {
            present.push(member.key.clone(), member.value.clone());
        }
    }
}

fn put_back_items(root: &mut Object<'_>, target: &Tree, pointer: &str, value: &str) {
    let mut known = target;
    let mut parent = root;
    let mut segments = segments(pointer);
    let Some(name) = segments.pop() else { return };
    for segment in &segments {
        match (
            known.child(segment),
            parent.get_mut(segment).and_then(Node::open),
        ) {
            (Some(below), Some(object)) => (known, parent) = (below, object),
            _ => return,
        }
    }
    let (Some(list), Some(Node::Array(items))) = (known.child(&name), parent.get_mut(&name)) else {
        return;
    };
    for kept in parse_items(value) {
        let twin = items
            .iter_mut()
            .filter_map(Node::open)
            .find(|item| same_item(item, &kept, list.item_keys));
        if let Some(twin) = twin {
            add_absent(twin, &kept, |key| list.child(key).is_none());
        }
    }
}
