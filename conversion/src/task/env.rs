//! `env`, a map in the hub and an ordered list in the spoke.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::json::{Node, Object, decode};
use crate::lens::{Crossed, Lens, Unexpected, Way};

/// The map has no order, so the rest of a list that is not in the order of its names is that order. An entry that is more than a
/// name and a value stands in the rest as it is.
pub(super) struct Env;

/// What an entry has more than a member of the map.
const ENTRY: &str = r#"{"name":,"value":}"#;

/// What a map shows for an entry without a value.
const NO_VALUE: &str = "\"\"";

impl Lens for Env {
    fn label(&self, _: Way) -> Option<&'static str> {
        Some("order")
    }

    fn cross<'a>(
        &self,
        way: Way,
        source: Option<&Node<'a>>,
        kept: Option<&Node<'a>>,
    ) -> Result<Crossed<'a>, Unexpected> {
        match source {
            Some(source) if !source.is_null() => match way {
                Way::Up => up(source),
                Way::Down => down(source, kept),
            },
            nothing => Ok(Crossed::whole(nothing.cloned())),
        }
    }
}

/// One entry of the list.
struct Entry<'n> {
    node: &'n Node<'n>,
    members: Cow<'n, Object<'n>>,
}

impl<'n> Entry<'n> {
    fn read(node: &'n Node<'n>) -> Result<Self, (&'static str, &'static str, &'static str)> {
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
    fn raw_name(&self) -> &str {
        self.members
            .get("name")
            .and_then(Node::string)
            .unwrap_or_default()
    }

    fn value(&self) -> Cow<'_, str> {
        self.members
            .get("value")
            .map_or(Cow::Borrowed(NO_VALUE), Node::text)
    }

    /// Whether name and value tell all.
    fn is_plain(&self) -> bool {
        self.members.members().len() == 2 && self.members.get("value").is_some()
    }
}

fn up<'a>(list: &Node<'_>) -> Result<Crossed<'a>, Unexpected> {
    let items = list
        .items()
        .ok_or_else(|| Unexpected::at_top("an array", list))?;
    let mut entries = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let entry = Entry::read(item).map_err(|(member, expected, found)| Unexpected {
            at: format!("/{index}{member}"),
            expected,
            found,
        })?;
        entries.push(entry);
    }
    let names: Vec<Cow<'_, str>> = entries
        .iter()
        .map(|entry| decode(entry.raw_name()))
        .collect();
    let in_order = names.is_sorted_by(|a, b| a < b);
    // Of entries with the same name the last one counts, as it does for the kubelet.
    let last: BTreeMap<&str, usize> = match in_order {
        true => BTreeMap::new(),
        false => names.iter().map(AsRef::as_ref).zip(0..).collect(),
    };
    let counts = |index: usize| in_order || last.get(names[index].as_ref()) == Some(&index);

    // Less than the list, whose every entry names its members.
    let mut map = String::with_capacity(list.text().len());
    map.push('{');
    for (index, entry) in entries.iter().enumerate() {
        if counts(index) {
            push_comma(&mut map);
            push_quoted(&mut map, entry.raw_name());
            map.push(':');
            map.push_str(&entry.value());
        }
    }
    map.push('}');

    let rest = (!in_order || !entries.iter().all(Entry::is_plain)).then(|| {
        let mut order = String::from("[");
        for (index, entry) in entries.iter().enumerate() {
            push_comma(&mut order);
            if entry.is_plain() && counts(index) {
                push_quoted(&mut order, entry.raw_name());
            } else {
                entry.node.write(&mut order);
            }
        }
        order.push(']');
        order
    });
    Ok(Crossed {
        value: Some(Node::from(map)),
        rest,
    })
}

fn down<'a>(map: &Node<'_>, kept: Option<&Node<'_>>) -> Result<Crossed<'a>, Unexpected> {
    let members = map
        .members()
        .ok_or_else(|| Unexpected::at_top("an object", map))?;
    // By name, so that what remains when the known order is used up comes out in the order of names.
    let mut left: BTreeMap<Cow<'_, str>, (&str, Cow<'_, str>)> = members
        .members()
        .iter()
        .map(|member| {
            let raw: &str = &member.key;
            (decode(raw), (raw, member.value.text()))
        })
        .collect();

    let order = kept.and_then(Node::items).unwrap_or_default();
    let names: Vec<Cow<'_, str>> = order.iter().map(name_of).collect();
    let last: BTreeMap<&str, usize> = names.iter().map(AsRef::as_ref).zip(0..).collect();
    // Each entry names its members, and nearly always the variables are the same as before.
    let mut list = String::with_capacity(map.text().len() + left.len() * ENTRY.len() + 2);
    list.push('[');
    for (index, kept) in order.iter().enumerate() {
        let name = names[index].as_ref();
        let Some((raw, value)) = left.get(name) else {
            continue;
        };
        let comes_again = last.get(name) != Some(&index);
        match Entry::read(kept) {
            Ok(entry) if comes_again || entry.value() == *value => {
                push_comma(&mut list);
                kept.write(&mut list);
            }
            Ok(entry) => {
                let mut edited = entry.members.into_owned();
                edited.set("value", Node::from(value.as_ref()));
                push_comma(&mut list);
                Node::Object(edited).write(&mut list);
            }
            // A name alone stands for the entry that counts.
            Err(_) if comes_again => {}
            Err(_) => push_entry(&mut list, raw, value),
        }
        if !comes_again {
            left.remove(name);
        }
    }
    for (raw, value) in left.values() {
        push_entry(&mut list, raw, value);
    }
    list.push(']');
    Ok(Crossed::whole(Some(Node::from(list))))
}

/// The name that a kept entry is of: it stands alone, or in the entry.
fn name_of<'n>(kept: &'n Node<'n>) -> Cow<'n, str> {
    match kept.string() {
        Some(raw) => decode(raw),
        None => Entry::read(kept)
            .map(|entry| Cow::Owned(decode(entry.raw_name()).into_owned()))
            .unwrap_or_default(),
    }
}

fn push_entry(list: &mut String, raw_name: &str, value: &str) {
    push_comma(list);
    list.push_str("{\"name\":");
    push_quoted(list, raw_name);
    list.push_str(",\"value\":");
    list.push_str(value);
    list.push('}');
}

fn push_quoted(out: &mut String, raw: &str) {
    out.push('"');
    out.push_str(raw);
    out.push('"');
}

fn push_comma(out: &mut String) {
    if out.len() > 1 {
        out.push(',');
    }
}
