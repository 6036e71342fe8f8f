//! `env`, a map in the hub and an ordered list in the spoke.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::json::{Node, Object, decode};
use crate::lens::{Crossed, Lens, Unexpected, Way};

/// The map has no order, so the rest of a list that is not in the order of its names is that order. An entry that is more than a
/// name and a value stands in the rest as it is.
pub(super) struct Env;

/// What a map shows for an entry without a value.
const NO_VALUE: &str = "\"\"";

impl Lens for Env {
    fn label(&self) -> Option<&'static str> {
        Some("order")
    }

    fn cross<'a>(
        &self,
        way: Way,
        source: Option<&Node<'a>>,
        kept: Option<&Node<'a>>,
    ) -> Result<Crossed<'a>, Unexpected> {
        match (way, source) {
            (_, None) => Ok(Crossed::default()),
            (_, Some(source)) if source.is_null() => Ok(Crossed {
                value: Some(source.clone()),
                rest: None,
            }),
            (Way::Up, Some(list)) => up(list),
            (Way::Down, Some(map)) => down(map, kept),
        }
    }
}

/// One entry of the list.
struct Entry<'n, 'a> {
    node: &'n Node<'a>,
    members: Cow<'n, Object<'a>>,
}

impl<'n, 'a> Entry<'n, 'a> {
    fn read(node: &'n Node<'a>) -> Result<Self, (&'static str, &'static str, &'static str)> {
        let members = node
            .members()
            .ok_or(("", "an object with a name", node.kind()))?;
        let entry = Self { node, members };
        match entry.members.get("name") {
            Some(name) if name.string().is_some() => Ok(entry),
            name => Err(("/name", "a string", name.map_or("nothing", Node::kind))),
        }
    }

    /// The text between the quotes of the name.
    fn name(&self) -> &str {
        self.members
            .get("name")
            .and_then(Node::string)
            .unwrap_or_default()
    }

    fn value(&self) -> Node<'a> {
        self.members
            .get("value")
            .cloned()
            .unwrap_or_else(|| Node::from(NO_VALUE))
    }

    /// Whether name and value tell all.
    fn is_plain(&self) -> bool {
        self.members.members().len() == 2 && self.members.get("value").is_some()
    }
}

fn up<'a>(list: &Node<'a>) -> Result<Crossed<'a>, Unexpected> {
    let items = list
        .items()
        .ok_or_else(|| Unexpected::at_top("an array", list))?;
    let mut entries = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let entry = Entry::read(item).map_err(|(member, expected, found)| Unexpected {
            at: format!("/{index}{member}"),
            expected,
            found,
        })?;
        entries.push(entry);
    }
    // Of entries with the same name the last one counts, as it does for the kubelet.
    let mut last = BTreeMap::new();
    for (index, entry) in entries.iter().enumerate() {
        last.insert(decode(entry.name()), index);
    }
    let counts =
        |index: usize, entry: &Entry<'_, '_>| last.get(&decode(entry.name())) == Some(&index);

    let in_order = entries
        .windows(2)
        .all(|pair| decode(pair[0].name()) < decode(pair[1].name()));
    let rest = (!in_order || !entries.iter().all(Entry::is_plain)).then(|| {
        let order = entries.iter().enumerate().map(|(index, entry)| {
            if entry.is_plain() && counts(index, entry) {
                Node::from(format!("\"{}\"", entry.name()))
            } else {
                entry.node.clone().into_owned()
            }
        });
        Node::Array(order.collect()).text().into_owned()
    });

    let mut map = Object::default();
    for (index, entry) in entries.iter().enumerate() {
        if counts(index, entry) {
            map.push(Cow::Owned(entry.name().to_owned()), entry.value());
        }
    }
    Ok(Crossed {
        value: Some(Node::Object(map)),
        rest,
    })
}

fn down<'a>(map: &Node<'a>, kept: Option<&Node<'a>>) -> Result<Crossed<'a>, Unexpected> {
    let members = map
        .members()
        .ok_or_else(|| Unexpected::at_top("an object", map))?;
    // By name, so that what remains when the known order is used up comes out in the order of names.
    let mut left = BTreeMap::new();
    for member in members.members() {
        left.insert(decode(&member.key).into_owned(), member);
    }

    let order = kept.and_then(Node::items).unwrap_or_default();
    let mut list = Vec::new();
    for (index, kept) in order.iter().enumerate() {
        let name_of = |node: &Node<'_>| match node.string() {
            Some(raw) => decode(raw).into_owned(),
            None => Entry::read(node)
                .map(|entry| decode(entry.name()).into_owned())
                .unwrap_or_default(),
        };
        let name = name_of(kept);
        let Some(member) = left.get(&name).copied() else {
            continue;
        };
        let comes_again = order[index + 1..]
            .iter()
            .any(|later| name_of(later) == name);
        list.push(match Entry::read(kept) {
            Ok(entry) if comes_again || entry.value() == member.value => kept.clone(),
            Ok(entry) => {
                let mut edited = entry.members.into_owned();
                edited.set("value", member.value.clone());
                Node::Object(edited)
            }
            Err(_) => plain(&member.key, &member.value),
        });
        if !comes_again {
            left.remove(&name);
        }
    }
    list.extend(
        left.values()
            .map(|member| plain(&member.key, &member.value)),
    );
    Ok(Crossed {
        value: Some(Node::Array(list)),
        rest: None,
    })
}

fn plain<'a>(name: &str, value: &Node<'a>) -> Node<'a> {
    let mut entry = Object::default();
    entry.push(Cow::Borrowed("name"), Node::from(format!("\"{name}\"")));
    entry.push(Cow::Borrowed("value"), value.clone());
    Node::Object(entry)
}
