//! The fields that one version knows, as a tree.

use crate::field::{Field, Role, steps};
use crate::json::{Shape, name_is};

/// A known field: a leaf, or a container of known fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    children: Vec<(&'static str, Tree)>,
    /// Set for a list whose items are containers: the members that identify an item.
    pub(crate) item_keys: &'static [&'static str],
    /// Whether this container exists in this version only; its fields are spread or absent in the other.
    pub(crate) folded: bool,
    /// Whether a rest may bring this leaf back: its version alone has it.
    pub(crate) restorable: bool,
}

impl Tree {
    /// The tree of the hub (`true`) or of the spoke that `fields` speaks of.
    pub(crate) fn of(fields: &[Field], hub: bool) -> Self {
        let mut tree = Self::default();
        for framework in ["apiVersion", "kind", "metadata"] {
            tree.entry(framework);
        }
        for field in fields {
            let path = if hub { field.hub } else { field.spoke };
            let old_name = matches!(field.role, Role::OldName(_));
            if path.is_empty() || (hub && old_name) {
                continue;
            }
            tree.insert(path).restorable = old_name || matches!(field.role, Role::Only);
        }
        tree
    }

    /// Marks the containers that `other` has not, and gives their paths, outer ones first.
    pub(crate) fn fold(&mut self, other: &Self) -> Vec<Vec<&'static str>> {
        let mut folded = Vec::new();
        for (name, child) in self
            .children
            .iter_mut()
            .filter(|(_, child)| child.is_container())
        {
            let nothing = Self::default();
            let twin = other.child(name).unwrap_or(&nothing);
            child.folded = !twin.is_container();
            if child.folded {
                folded.push(vec![*name]);
            }
            folded.extend(
                child
                    .fold(twin)
                    .into_iter()
                    .map(|below| [vec![*name], below].concat()),
            );
        }
        folded
    }

    /// What is to be opened of an object that may be of any of the versions that `trees` are of.
    pub(crate) fn to_open<'t>(trees: impl IntoIterator<Item = &'t Self>) -> Self {
        let mut open = Self::default();
        open.insert("metadata.annotations");
        for tree in trees {
            open.merge_containers(tree);
        }
        open
    }

    /// Whether this is a container: an object, or a list of objects.
    pub(crate) fn is_container(&self) -> bool {
        !self.children.is_empty()
    }

    /// Whether this is a list of containers.
    pub(crate) fn is_list(&self) -> bool {
        !self.item_keys.is_empty()
    }

    /// The known field that a key's raw text names.
    pub(crate) fn child(&self, key: &str) -> Option<&Self> {
        self.children
            .iter()
            .find(|(name, _)| name_is(key, name))
            .map(|(_, child)| child)
    }

    fn insert(&mut self, path: &'static str) -> &mut Self {
        steps(path)
            .into_iter()
            .fold(self, |tree, (name, item_keys)| {
                let child = tree.entry(name);
                if !item_keys.is_empty() {
                    child.item_keys = item_keys;
                }
                child
            })
    }

    fn entry(&mut self, name: &'static str) -> &mut Self {
        let index = self
            .children
            .iter()
            .position(|(known, _)| *known == name)
            .unwrap_or_else(|| {
                self.children.push((name, Self::default()));
                self.children.len() - 1
            });
        &mut self.children[index].1
    }

    fn merge_containers(&mut self, other: &Self) {
        self.item_keys = other.item_keys;
        for (name, child) in other
            .children
            .iter()
            .filter(|(_, child)| child.is_container())
        {
            self.entry(name).merge_containers(child);
        }
    }
}

/// Opens every container of a tree.
#[derive(Clone, Copy)]
pub(crate) struct Open<'t> {
    tree: &'t Tree,
    /// Whether this stands for the items of the list, not for the list.
    item: bool,
}

impl<'t> Open<'t> {
    pub(crate) fn all(tree: &'t Tree) -> Self {
        Self { tree, item: false }
    }
}

impl Shape for Open<'_> {
    fn member(self, key: &str) -> Option<Self> {
        self.tree.child(key).map(Self::all)
    }

    fn items(self) -> Option<Self> {
        (self.tree.is_list() && !self.item).then_some(Self {
            tree: self.tree,
            item: true,
        })
    }
}
