//! The documents of a file, without a byte of it lost.

use serde_json::StreamDeserializer;
use serde_json::de::StrRead;

use super::Value;

/// A part of a file: all parts one after the other are the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Document<'t> {
    /// A document in YAML.
    Yaml(&'t str),
    /// A document in JSON.
    Json(&'t str),
    /// What stands between two documents.
    Between(&'t str),
}

impl<'t> Document<'t> {
    /// Its text.
    #[must_use]
    pub fn text(self) -> &'t str {
        match self {
            Self::Yaml(text) | Self::Json(text) | Self::Between(text) => text,
        }
    }
}

/// The byte order mark, which some editors put before a text.
const MARK: char = '\u{feff}';

/// The parts of a file, as kubectl splits it: a stream of JSON objects, or YAML at each line that begins with `---`.
#[must_use]
pub fn documents(text: &str) -> Vec<Document<'_>> {
    let bare = text.strip_prefix(MARK).unwrap_or(text);
    match json(bare) {
        Some(mut documents) => {
            let mark = &text[..text.len() - bare.len()];
            if !mark.is_empty() {
                documents.insert(0, Document::Between(mark));
            }
            documents
        }
        None => yaml(text),
    }
}

/// The documents of a stream of JSON objects; `None` where it is something else.
fn json(text: &str) -> Option<Vec<Document<'_>>> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let mut stream: StreamDeserializer<'_, StrRead<'_>, Value> =
        serde_json::Deserializer::from_str(text).into_iter();
    let mut documents = Vec::new();
    let mut from = 0;
    while let Some(value) = stream.next() {
        if !matches!(value, Ok(Value::Object(_))) {
            return None;
        }
        let read = &text[from..stream.byte_offset()];
        let space = read.len() - read.trim_start().len();
        if space > 0 {
            documents.push(Document::Between(&read[..space]));
        }
        documents.push(Document::Json(&read[space..]));
        from = stream.byte_offset();
    }
    if from < text.len() {
        documents.push(Document::Between(&text[from..]));
    }
    Some(documents)
}

fn yaml(text: &str) -> Vec<Document<'_>> {
    let mut documents = Vec::new();
    let mut rest = text;
    loop {
        let Some(separator) = rest.find("\n---") else {
            documents.push(Document::Yaml(rest));
            return documents;
        };
        let (document, after) = rest.split_at(separator + 1);
        let end = after.find('\n').map_or(after.len(), |end| end + 1);
        let (separator, after) = after.split_at(end);
        documents.push(Document::Yaml(document));
        documents.push(Document::Between(separator));
        rest = after;
        if rest.is_empty() {
            return documents;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_together_are_the_file() {
        for text in [
            "",
            "a: 1",
            "---\na: 1\n---\nb: 2\n",
            "a: 1\r\n---\r\nb: 2\r\n--- # c\r\n",
            "{\"a\":1}\n {\"b\":2}\n\n",
            "\u{feff}{\"a\":1}\n",
            "\u{feff}a: 1\n",
            "{a: 1}\n---\n{b: 2}",
            "\n---\n\n---",
        ] {
            let parts: String = documents(text).iter().map(|part| part.text()).collect();
            assert_eq!(parts, text);
        }
    }

    #[test]
    fn a_line_that_begins_with_three_dashes_separates() {
        assert_eq!(
            documents("---\na: 1\n--- # two\nb: 2"),
            [
                Document::Yaml("---\na: 1\n"),
                Document::Between("--- # two\n"),
                Document::Yaml("b: 2"),
            ]
        );
    }

    #[test]
    fn json_after_a_byte_order_mark_is_json() {
        assert_eq!(
            documents("\u{feff}{\"a\":1}"),
            [Document::Between("\u{feff}"), Document::Json("{\"a\":1}")]
        );
    }

    #[test]
    fn json_needs_no_separator() {
        assert_eq!(
            documents("{\"a\":1} {\"b\":2}\n"),
            [
                Document::Json("{\"a\":1}"),
                Document::Between(" "),
                Document::Json("{\"b\":2}"),
                Document::Between("\n"),
            ]
        );
    }
}
