//! The fields that one version knows, as a tree.

use crate::field::{Admits, Field, Role};
use crate::json::{Key, Shape};

/// A known field: a leaf, or a container of known fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    children: Vec<(&'static str, Tree)>,
    /// Whether this container exists in this version only; its fields are spread or absent in the other.
    pub(crate) folded: bool,
    /// Set for a leaf that this version alone has: what a rest may bring back there.
    pub(crate) restorable: Option<Admits>,
}

impl Tree {
    /// The tree of the hub (`true`) or of the spoke that `fields` speaks of. Old names are no fields of their own.
    pub(crate) fn of(fields: &[Field], hub: bool) -> Self {
        let mut tree = Self::default();
        for framework in ["apiVersion", "kind", "metadata"] {
            tree.insert(framework);
        }
        for field in fields {
            let path = if hub { field.hub } else { field.spoke };
            match field.role {
                Role::OldName(_) => {}
                _ if path.is_empty() => {}
                Role::Only(admits) => tree.insert(path).restorable = Some(admits),
                Role::Same | Role::Mapped(_) => {
                    tree.insert(path);
                }
            }
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
            let twin = other.child_named(name).unwrap_or(&nothing);
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

    /// What a conversion by these tables has to look into: the containers of the fields that are not the same.
    pub(crate) fn to_open<'f>(fields: impl IntoIterator<Item = &'f Field>) -> Self {
        let mut open = Self::default();
        open.insert("metadata.annotations");
        for field in fields {
            if matches!(field.role, Role::Same) {
                continue;
            }
            for (container, _) in [field.hub, field.spoke]
                .iter()
                .filter_map(|path| path.rsplit_once('.'))
            {
                open.insert(container);
            }
        }
        open
    }

    /// Whether this is an object of known fields.
    pub(crate) fn is_container(&self) -> bool {
        !self.children.is_empty()
    }

    /// The known field that a key names.
    pub(crate) fn child(&self, key: &Key<'_>) -> Option<&Self> {
        self.find(|name| key.is(name))
    }

    /// The known field of this name.
    pub(crate) fn child_named(&self, name: &str) -> Option<&Self> {
        self.find(|known| known == name)
    }

    /// The container of known fields of this name.
    pub(crate) fn container(&self, name: &str) -> Option<&Self> {
        self.child_named(name).filter(|tree| tree.is_container())
    }

    /// The known field at a path.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter()
            .try_fold(self, |tree, name| tree.child_named(name))
    }

    fn find(&self, is_it: impl Fn(&str) -> bool) -> Option<&Self> {
        self.children
            .iter()
            .find(|(name, _)| is_it(name))
            .map(|(_, child)| child)
    }

    fn insert(&mut self, path: &'static str) -> &mut Self {
        path.split('.').fold(self, |tree, name| {
            let known = tree.children.iter().position(|(known, _)| *known == name);
            let index = known.unwrap_or_else(|| {
                tree.children.push((name, Self::default()));
                tree.children.len() - 1
            });
            &mut tree.children[index].1
        })
    }
}

/// A tree of containers, each of which is opened.
impl Shape for &Tree {
    fn member(self, key: &Key<'_>) -> Option<Self> {
        self.child(key)
    }
}
