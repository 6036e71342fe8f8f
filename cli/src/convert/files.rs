//! Converting whole files.

use std::fmt;

use task_conversion::Event;

use super::edit::{self, Edited};
use super::object::{self, Found};
use crate::manifest::{Document, Value, documents, read};

/// Why a file cannot be converted.
#[derive(Debug, thiserror::Error)]
#[error("document {number}, line {line}")]
pub struct Error {
    /// Which of its documents, from 1.
    number: usize,
    /// The line of the file that it begins at, from 1.
    line: usize,
    /// What is wrong with it.
    #[source]
    source: Box<DocumentError>,
}

/// What is wrong with a document.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It cannot be read.
    #[error(transparent)]
    Read(#[from] read::Error),
    /// Something stands on the line of a separator, where kubectl passes over it.
    #[error("kubectl does not read what stands after --- on its line")]
    Separator,
    /// A Task stands behind the end of the document, where kubectl passes over it.
    #[error("kubectl does not read the Task that stands after ... and has no --- before it")]
    Second,
    /// It cannot be converted.
    #[error(transparent)]
    Convert(#[from] object::Error),
}

/// A file that was converted.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// Its text.
    pub text: String,
    /// What its documents say.
    pub documents: Vec<Value>,
    /// The Tasks in it.
    pub found: Vec<Found>,
    /// How many documents hold no Task.
    pub foreign: usize,
    /// How many comments were lost.
    pub comments_lost: usize,
    /// How many documents were written anew.
    pub rewritten: usize,
}

/// Converts each Task in the text of a file to the version `desired`. A document without one that is not of that version is kept to
/// the byte.
///
/// # Errors
/// When a document is none that kubectl reads, or a Task cannot be converted.
pub fn convert(text: &str, desired: &'static str) -> Result<Converted, Error> {
    let mut converted = Converted::default();
    let mut number = 0;
    for part in documents(text) {
        let at = |number, source| Error {
            number,
            line: line_of(text, part.text()).unwrap_or(1),
            source: Box::new(source),
        };
        if let Document::Between(between) = part {
            must_be_empty(between).map_err(|source| at(number + 1, source))?;
            converted.text.push_str(between);
            continue;
        }
        number += 1;
        converted
            .add(part, desired)
            .map_err(|source| at(number, source))?;
    }
    Ok(converted)
}

/// The documents in the text of a file, as they are.
///
/// # Errors
/// When one is none that kubectl reads.
pub fn read(text: &str) -> Result<Vec<Value>, Error> {
    let mut values = Vec::new();
    let parts = documents(text).into_iter();
    let parts = parts.filter(|part| !matches!(part, Document::Between(_)));
    for (number, part) in (1..).zip(parts) {
        let value = read::read(part.text()).map_err(|source| Error {
            number,
            line: line_of(text, part.text()).unwrap_or(1),
            source: Box::new(source.into()),
        })?;
        values.extend(value);
    }
    Ok(values)
}

/// A separator may be followed by a comment.
fn must_be_empty(between: &str) -> Result<(), DocumentError> {
    let Some(rest) = between.strip_prefix("---") else {
        return Ok(());
    };
    let rest = rest.trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(());
    }
    Err(DocumentError::Separator)
}

/// The line of `text` at which its part begins.
fn line_of(text: &str, part: &str) -> Option<usize> {
    let at = (part.as_ptr() as usize).checked_sub(text.as_ptr() as usize)?;
    Some(text.get(..at)?.matches('\n').count() + 1)
}

impl Converted {
    fn add(&mut self, part: Document<'_>, desired: &'static str) -> Result<(), DocumentError> {
        let text = part.text();
        let Some(old) = read::read(text)? else {
            self.text.push_str(text);
            return Ok(());
        };
        let second = text.contains("\n...").then(|| read::read_second(text));
        let second = second.flatten();
        if second.is_some_and(|value| object::is_task(&value) || object::is_list(&value)) {
            return Err(DocumentError::Second);
        }
        let before = self.found.len();
        let new = object::convert(&old, desired, &mut self.found)?;
        if self.found.len() == before {
            self.foreign += 1;
        }
        if new.same_as(&old) {
            self.text.push_str(text);
        } else if matches!(part, Document::Json(_)) {
            self.text.push_str(&json(text, &new));
        } else {
            let edited = edit::edit(text, &old, &new);
            self.take(&edited);
        }
        self.documents.push(new);
        Ok(())
    }

    fn take(&mut self, edited: &Edited) {
        self.text.push_str(&edited.text);
        self.comments_lost += edited.comments_lost;
        self.rewritten += usize::from(edited.rewritten);
    }

    /// What became of the file `name`, a line for each thing to tell.
    #[must_use]
    pub fn story(&self, name: &str, desired: &str) -> Vec<String> {
        let mut story = Vec::new();
        for found in &self.found {
            let Found { from, .. } = found;
            let became = if *from == desired {
                format!("is {desired} already")
            } else {
                format!("{from} -> {desired}")
            };
            story.push(format!("{name}: Task {} {became}", found.name));
            for event in &found.events {
                if let Some(warning) = warning(event) {
                    story.push(format!("{name}: Task {}: {warning}", found.name));
                }
            }
        }
        let mut count = |number: usize, what: &str| {
            if number > 0 {
                story.push(format!("{name}: {}", Count(number, what)));
            }
        };
        count(self.foreign, "document without a Task, kept to the byte");
        count(
            self.rewritten,
            "document written anew, as no edit of the text would do",
        );
        count(
            self.comments_lost,
            "comment lost with a field that has moved",
        );
        story
    }

    /// Whether something of an object was lost that was in it.
    #[must_use]
    pub fn lost(&self) -> bool {
        let mut events = self.found.iter().flat_map(|found| &found.events);
        events.any(|event| matches!(event, Event::Omitted))
    }

    /// Whether something was found that a person should look at.
    #[must_use]
    pub fn warned(&self) -> bool {
        let mut events = self.found.iter().flat_map(|found| &found.events);
        self.comments_lost > 0 || events.any(|event| warning(event).is_some())
    }
}

fn warning(event: &Event) -> Option<String> {
    match event {
        Event::Written | Event::Restored => None,
        Event::Broken(why) => Some(format!(
            "a reserved annotation is broken and was ignored: {why}"
        )),
        Event::Misplaced => {
            Some("a reserved annotation of the other version was dropped".to_owned())
        }
        Event::Omitted => Some(
            "its annotations leave no room for what this version cannot show, which is lost"
                .to_owned(),
        ),
    }
}

/// A number of things, in words.
struct Count<'w>(usize, &'w str);

impl fmt::Display for Count<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (noun, rest) = self.1.split_once(' ').unwrap_or((self.1, ""));
        let plural = if self.0 == 1 { "" } else { "s" };
        write!(formatter, "{} {noun}{plural} {rest}", self.0)
    }
}

/// The value in JSON with the indentation that the old text has.
fn json(old: &str, value: &Value) -> String {
    let indent = old.split_once('\n').map(|(_, second)| {
        let end = second.find(|character| character != ' ' && character != '\t');
        &second[..end.unwrap_or_default()]
    });
    let Some(indent) = indent else {
        return value.to_json();
    };
    pretty(value, indent)
}

/// The value in JSON, indented by `indent`.
#[must_use]
pub fn pretty(value: &Value, indent: &str) -> String {
    use serde::Serialize;

    let mut out = Vec::new();
    let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
    let mut serializer = serde_json::Serializer::with_formatter(&mut out, formatter);
    if let Err(error) = value.serialize(&mut serializer) {
        unreachable!("plain data always has a form in JSON: {error}");
    }
    String::from_utf8_lossy(&out).into_owned()
}
