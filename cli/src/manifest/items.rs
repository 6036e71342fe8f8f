//! Where the items of a List stand in its text.

use granit_parser::{Event, Parser, StrInput};

/// Where an item begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// In bytes, from the beginning of the text. What `-` it stands behind, and its anchor or tag, are before that.
    pub start: usize,
    /// In characters, from the beginning of its line.
    pub column: usize,
}

/// The places of the items in the first document of `text`, in order; `None` where it is no List, or no YAML.
#[must_use]
pub fn places(text: &str) -> Option<Vec<Place>> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let options = granit_parser::options! { emit_comments: false };
    let mut events = Events {
        parser: Parser::new_from_str_with_options(bare, options),
        passed: text.len() - bare.len(),
    };
    loop {
        match events.next()?.0 {
            Event::StreamStart | Event::DocumentStart(..) => {}
            Event::MappingStart(..) => break,
            _ => return None,
        }
    }
    loop {
        let (key, _) = events.next()?;
        let is_items = matches!(&key, Event::Scalar(name, ..) if name == "items");
        events.pass_over(&key)?;
        let (value, _) = events.next()?;
        if is_items && matches!(value, Event::SequenceStart(..)) {
            break;
        }
        events.pass_over(&value)?;
    }
    let mut places = Vec::new();
    loop {
        let (item, place) = events.next()?;
        if item == Event::SequenceEnd {
            return Some(places);
        }
        places.push(place);
        events.pass_over(&item)?;
    }
}

struct Events<'t> {
    parser: Parser<'t, StrInput<'t>>,
    /// How many bytes of the text the parser was not given.
    passed: usize,
}

impl<'t> Events<'t> {
    fn next(&mut self) -> Option<(Event<'t>, Place)> {
        let (event, span) = self.parser.next_event()?.ok()?;
        let place = Place {
            start: span.start.byte_offset()? + self.passed,
            column: span.start.col(),
        };
        Some((event, place))
    }

    /// Passes over the rest of the value that begins with `first`; `None` where it is the end of what holds it.
    fn pass_over(&mut self, first: &Event<'t>) -> Option<()> {
        let mut depth = depth_after(first);
        if depth < 0 {
            return None;
        }
        while depth > 0 {
            depth += depth_after(&self.next()?.0);
        }
        Some(())
    }
}

fn depth_after(event: &Event<'_>) -> i32 {
    match event {
        Event::MappingStart(..) | Event::SequenceStart(..) => 1,
        Event::MappingEnd | Event::SequenceEnd => -1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Option<Vec<(&str, usize)>> {
        let places = places(text)?.into_iter();
        let found = places.map(|Place { start, column }| (&text[start..=start], column));
        Some(found.collect())
    }

    #[test]
    fn items_begin_behind_their_dash() {
        let text = "# ü\nkind: List\nother: [{items: [1]}]\nitems:\n- a: [1]\n  b: {}\n-\n  # c\n    d: e\n-   &f\n    g: 1\n- *f\n";
        assert_eq!(
            found(text),
            Some(vec![("a", 2), ("d", 4), ("g", 4), ("*", 2)])
        );
    }

    #[test]
    fn what_is_no_list_has_no_items() {
        for text in [
            "",
            "a",
            "- items: []",
            "items: a",
            "items: {a: []}",
            "items: [",
            "a: 1",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
