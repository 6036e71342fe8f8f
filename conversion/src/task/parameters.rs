//! `operation.parameters`, any JSON, and `parameters`, strings only.

use std::borrow::Cow;

use crate::json::{MAX_DEPTH, Malformed, Node, Scanner, decode, encode, is_canonical, same_value};
use crate::lens::{Crossed, Lens, Unexpected, Way};
use crate::rest::Rest;

/// A string is itself in both. Any other value is shown as its JSON text, and the rest of v1 remembers of which kind it was: text
/// that is still JSON of that kind, edited or not, becomes such a value again; any other text stays a string.
///
/// The API server writes values anew: `2.0` becomes `2`. So that who wrote such a text at v1alpha1 reads it as it was, the rest of
/// v1alpha1 holds it for as long as the value is the same.
pub(super) struct Parameters;

/// What follows a kind in the rest where the value's text is one that the API server would write differently, and has not: then the
/// text in v1alpha1 is the value's own, and none that somebody chose.
const AS_WRITTEN: &str = ", as written";

/// The levels around a parameter in the largest message that it is part of: a ConversionReview.
const LEVELS_AROUND: usize = 7;

impl Lens for Parameters {
    fn label(&self, way: Way) -> Option<&'static str> {
        Some(match way {
            Way::Down => "kinds",
            Way::Up => "texts",
        })
    }

    fn cross<'a>(
        &self,
        way: Way,
        source: Option<&Node<'a>>,
        kept: Option<&Node<'a>>,
    ) -> Result<Crossed<'a>, Unexpected> {
        let source = match source {
            Some(source) if !source.is_null() => source,
            nothing => return Ok(Crossed::whole(nothing.cloned())),
        };
        if source.kind() != "object" {
            return Err(Unexpected::at_top("an object", source));
        }
        let text = source.text();
        let kept = kept
            .and_then(|kept| Rest::parse(&kept.text()).ok())
            .unwrap_or_default();
        // What is shown is seldom much longer: by two quotes for a value that is no string.
        let mut shown = String::with_capacity(text.len() + text.len() / 8);
        let mut lost = Rest::default();
        Scanner::new(&text)
            .object(|scanner, key| {
                let value = scanner.value()?;
                let name = key.name();
                let kept = kept.entries.get(name.as_ref()).map(String::as_str);
                let (value, remember) = match way {
                    Way::Down => down(value, kept),
                    Way::Up => up(value, kept),
                };
                // Of a name that is written twice the last one counts.
                match remember {
                    Some(text) => lost.entries.insert(name.into_owned(), text),
                    None => lost.entries.remove(name.as_ref()),
                };
                shown.push_str(if shown.is_empty() { "{\"" } else { ",\"" });
                shown.push_str(key.raw());
                shown.push_str("\":");
                shown.push_str(&value);
                Ok(())
            })
            .map_err(|_: Malformed| Unexpected::at_top("an object", source))?;
        shown.push_str(if shown.is_empty() { "{}" } else { "}" });
        Ok(Crossed {
            value: Some(Node::from(shown)),
            rest: (!lost.entries.is_empty()).then(|| lost.to_json()),
        })
    }
}

/// What is shown of a value, and its kind if that is to be remembered. `kept` is the text that it had at the spoke, in quotes.
fn down<'n>(value: &'n str, kept: Option<&'n str>) -> (Cow<'n, str>, Option<String>) {
    let kind = Node::from(value).kind();
    if kind == "string" {
        return (Cow::Borrowed(value), None);
    }
    let shows_the_value = |kept: &&str| {
        let kept = Node::from(*kept);
        kept.string()
            .is_some_and(|kept| same_value(&decode(kept), value))
    };
    if let Some(chosen) = kept.filter(shows_the_value) {
        return (Cow::Borrowed(chosen), Some(encode(kind)));
    }
    let writing = if is_canonical(value) { "" } else { AS_WRITTEN };
    let kind = ["\"", kind, writing, "\""].concat();
    (Cow::Owned(encode(value)), Some(kind))
}

/// The value of what is shown, and its text if that is to be remembered. `kept` is the kind that it had at the hub, in quotes.
fn up<'n>(shown: &'n str, kept: Option<&str>) -> (Cow<'n, str>, Option<String>) {
    let kind = kept.and_then(|kept| kept.strip_prefix('"')?.strip_suffix('"'));
    let raw = shown
        .strip_prefix('"')
        .and_then(|shown| shown.strip_suffix('"'));
    let (Some(raw), Some(kind)) = (raw, kind) else {
        return (Cow::Borrowed(shown), None);
    };
    let (kind, as_written) = match kind.strip_suffix(AS_WRITTEN) {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    let text = decode(raw);
    if !is_json_of_kind(&text, kind) {
        return (Cow::Borrowed(shown), None);
    }
    let remember = !as_written && !is_canonical(&text);
    (text, remember.then(|| shown.to_owned()))
}

/// Whether `text` is a JSON value of this kind, and nothing around it. A string is shown as it is and so never told by its kind.
fn is_json_of_kind(text: &str, kind: &str) -> bool {
    let mut scanner = Scanner::with_depth(text, MAX_DEPTH - LEVELS_AROUND);
    scanner.value().is_ok_and(|value| {
        value.len() == text.len() && kind != "string" && Node::from(value).kind() == kind
    })
}
