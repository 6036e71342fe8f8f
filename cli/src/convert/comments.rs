//! Keeping the comments of a list's items where it becomes a mapping, and of a mapping's members where it becomes a list.

use std::collections::BTreeMap;

use yaml_edit::{YamlFile, YamlNode};

use super::edit::written;
use crate::manifest::Value;

/// The member by which an item of a list is the member of a mapping.
const NAME: &str = "name";

/// The comments of one item or member.
#[derive(Default)]
struct Comments {
    /// Those on lines of their own before it.
    above: Vec<String>,
    /// Those at the ends of its lines.
    beside: Vec<String>,
}

/// `new` as a block of YAML, with the comments that `node`, which says `old`, has at the items or members of the same names.
///
/// `None` where the two are no such list and mapping, or there is no comment to keep.
pub(super) fn carried(
    file: &YamlFile,
    node: &YamlNode,
    old: &Value,
    new: &Value,
) -> Option<String> {
    let (parts, starts) = match (node, old, new) {
        (YamlNode::Sequence(sequence), Value::Array(items), Value::Object(_)) => {
            let names = items.iter().map(|item| item.text(NAME).map(str::to_owned));
            let starts = sequence.values().map(|item| item.byte_range().start);
            (
                names.collect::<Option<Vec<_>>>()?,
                starts.collect::<Vec<_>>(),
            )
        }
        (YamlNode::Mapping(mapping), Value::Object(members), Value::Array(_)) => {
            let starts = mapping.keys().map(|key| key.byte_range().start);
            (
                members.iter().map(|(name, _)| name.clone()).collect(),
                starts.collect(),
            )
        }
        _ => return None,
    };
    if parts.len() != starts.len() {
        return None;
    }
    let places: Vec<_> = starts
        .into_iter()
        .map(|start| start as usize)
        .zip(parts)
        .collect();
    let mut comments = found(file, node, &places);
    if comments.is_empty() {
        return None;
    }
    let mut text = String::new();
    match new {
        Value::Object(members) => {
            for (name, value) in members {
                let part = written(&Value::Object(vec![(name.clone(), value.clone())]));
                push(&mut text, &part, comments.remove(name).unwrap_or_default());
            }
        }
        Value::Array(items) => {
            for item in items {
                let part = written(&Value::Array(vec![item.clone()]));
                let comments = item.text(NAME).and_then(|name| comments.remove(name));
                push(&mut text, &part, comments.unwrap_or_default());
            }
        }
        _ => return None,
    }
    Some(text)
}

/// The comments in a node by the names of what they belong to. `places` are the starts of its parts, in order.
fn found(
    file: &YamlFile,
    node: &YamlNode,
    places: &[(usize, String)],
) -> BTreeMap<String, Comments> {
    let text = file.to_string();
    let range = node.byte_range();
    let line_end = |at: usize| text[at..].find('\n').map_or(text.len(), |end| at + end);
    // A comment at the end of the last line stands behind the node, and those above its first line before it.
    let end = line_end((range.end as usize).saturating_sub(1));
    let start = above(&text, range.start as usize);
    let mut comments: BTreeMap<String, Comments> = BTreeMap::new();
    for comment in file.comments() {
        let at = usize::from(comment.text_range().start());
        if !(start..end).contains(&at) {
            continue;
        }
        let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let alone = text[line..at].trim().is_empty();
        let before = places.iter().rev().find(|(start, _)| *start <= at);
        let after = places.iter().find(|(start, _)| *start > at);
        let place = if alone { after.or(before) } else { before };
        let Some((_, name)) = place else { continue };
        let comments = comments.entry(name.clone()).or_default();
        let kind = if alone {
            &mut comments.above
        } else {
            &mut comments.beside
        };
        kind.push(comment.text().trim_end().to_owned());
    }
    comments
}

/// Where the lines begin that stand directly above a place and have nothing but a comment.
fn above(text: &str, at: usize) -> usize {
    let mut start = text[..at].rfind('\n').map_or(at, |end| end + 1);
    while let Some(line) = text[..start].lines().next_back()
        && line.trim_start().starts_with('#')
    {
        start = text[..start - 1].rfind('\n').map_or(0, |end| end + 1);
    }
    start
}

/// Adds a part with its comments: one comment at the end of the only line, all others on lines before it.
fn push(text: &mut String, part: &str, comments: Comments) {
    let Comments {
        mut above,
        mut beside,
    } = comments;
    let one_line = part.trim_end().lines().count() == 1 && beside.len() == 1;
    if !one_line {
        above.append(&mut beside);
    }
    for comment in above {
        text.push_str(&comment);
        text.push('\n');
    }
    match beside.first() {
        Some(comment) => {
            text.push_str(part.trim_end());
            text.push_str("  ");
            text.push_str(comment);
            text.push('\n');
        }
        None => text.push_str(part),
    }
}
