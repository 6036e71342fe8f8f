//! Reading one YAML document as kubectl does.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::{Value, scalar, value};

/// How many values a document may hold once its aliases are resolved: some kilobytes of YAML can stand for terabytes.
const MAX_VALUES: usize = 1_000_000;

/// What YAML's own tags begin with, for which `!!` stands.
const YAML_TAGS: &str = "tag:yaml.org,2002:";

/// Why a document cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It is no YAML.
    #[error("no YAML")]
    Syntax(#[from] ScanError),
    /// A scalar has no form in JSON.
    #[error("line {line}")]
    Scalar {
        /// Its line in the document, from 1.
        line: usize,
        /// What is wrong with it.
        #[source]
        source: scalar::Error,
    },
    /// Something cannot be the name of a member.
    #[error("line {0}: the name of a field must be a string, a number or a boolean")]
    Key(usize),
    /// `<<` stands before something that is no mapping.
    #[error("line {0}: << expects a mapping or a list of mappings")]
    Merge(usize),
    /// An alias stands inside what it is an alias of.
    #[error("line {0}: an alias holds itself")]
    Alias(usize),
    /// Aliases of aliases make too much of it.
    #[error("the document holds more than {MAX_VALUES} values")]
    TooLarge,
    /// It ends in the middle.
    #[error("the document ends too early")]
    Incomplete,
}

/// The JSON that kubectl makes of the first document of `text`; `None` where there is none.
///
/// # Errors
/// When kubectl would not read it either.
pub fn read(text: &str) -> Result<Option<Value>, Error> {
    // kubectl takes a byte order mark for nothing.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::of(text);
    loop {
        match reader.next()? {
            (Event::StreamStart | Event::DocumentStart(..), _) => {}
            (Event::StreamEnd | Event::DocumentEnd, _) => return Ok(None),
            (event, line) => return reader.node(event, line).map(|node| Some(node.value)),
        }
    }
}

/// What a second document of `text` says, which kubectl does not read: one that `...` and no `---` sets apart. `None` where there is
/// none that could be read.
#[must_use]
pub fn read_second(text: &str) -> Option<Value> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::of(text);
    let mut documents = 0;
    loop {
        match reader.next().ok()? {
            (Event::StreamEnd, _) => return None,
            (Event::StreamStart | Event::DocumentEnd, _) => {}
            (Event::DocumentStart(..), _) => documents += 1,
            (event, line) => {
                let value = reader.node(event, line).ok()?.value;
                if documents > 1 {
                    return Some(value);
                }
            }
        }
    }
}

struct Reader<'t> {
    parser: Parser<'t, granit_parser::StrInput<'t>>,
    anchors: HashMap<usize, Value>,
    values: usize,
}

/// A value, and whether it is a plain `<<`.
struct Node {
    value: Value,
    merges: bool,
}

impl Node {
    fn of(value: Value) -> Self {
        Self {
            value,
            merges: false,
        }
    }
}

impl<'t> Reader<'t> {
    fn of(text: &'t str) -> Self {
        let options = granit_parser::options! { emit_comments: false };
        Self {
            parser: Parser::new_from_str_with_options(text, options),
            anchors: HashMap::new(),
            values: 0,
        }
    }

    fn next(&mut self) -> Result<(Event<'t>, usize), Error> {
        match self.parser.next_event() {
            Some(event) => {
                let (event, span) = event?;
                Ok((event, span.start.line()))
            }
            None => Err(Error::Incomplete),
        }
    }

    fn node(&mut self, event: Event<'t>, line: usize) -> Result<Node, Error> {
        self.count(1)?;
        let (node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                (scalar_node(&text, style, tag.as_deref(), line)?, anchor)
            }
            Event::SequenceStart(_, anchor, _) => (Node::of(self.sequence()?), anchor),
            Event::MappingStart(_, anchor, _) => (Node::of(self.mapping()?), anchor),
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).ok_or(Error::Alias(line))?;
                let value = value.clone();
                self.count(size(&value))?;
                return Ok(Node::of(value));
            }
            _ => return Err(Error::Incomplete),
        };
        if anchor != 0 {
            self.anchors.insert(anchor, node.value.clone());
        }
        Ok(node)
    }

    fn count(&mut self, values: usize) -> Result<(), Error> {
        self.values += values;
        if self.values > MAX_VALUES {
            return Err(Error::TooLarge);
        }
        Ok(())
    }

    fn sequence(&mut self) -> Result<Value, Error> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(Value::Array(items)),
                (event, line) => items.push(self.node(event, line)?.value),
            }
        }
    }

    fn mapping(&mut self) -> Result<Value, Error> {
        let mut members = Vec::new();
        loop {
            let (event, line) = self.next()?;
            if event == Event::MappingEnd {
                return Ok(Value::Object(members));
            }
            let key = self.node(event, line)?;
            let (event, value_line) = self.next()?;
            let value = self.node(event, value_line)?.value;
            if key.merges {
                merge(&mut members, value).ok_or(Error::Merge(line))?;
            } else {
                let name = scalar::key(&key.value).ok_or(Error::Key(line))?;
                value::set(&mut members, name, value);
            }
        }
    }
}

/// Sets the members that `<<` brings, where it stands: what is written after it wins, and of several mappings the first.
fn merge(members: &mut Vec<(String, Value)>, value: Value) -> Option<()> {
    let mappings = match value {
        Value::Array(items) => items,
        mapping => vec![mapping],
    };
    for mapping in mappings.into_iter().rev() {
        let Value::Object(merged) = mapping else {
            return None;
        };
        for (name, value) in merged {
            value::set(members, name, value);
        }
    }
    Some(())
}

fn scalar_node(
    text: &str,
    style: ScalarStyle,
    tag: Option<&Tag>,
    line: usize,
) -> Result<Node, Error> {
    let is_plain = style == ScalarStyle::Plain;
    let known = tag.and_then(|tag| tag.suffix_in_namespace(YAML_TAGS));
    let value = match (known, tag) {
        (Some(tag), _) => scalar::tagged(text, &tag),
        // A tag of somebody's own says nothing to kubectl.
        (None, Some(_)) => Ok(Value::String(text.to_owned())),
        (None, None) if is_plain => scalar::plain(text),
        (None, None) => Ok(Value::String(text.to_owned())),
    };
    Ok(Node {
        value: value.map_err(|source| Error::Scalar { line, source })?,
        merges: is_plain && tag.is_none() && text == "<<",
    })
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(members) => members.iter().map(|(_, value)| size(value)).sum(),
        _ => 0,
    }
}
