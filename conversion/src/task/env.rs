//! `env`, a map in the hub and an ordered list in the spoke.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::json::{Key, Malformed, Node, Object, Scanner, decode};
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
    text: &'n str,
    /// The text between the quotes of the name.
    raw_name: &'n str,
    /// The value's text, if there is one.
    value: Option<&'n str>,
    members: usize,
}

/// That something is no entry: where below it something else is expected, what, and the kind of what is there.
struct NoEntry {
    at: &'static str,
    expected: &'static str,
    found: &'static str,
}

impl From<Malformed> for NoEntry {
    fn from(_: Malformed) -> Self {
        Self::in_place_of("nothing")
    }
}

impl NoEntry {
    fn in_place_of(found: &'static str) -> Self {
        Self {
            at: "",
            expected: "an object with a name",
            found,
        }
    }
}

impl<'n> Entry<'n> {
    fn read(scanner: &mut Scanner<'n>) -> Result<Self, NoEntry> {
        if scanner.peek() != b'{' {
            return Err(NoEntry::in_place_of(Node::from(scanner.value()?).kind()));
        }
        let (mut name, mut value, mut members) = (None, None, 0);
        let ((), text) = scanner.with_text(|scanner| {
            scanner.object(|scanner, key| {
                members += 1;
                let text = scanner.value()?;
                if key.is("name") {
                    name = Some(text);
                } else if key.is("value") {
                    value = Some(text);
                }
                Ok::<_, Malformed>(())
            })
        })?;
        let raw_name = name.and_then(|name| name.strip_prefix('"')?.strip_suffix('"'));
        let raw_name = raw_name.ok_or(NoEntry {
            at: "/name",
            expected: "a string",
            found: name.map_or("nothing", |name| Node::from(name).kind()),
        })?;
        Ok(Self {
            text,
            raw_name,
            value,
            members,
        })
    }

    /// The entry that `text` is, unless it is none.
    fn parse(text: &'n str) -> Option<Self> {
        Self::read(&mut Scanner::new(text)).ok()
    }

    fn value(&self) -> &'n str {
        self.value.unwrap_or(NO_VALUE)
    }

    /// Whether name and value tell all.
    fn is_plain(&self) -> bool {
        self.members == 2 && self.value.is_some()
    }
}

fn up<'a>(list: &Node<'_>) -> Result<Crossed<'a>, Unexpected> {
    let text = list.text();
    if list.kind() != "array" {
        return Err(Unexpected::at_top("an array", list));
    }
    let mut entries = Vec::with_capacity(16);
    Scanner::new(&text)
        .array(|scanner| {
            let entry = Entry::read(scanner)?;
            entries.push((decode(entry.raw_name), entry));
            Ok(())
        })
        .map_err(|no_entry: NoEntry| Unexpected {
            at: format!("/{}{}", entries.len(), no_entry.at),
            expected: no_entry.expected,
            found: no_entry.found,
        })?;
    let in_order = entries.is_sorted_by(|(a, _), (b, _)| a < b);
    // Of entries with the same name the last one counts, as it does for the kubelet.
    let last: BTreeMap<&str, usize> = match in_order {
        true => BTreeMap::new(),
        false => entries
            .iter()
            .map(|(name, _)| name.as_ref())
            .zip(0..)
            .collect(),
    };
    let counts = |index: usize, name: &str| in_order || last.get(name) == Some(&index);

    // Less than the list, whose every entry names its members.
    let mut map = String::with_capacity(text.len());
    map.push('{');
    for (index, (name, entry)) in entries.iter().enumerate() {
        if counts(index, name) {
            push_comma(&mut map);
            push_quoted(&mut map, entry.raw_name);
            map.push(':');
            map.push_str(entry.value());
        }
    }
    map.push('}');

    let rest = (!in_order || !entries.iter().all(|(_, entry)| entry.is_plain())).then(|| {
        let mut order = String::with_capacity(text.len());
        order.push('[');
        for (index, (name, entry)) in entries.iter().enumerate() {
            push_comma(&mut order);
            if entry.is_plain() && counts(index, name) {
                push_quoted(&mut order, entry.raw_name);
            } else {
                order.push_str(entry.text);
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

/// One variable of the map.
struct Variable<'n> {
    key: Key<'n>,
    value: &'n str,
    /// Where the known order names it for the last time.
    last: Option<usize>,
}

fn down<'a>(map: &Node<'_>, kept: Option<&Node<'_>>) -> Result<Crossed<'a>, Unexpected> {
    let text = map.text();
    let mut variables =
        by_name(&text).map_err(|_: Malformed| Unexpected::at_top("an object", map))?;
    let order = kept.and_then(Node::items).unwrap_or_default();
    let order: Vec<&str> = order.iter().filter_map(Node::unopened).collect();
    let named: Vec<Option<usize>> = order
        .iter()
        .map(|kept| {
            let name = name_of(kept)?;
            variables
                .binary_search_by(|variable| variable.key.name().cmp(&name))
                .ok()
        })
        .collect();
    for (index, variable) in named.iter().enumerate() {
        if let Some(variable) = variable {
            variables[*variable].last = Some(index);
        }
    }

    // Each entry names its members, and nearly always the variables are the same as before.
    let mut list = String::with_capacity(text.len() + variables.len() * ENTRY.len() + 2);
    list.push('[');
    for (index, (kept, variable)) in order.iter().zip(&named).enumerate() {
        let Some(variable) = variable.map(|variable| &variables[variable]) else {
            continue;
        };
        let comes_again = variable.last != Some(index);
        match Entry::parse(kept) {
            Some(entry) if comes_again || entry.value() == variable.value => {
                push_comma(&mut list);
                list.push_str(kept);
            }
            Some(_) => {
                push_comma(&mut list);
                let mut edited = Object::parse(kept).unwrap_or_default();
                edited.set("value", Node::from(variable.value));
                Node::Object(edited).write(&mut list);
            }
            // A name alone stands for the entry that counts.
            None if comes_again => {}
            None => push_entry(&mut list, variable),
        }
    }
    for variable in variables.iter().filter(|variable| variable.last.is_none()) {
        push_entry(&mut list, variable);
    }
    list.push(']');
    Ok(Crossed::whole(Some(Node::from(list))))
}

/// The variables in the order of their names, which is how the API server writes them.
fn by_name(map: &str) -> Result<Vec<Variable<'_>>, Malformed> {
    let mut variables = Vec::with_capacity(16);
    Scanner::new(map).object(|scanner, key| {
        let value = scanner.value()?;
        variables.push(Variable {
            key,
            value,
            last: None,
        });
        Ok::<_, Malformed>(())
    })?;
    if !variables.is_sorted_by(|a, b| a.key.name() < b.key.name()) {
        // The last of equal names counts: it comes first here, and the first is what stays.
        variables.reverse();
        variables.sort_by(|a, b| a.key.name().cmp(&b.key.name()));
        variables.dedup_by(|later, first| later.key.name() == first.key.name());
    }
    Ok(variables)
}

/// The name that a kept entry is of: it stands alone, or in the entry.
fn name_of(kept: &str) -> Option<Cow<'_, str>> {
    match kept
        .strip_prefix('"')
        .and_then(|kept| kept.strip_suffix('"'))
    {
        Some(raw_name) => Some(decode(raw_name)),
        None => Entry::parse(kept).map(|entry| decode(entry.raw_name)),
    }
}

fn push_entry(list: &mut String, variable: &Variable<'_>) {
    push_comma(list);
    list.push_str("{\"name\":");
    push_quoted(list, variable.key.raw());
    list.push_str(",\"value\":");
    list.push_str(variable.value);
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
