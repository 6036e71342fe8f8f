//! JSON laid out for people: only white space between values is changed, so every value means what it meant.

use task_conversion::json::Node;

/// A value that is not longer than this, in bytes, stays on one line.
const LINE: usize = 100;

/// Well-formed JSON with one member or item a line, but for containers that are short.
///
/// White space within a container that stays on one line is kept, and so are duplicate keys, escapes and the writing of numbers.
pub fn layout(text: &str) -> String {
    let mut out = String::new();
    write(&Node::from(text.trim()), 0, &mut out);
    out.push('\n');
    out
}

fn write(node: &Node<'_>, depth: usize, out: &mut String) {
    let text = node.text();
    let text = text.trim();
    if text.len() <= LINE && !text.contains('\n') {
        out.push_str(text);
    } else if let Some(object) = node.members() {
        let members = object.members().iter();
        let members = members.map(|member| (format!("\"{}\": ", member.key.raw()), &member.value));
        container(['{', '}'], members, depth, out);
    } else if let Some(items) = node.items() {
        let items = items.iter().map(|item| (String::new(), item));
        container(['[', ']'], items, depth, out);
    } else {
        out.push_str(text);
    }
}

fn container<'n, 'a: 'n>(
    [open, close]: [char; 2],
    parts: impl Iterator<Item = (String, &'n Node<'a>)>,
    depth: usize,
    out: &mut String,
) {
    let new_line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    };
    out.push(open);
    for (index, (key, value)) in parts.enumerate() {
        if index > 0 {
            out.push(',');
        }
        new_line(depth + 1, out);
        out.push_str(&key);
        write(value, depth + 1, out);
    }
    new_line(depth, out);
    out.push(close);
}
