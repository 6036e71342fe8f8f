//! A kind with its versions, and the conversion of one object between any two of them.

use std::borrow::Cow;

use crate::Events;
use crate::crossing::Crossing;
use crate::error::ConvertError;
use crate::field::{Field, Role};
use crate::json::{Malformed, Node, Object, Scanner, decode};
use crate::lens::{Lens, OldName, Way};
use crate::tree::Tree;

/// A kind of object: its hub version and its spokes.
///
/// Every conversion goes by the hub, so that each spoke needs one table only.
pub struct Kind {
    group: &'static str,
    name: &'static str,
    hub: &'static str,
    spokes: Vec<Spoke>,
    open: Tree,
}

/// A version that is converted to the hub and back.
pub(crate) struct Spoke {
    pub(crate) version: &'static str,
    /// The apiVersion of the hub, which is also the key of the annotation with the hub's rest.
    pub(crate) hub_key: String,
    /// The same of this version.
    pub(crate) key: String,
    pub(crate) tree: Tree,
    pub(crate) hub_tree: Tree,
    pub(crate) mappings: Vec<Mapping>,
    pub(crate) hub_only: Vec<Place>,
    pub(crate) spoke_only: Vec<Place>,
    pub(crate) old_names: Vec<Renamed>,
    /// The containers that only the hub has.
    pub(crate) hub_folded: Vec<Place>,
    /// The containers that only this version has.
    pub(crate) spoke_folded: Vec<Place>,
}

/// A field with a lens.
pub(crate) struct Mapping {
    pub(crate) hub: Place,
    pub(crate) spoke: Place,
    pub(crate) lens: &'static dyn Lens,
    /// The key of what the hub's rest has of this field.
    pub(crate) hub_rest: String,
    /// The key of what the spoke's rest has of it.
    pub(crate) spoke_rest: String,
}

/// A field that the spoke shows under a second name.
pub(crate) struct Renamed {
    pub(crate) hub: Place,
    pub(crate) spoke: Place,
    pub(crate) lens: &'static dyn OldName,
}

/// The path of a field or a container, and its JSON Pointer (RFC 6901).
pub(crate) struct Place {
    pub(crate) path: Vec<&'static str>,
    pub(crate) pointer: String,
}

impl Place {
    fn of(path: &'static str) -> Self {
        Self::at(path.split('.').collect())
    }

    fn at(path: Vec<&'static str>) -> Self {
        let pointer = path
            .iter()
            .fold(String::new(), |pointer, step| pointer + "/" + step);
        Self { path, pointer }
    }

    /// Whether this is a container of the place, or the place itself.
    pub(crate) fn holds(&self, place: &Self) -> bool {
        place.path.starts_with(&self.path)
    }
}

/// The key in a rest of what crossing this way loses of the field at `place`.
fn rest_key(lens: &dyn Lens, way: Way, place: &Place) -> String {
    match lens.label(way) {
        Some(label) => format!("{label}:{}", place.pointer),
        None => place.pointer.clone(),
    }
}

impl Spoke {
    fn new(group: &str, hub: &str, version: &'static str, fields: &[Field]) -> Self {
        let mut spoke = Self {
            version,
            hub_key: format!("{group}/{hub}"),
            key: format!("{group}/{version}"),
            tree: Tree::of(fields, false),
            hub_tree: Tree::of(fields, true),
            mappings: Vec::new(),
            hub_only: Vec::new(),
            spoke_only: Vec::new(),
            old_names: Vec::new(),
            hub_folded: Vec::new(),
            spoke_folded: Vec::new(),
        };
        for field in fields {
            let (hub, spoke_place) = (|| Place::of(field.hub), || Place::of(field.spoke));
            match field.role {
                Role::Same => {}
                Role::Mapped(lens) => spoke.mappings.push(Mapping {
                    hub_rest: rest_key(lens, Way::Down, &hub()),
                    spoke_rest: rest_key(lens, Way::Up, &spoke_place()),
                    hub: hub(),
                    spoke: spoke_place(),
                    lens,
                }),
                Role::Only(_) if field.spoke.is_empty() => spoke.hub_only.push(hub()),
                Role::Only(_) => spoke.spoke_only.push(spoke_place()),
                Role::OldName(lens) => spoke.old_names.push(Renamed {
                    hub: hub(),
                    spoke: spoke_place(),
                    lens,
                }),
            }
        }
        let places = |paths: Vec<_>| paths.into_iter().map(Place::at).collect();
        spoke.hub_folded = places(spoke.hub_tree.fold(&spoke.tree));
        spoke.spoke_folded = places(spoke.tree.fold(&spoke.hub_tree));
        spoke
    }
}

impl Kind {
    /// The kind `name` of `group`, with a table of fields for each spoke.
    pub fn new(
        group: &'static str,
        name: &'static str,
        hub: &'static str,
        spokes: &[(&'static str, &[Field])],
    ) -> Self {
        let open = Tree::to_open(spokes.iter().flat_map(|(_, fields)| *fields));
        let spokes: Vec<Spoke> = spokes
            .iter()
            .map(|(version, fields)| Spoke::new(group, hub, version, fields))
            .collect();
        Self {
            group,
            name,
            hub,
            open,
            spokes,
        }
    }

    /// The API group.
    pub fn group(&self) -> &'static str {
        self.group
    }

    /// The kind's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The version that a desired apiVersion names.
    ///
    /// # Errors
    /// When it is none of this kind's.
    pub fn version(&self, api_version: &str) -> Result<&'static str, ConvertError> {
        let versions = || {
            self.spokes
                .iter()
                .map(|spoke| spoke.version)
                .chain([self.hub])
        };
        let unknown = || ConvertError::UnknownVersion {
            found: api_version.to_owned(),
            known: versions()
                .map(|version| format!("{}/{version}", self.group))
                .collect::<Vec<_>>()
                .join(", "),
        };
        let version = api_version
            .strip_prefix(self.group)
            .and_then(|rest| rest.strip_prefix('/'));
        version
            .and_then(|version| versions().find(|known| *known == version))
            .ok_or_else(unknown)
    }

    /// The fields that a version knows; `None` when it is none of this kind's.
    pub(crate) fn fields(&self, version: &str) -> Option<&Tree> {
        match self.spokes.iter().find(|spoke| spoke.version == version) {
            Some(spoke) => Some(&spoke.tree),
            None if version == self.hub => self.spokes.first().map(|spoke| &spoke.hub_tree),
            None => None,
        }
    }

    /// Reads the object at the scanner, opened where conversion has to look inside.
    ///
    /// # Errors
    /// When no well-formed value stands there.
    pub fn read<'a>(&self, scanner: &mut Scanner<'a>) -> Result<Node<'a>, Malformed> {
        Node::read(scanner, &self.open)
    }

    /// Converts an object that [`Kind::read`] gave, in place, to the version `desired` (of [`Kind::version`]), and gives the version
    /// that it was of.
    ///
    /// The object stays the same one, its apiVersion becomes the desired one, and its metadata an object, whatever it was; see the
    /// crate's documentation for what happens to its fields. `events` tells what was done with the rest.
    ///
    /// # Errors
    /// When the object is not of this kind, or holds where the versions differ what neither schema admits. The object is then half
    /// converted: only its identity is still of use.
    pub fn convert(
        &self,
        object: &mut Node<'_>,
        desired: &'static str,
        events: &mut Events,
    ) -> Result<&'static str, ConvertError> {
        let found = object.kind();
        let Node::Object(root) = object else {
            return Err(ConvertError::unexpected(String::new(), "an object", found));
        };
        let kind = text_of(root, "kind")?;
        if kind != self.name {
            return Err(ConvertError::WrongKind {
                found: kind.into_owned(),
                expected: self.name,
            });
        }
        let current = self.version(&text_of(root, "apiVersion")?)?;
        match root.get("metadata") {
            Some(Node::Object(_)) => {}
            Some(other) if !other.is_null() => {
                return Err(ConvertError::unexpected(
                    "/metadata".to_owned(),
                    "an object",
                    other.kind(),
                ));
            }
            _ => root.set("metadata", Node::Object(Object::default())),
        }
        if current != desired {
            for crossing in self.route(current, desired) {
                crossing.run(root, events)?;
            }
        }
        Ok(current)
    }

    fn route(&self, current: &str, desired: &str) -> impl Iterator<Item = Crossing<'_>> {
        let crossing = |version: &str, way: Way| {
            let spoke = self.spokes.iter().find(|spoke| spoke.version == version)?;
            Some(Crossing { spoke, way })
        };
        [crossing(current, Way::Up), crossing(desired, Way::Down)]
            .into_iter()
            .flatten()
    }
}

fn text_of<'o>(root: &'o Object<'_>, name: &str) -> Result<Cow<'o, str>, ConvertError> {
    let node = root.get(name);
    match node.and_then(Node::string) {
        Some(raw) => Ok(decode(raw)),
        None => {
            let found = node.map_or("nothing", Node::kind);
            Err(ConvertError::unexpected(
                format!("/{name}"),
                "a string",
                found,
            ))
        }
    }
}
