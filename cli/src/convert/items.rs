//! Editing the items of a List each by itself: an edit of a text takes the longer the larger the text is, and a List may have
//! thousands of items.

use super::edit::{edit, says};
use crate::manifest::Value;
use crate::manifest::items::{Place, places};

/// A List in which items were edited.
pub(super) struct EditedItems {
    /// Its text.
    pub text: String,
    /// What that says. Items that could not be edited by themselves are as they were.
    pub value: Value,
    /// How many comments of the old text are not in it.
    pub comments_lost: usize,
    /// An item was written anew.
    pub rewritten: bool,
}

/// Edits those items of a List, which says `old`, that stand on lines of their own, so that they are as in `new`.
///
/// `None` where it has none of that kind, or the text does not come out as it should.
pub(super) fn edit_items(text: &str, old: &Value, new: &Value) -> Option<EditedItems> {
    let old_items = old.get(ITEMS)?.items()?;
    let new_items = new.get(ITEMS)?.items()?;
    let places = places(text)?;
    if places.len() != old_items.len() || new_items.len() != old_items.len() {
        return None;
    }
    let mut items = old_items.to_vec();
    let mut edited = String::with_capacity(text.len());
    let (mut comments_lost, mut rewritten) = (0, false);
    let mut copied = 0;
    for ((place, item), new) in places.into_iter().zip(&mut items).zip(new_items) {
        if item.same_as(new) {
            continue;
        }
        let part = &text[place.start..end(text, place)];
        let alone = unindented(part, place.column);
        // Not where it needs something outside of it: an anchor, say.
        if !says(&alone, item) {
            continue;
        }
        let change = edit(&alone, item, new);
        edited.push_str(text.get(copied..place.start)?);
        edited.push_str(&indented(&change.text, place.column));
        copied = place.start + part.len();
        comments_lost += change.comments_lost;
        rewritten |= change.rewritten;
        *item = new.clone();
    }
    if copied == 0 {
        return None;
    }
    edited.push_str(&text[copied..]);
    let value = with_items(old, items);
    says(&edited, &value).then_some(EditedItems {
        text: edited,
        value,
        comments_lost,
        rewritten,
    })
}

const ITEMS: &str = "items";

fn with_items(list: &Value, items: Vec<Value>) -> Value {
    let mut items = Some(items);
    let members = list.members().unwrap_or_default().iter();
    let members = members.map(|(name, value)| match items.take_if(|_| name == ITEMS) {
        Some(items) => (name.clone(), Value::Array(items)),
        None => (name.clone(), value.clone()),
    });
    Value::Object(members.collect())
}

/// Where the lines end that are indented as the item is, but for empty ones at their end.
fn end(text: &str, place: Place) -> usize {
    let (mut at, mut end) = (place.start, place.start);
    for (number, line) in text[place.start..].split_inclusive('\n').enumerate() {
        let is_empty = line.trim().is_empty();
        let belongs = number == 0 || is_empty || without_indent(line, place.column).is_some();
        if !belongs {
            break;
        }
        at += line.len();
        if !is_empty {
            end = at;
        }
    }
    end
}

/// The text of an item as a document. Its first line has no indentation already.
fn unindented(part: &str, column: usize) -> String {
    let lines = part.split_inclusive('\n').enumerate();
    let lines = lines.map(|(number, line)| match number {
        0 => line,
        _ => without_indent(line, column).unwrap_or(line),
    });
    lines.collect()
}

/// The opposite.
fn indented(document: &str, column: usize) -> String {
    let mut part = String::with_capacity(document.len());
    for (number, line) in document.split_inclusive('\n').enumerate() {
        if number > 0 && !matches!(line, "\n" | "\r\n") {
            part.extend(std::iter::repeat_n(' ', column));
        }
        part.push_str(line);
    }
    part
}

fn without_indent(line: &str, column: usize) -> Option<&str> {
    let (indent, rest) = line.split_at_checked(column)?;
    indent.bytes().all(|byte| byte == b' ').then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, old: &str, new: &str) -> Option<(String, String)> {
        let [old, new] = [old, new].map(|json| Value::from_json(json).unwrap());
        let edited = edit_items(text, &old, &new)?;
        Some((edited.text, edited.value.to_json()))
    }

    #[test]
    fn an_item_is_edited_and_all_around_it_is_kept() {
        let text = "items:\n  # one\n  - a: 1   # x\n\n    b: |\n      c\n\n  # two\n  -   a: 2\n";
        let old = r#"{"items":[{"a":1,"b":"c\n"},{"a":2}]}"#;
        let new = r#"{"items":[{"a":3,"b":"c\n"},{"a":2}]}"#;
        assert_eq!(
            edited(text, old, new),
            Some((text.replace("a: 1", "a: 3"), new.to_owned()))
        );
    }

    #[test]
    fn what_needs_an_anchor_elsewhere_is_left_to_others() {
        let text = "items:\n- a: &x 1\n- {a: *x, b: 1}\n- b: 1\n";
        let old = r#"{"items":[{"a":1},{"a":1,"b":1},{"b":1}]}"#;
        let new = r#"{"items":[{"a":1},{"a":1,"b":2},{"b":2}]}"#;
        let (text, value) = edited(text, old, new).unwrap();
        assert_eq!(text, "items:\n- a: &x 1\n- {a: *x, b: 1}\n- b: 2\n");
        assert_eq!(value, r#"{"items":[{"a":1},{"a":1,"b":1},{"b":2}]}"#);
    }
}
