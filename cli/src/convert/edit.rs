//! Making one document of YAML say something else, with as little of its text changed as can be.
//!
//! The text is edited by yaml-edit, which keeps comments, order and style of whatever is not touched. Nothing is believed of the
//! result: it is read again, and where kubectl would not read exactly what it is to read, more is written anew: at last all of it.

use std::str::FromStr;

use serde::Serialize;
use yaml_edit::{Document, Mapping, YamlFile, YamlNode};

use super::comments::carried;
use super::items::{EditedItems, edit_items};
use crate::manifest::{Value, read};

/// A document that was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edited {
    /// Its text.
    pub text: String,
    /// How many comments of the old text are not in it.
    pub comments_lost: usize,
    /// The text was written anew, as it could not be edited.
    pub rewritten: bool,
}

/// Changes `text`, which says `old`, so that it says `new`.
#[must_use]
pub fn edit(text: &str, old: &Value, new: &Value) -> Edited {
    let Some(items) = edit_items(text, old, new) else {
        return edit_whole(text, old, new);
    };
    let EditedItems {
        text,
        value,
        comments_lost,
        rewritten,
    } = items;
    let items = Edited {
        text,
        comments_lost,
        rewritten,
    };
    if value.same_as(new) {
        return items;
    }
    let whole = edit_whole(&items.text, &value, new);
    Edited {
        comments_lost: items.comments_lost + whole.comments_lost,
        rewritten: items.rewritten || whole.rewritten,
        text: whole.text,
    }
}

fn edit_whole(text: &str, old: &Value, new: &Value) -> Edited {
    let before = comments(text);
    let edited = [Place::BeforeRemoved, Place::AtEnd]
        .into_iter()
        .filter_map(|place| edited(text, old, new, place))
        .map(|edited| like(text, edited))
        .find(|edited| says(edited, new));
    let rewritten = edited.is_none();
    let text = edited.unwrap_or_else(|| like(text, written(new)));
    Edited {
        comments_lost: before.saturating_sub(comments(&text)),
        text,
        rewritten,
    }
}

/// Where a new member goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first one that is taken away beside it: it most likely says the same.
    BeforeRemoved,
    /// After all others.
    AtEnd,
}

/// The value as a block of YAML, quoted so that it is the same for readers of YAML 1.1.
pub(super) fn written(value: &impl Serialize) -> String {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    match serde_saphyr::to_string_with_options(value, options) {
        Ok(text) => text,
        Err(error) => unreachable!("plain data always has a form in YAML: {error}"),
    }
}

/// Whether kubectl reads `value` in the text.
pub(super) fn says(text: &str, value: &Value) -> bool {
    read::read(text).is_ok_and(|read| read.is_some_and(|read| read.same_as(value)))
}

fn comments(text: &str) -> usize {
    YamlFile::from_str(text).map_or(0, |file| file.comments().count())
}

/// The edited text with the line ends of the original.
fn like(original: &str, edited: String) -> String {
    if original.contains("\r\n") {
        edited.replace("\r\n", "\n").replace('\n', "\r\n")
    } else {
        edited
    }
}

fn edited(text: &str, old: &Value, new: &Value, place: Place) -> Option<String> {
    let file = YamlFile::from_str(text).ok()?;
    let root = file.document()?.as_mapping()?;
    Editor { file: &file, place }.members(&root, old, new)?;
    Some(file.to_string())
}

/// Edits one document.
struct Editor<'f> {
    file: &'f YamlFile,
    place: Place,
}

impl Editor<'_> {
    /// Makes a mapping that says `old` say `new`; `None` where its text is not as it should be.
    fn members(&self, mapping: &Mapping, old: &Value, new: &Value) -> Option<()> {
        let old = old.members()?;
        let removed: Vec<&str> = old
            .iter()
            .map(|(key, _)| key.as_str())
            .filter(|key| new.get(key).is_none())
            .collect();
        for (key, value) in new.members()? {
            let key = key.as_str();
            match old.iter().find(|(name, _)| name == key) {
                Some((_, before)) if before.same_as(value) => {}
                Some((_, before)) => {
                    let node = mapping.get(key)?;
                    if self.value(&node, before, value).is_none() {
                        mapping.set(key, self.replacement(&node, before, value)?);
                    }
                }
                None => match removed.first() {
                    Some(first) if self.place == Place::BeforeRemoved => {
                        if !mapping.insert_before(*first, key, node_of(value)?) {
                            return None;
                        }
                    }
                    _ => mapping.set(key, node_of(value)?),
                },
            }
        }
        for key in removed {
            mapping.remove(key)?;
        }
        Some(())
    }

    /// Makes a node that says `old` say `new`; `None` where it is to be replaced.
    fn value(&self, node: &YamlNode, old: &Value, new: &Value) -> Option<()> {
        match (node, old, new) {
            (YamlNode::Mapping(mapping), Value::Object(_), Value::Object(_)) => {
                self.members(mapping, old, new)
            }
            (YamlNode::Sequence(sequence), Value::Array(old), Value::Array(new))
                if old.len() == new.len() =>
            {
                for (index, (old, new)) in old.iter().zip(new).enumerate() {
                    if old.same_as(new) {
                        continue;
                    }
                    let node = sequence.get(index)?;
                    if self.value(&node, old, new).is_none()
                        && !sequence.set(index, self.replacement(&node, old, new)?)
                    {
                        return None;
                    }
                }
                Some(())
            }
            _ => None,
        }
    }

    /// What is to stand for a node that says `old` so that it says `new`.
    fn replacement(&self, node: &YamlNode, old: &Value, new: &Value) -> Option<YamlNode> {
        match carried(self.file, node, old, new) {
            Some(text) => node_of_block(&text),
            None => node_of(new),
        }
    }
}

/// The name under which something is written that is to be put into a document.
const NAME: &str = "value";

/// A value as something that can be put into a document.
fn node_of(value: &Value) -> Option<YamlNode> {
    let whole = Value::Object(vec![(NAME.to_owned(), value.clone())]);
    Document::from_str(&written(&whole)).ok()?.get(NAME)
}

/// The same of a mapping or a list that is written as a block.
fn node_of_block(text: &str) -> Option<YamlNode> {
    let mut whole = format!("{NAME}:\n");
    for line in text.lines() {
        if !line.is_empty() {
            whole.push_str("  ");
            whole.push_str(line);
        }
        whole.push('\n');
    }
    Document::from_str(&whole).ok()?.get(NAME)
}
