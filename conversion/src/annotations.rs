//! The reserved annotations of an object's metadata.

use crate::error::ConvertError;
use crate::json::{Node, Object, decode, encode};
use crate::rest::{Broken, OMITTED, Rest};
use crate::{Event, Events};

/// The most bytes that the API server allows in the keys and values of all annotations of an object together.
pub const TOTAL_LIMIT: usize = 262_144;

/// The rest's key of what `annotations` was, where that was empty or null before there was a rest.
const BEFORE: &str = "/metadata/annotations";

/// Takes the two reserved annotations out: gives the rest that `kept` holds, drops `misplaced`, which has no business here.
///
/// # Errors
/// When the annotations are no object.
pub(crate) fn take(
    root: &mut Object<'_>,
    kept: &str,
    misplaced: &str,
    events: &mut Events,
) -> Result<Rest, ConvertError> {
    let Some(Node::Object(metadata)) = root.get_mut("metadata") else {
        return Ok(Rest::default());
    };
    let annotations = match metadata.get_mut("annotations") {
        Some(Node::Object(annotations)) => annotations,
        Some(other) if !other.is_null() => {
            return Err(ConvertError::unexpected(
                "/metadata/annotations".to_owned(),
                "an object",
                other.kind(),
            ));
        }
        _ => return Ok(Rest::default()),
    };
    if !annotations
        .members()
        .iter()
        .any(|member| member.key.is(kept) || member.key.is(misplaced))
    {
        return Ok(Rest::default());
    }
    if annotations.take(misplaced).is_some() {
        events.push(Event::Misplaced);
    }
    let mut rest = Rest::default();
    if let Some(value) = annotations.take(kept) {
        match read(&value, &mut events.may_unfold) {
            Ok(read) => {
                rest = read;
                events.push(Event::Restored);
            }
            Err(broken) => events.push(Event::Broken(broken.to_string())),
        }
    }
    if annotations.is_empty() {
        match rest.entries.remove(BEFORE).as_deref() {
            Some("{}") => {}
            Some("null") => metadata.set("annotations", Node::from("null")),
            _ => {
                metadata.take("annotations");
            }
        }
    }
    Ok(rest)
}

fn read(value: &Node<'_>, may_unfold: &mut u64) -> Result<Rest, Broken> {
    let raw = value.string().ok_or(Broken::NotAString)?;
    Rest::from_annotation(&decode(raw), may_unfold)
}

/// Puts `rest` under `key`. Where the total would grow beyond [`TOTAL_LIMIT`], or the rest beyond what is read again, it is left
/// out, and a mark says so if that fits.
pub(crate) fn put(root: &mut Object<'_>, key: &str, mut rest: Rest, events: &mut Events) {
    if rest.entries.is_empty() {
        return;
    }
    let Some(Node::Object(metadata)) = root.get_mut("metadata") else {
        return;
    };
    let before = metadata.get("annotations");
    if before.is_some_and(|before| before.members().is_none_or(|before| before.is_empty())) {
        let before = before.map(|before| before.text().into_owned());
        rest.entries
            .extend(before.map(|text| (BEFORE.to_owned(), text)));
    }
    if !matches!(before, Some(Node::Object(_))) {
        metadata.set("annotations", Node::Object(Object::default()));
    }
    let Some(Node::Object(annotations)) = metadata.get_mut("annotations") else {
        return;
    };
    let left = TOTAL_LIMIT.saturating_sub(total(annotations) + key.len());
    if let Some(value) = rest.to_annotation().filter(|value| value.len() <= left) {
        annotations.push_named(key, Node::from(encode(&value)));
        events.push(Event::Written);
        return;
    }
    events.push(Event::Omitted);
    let mark = format!("{{\"{OMITTED}\":true}}");
    if mark.len() <= left {
        annotations.push_named(key, Node::from(encode(&mark)));
    } else if annotations.is_empty() {
        metadata.take("annotations");
    }
}

fn total(annotations: &Object<'_>) -> usize {
    let value = |node: &Node<'_>| node.string().map_or(0, |raw| decode(raw).len());
    annotations
        .members()
        .iter()
        .map(|member| member.key.name().len() + value(&member.value))
        .sum()
}
