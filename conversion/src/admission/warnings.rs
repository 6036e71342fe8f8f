//! What is allowed and yet rarely meant.
//!
//! A warning is one line that a person sees beside the result of a command. The API server shortens what is longer than 256
//! characters, and drops what is beyond 4096 in all.

use task_api_v1::json_text::is_same_json;

use super::fit::OLDER;
use super::place::{given, value_at};
use super::request::{Operation, Request, Subresource};
use super::reset::reset_fields;
use crate::json::{Node, decode};

/// How many fields a warning names.
const NAMED: usize = 5;

/// The longest warning, in characters.
const LENGTH_MAX: usize = 256;

/// What there is to say to a request that is allowed.
pub(super) fn warnings(request: &Request<'_>) -> Vec<String> {
    let (object, old) = (request.object, request.old_object);
    let warnings = match (request.subresource, request.operation, object, old) {
        (Subresource::Task, Operation::Create, Some(object), _) => vec![moving_image(object)],
        (Subresource::Task, Operation::Update, Some(object), Some(old)) => vec![
            moving_image(object).filter(|_| is_changed("spec.image", object, old)),
            changed_while_running(object, old),
            (!request.is_at_v1()).then(|| reset(object, old)).flatten(),
        ],
        (Subresource::Task, Operation::Delete, _, Some(old)) => vec![deleted_while_running(old)],
        _ => Vec::new(),
    };
    warnings.into_iter().flatten().map(clip).collect()
}

fn moving_image(object: &str) -> Option<String> {
    let image = string(given(object, "spec.image")?)?;
    let name = image.rsplit('/').next()?;
    let tag = match name.split_once(':') {
        // Only a digest has an @, and with it the tag does not count.
        _ if name.contains('@') => return None,
        Some((_, "latest")) => "the tag latest",
        Some(_) => return None,
        None => "no tag, which means latest,",
    };
    Some(format!(
        "spec.image: {tag} may be another image tomorrow: name a version or a digest"
    ))
}

fn changed_while_running(object: &str, old: &str) -> Option<String> {
    (is_running(old) && is_changed("spec.operation", object, old)).then(|| {
        "spec.operation: changed while an operation is running (status.operation.phase is Creating)".to_owned()
    })
}

fn deleted_while_running(old: &str) -> Option<String> {
    is_running(old).then(|| {
        "deleted while its operation is running (status.operation.phase is Creating)".to_owned()
    })
}

fn reset(object: &str, old: &str) -> Option<String> {
    let fields = reset_fields(object, old);
    if fields.is_empty() {
        return None;
    }
    let more = match fields.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let fields: Vec<_> = fields.into_iter().take(NAMED).collect();
    Some(format!(
        "this write at {OLDER} resets what only v1 can show: {}{more}",
        fields.join(", ")
    ))
}

fn is_running(task: &str) -> bool {
    value_at(task, "status.operation.phase")
        .and_then(string)
        .as_deref()
        == Some("Creating")
}

fn is_changed(path: &str, object: &str, old: &str) -> bool {
    match (given(object, path), given(old, path)) {
        (Some(now), Some(before)) => !is_same_json(now, before),
        (now, before) => now.is_some() != before.is_some(),
    }
}

fn string(text: &str) -> Option<String> {
    Some(decode(Node::from(text).string()?).into_owned())
}

/// Cuts a warning that a name has made too long, and keeps it on one line.
fn clip(warning: String) -> String {
    let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
    let mut line: String = warning.chars().map(on_one_line).take(LENGTH_MAX).collect();
    if warning.chars().nth(LENGTH_MAX).is_some() {
        line.pop();
        line.push('…');
    }
    line
}
