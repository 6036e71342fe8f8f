//! Whether both versions of a Task can hold all of it.
//!
//! What a version cannot show rides in an annotation, and the API server bounds the size of all annotations together. Beyond that the
//! conversion leaves it out and marks that it did. Here is the door: nothing comes in that would have to be left out, and where it is
//! left out all the same, no write loses it for good. An object that is being deleted is let through, whatever it is.

use task_api_v1::names::annotation;
use task_api_v1::problem::{Path, Problem, ProblemKind};

use super::place::{given, member, value_at};
use super::request::Request;
use crate::json::{Node, Scanner, decode};
use crate::rest::{OMITTED, Rest, UNREAD};
use crate::task::TASK;
use crate::{ConvertError, Event, Events, TOTAL_LIMIT};

/// The version that cannot show everything.
pub(super) const OLDER: &str = "v1alpha1";

/// What a write would lose for good since it is too large for the version that it is made at.
pub(super) fn losses(request: &Request<'_>) -> Vec<Problem> {
    let Some(object) = request.object else {
        return Vec::new();
    };
    if request.is_at_v1() || is_being_deleted(object) {
        return Vec::new();
    }
    let before = request.old_object.map(Marks::of).unwrap_or_default();
    let mut problems = Vec::new();
    if before.of_v1 {
        let path = Path::root("metadata.annotations").key(annotation::V1_REST);
        let rule = format!(
            "a write at {OLDER} would lose what was too large to show there: write this Task at v1"
        );
        problems.push(Problem::new(path, ProblemKind::Forbidden, None, rule));
    }
    if Marks::of(object).of_older && !before.of_older {
        problems.push(too_large("v1"));
    }
    problems
}

/// Whether the older version could not show the object, where it could show it as it was before.
pub(super) fn problem_with_older_form(object: &str, old: Option<&str>) -> Option<Problem> {
    let form = Form::of(object);
    if matches!(form, Form::Whole) || is_being_deleted(object) {
        return None;
    }
    match (form, old.map(Form::of)) {
        (Form::Whole, _) | (Form::TooLarge, Some(Form::TooLarge)) | (_, Some(Form::None(_))) => {
            None
        }
        (Form::TooLarge, _) => Some(too_large(OLDER)),
        (Form::None(error), _) => {
            let rule = format!("cannot be shown at {OLDER}: {error}");
            Some(Problem::new(
                Path::root("spec"),
                ProblemKind::Invalid,
                None,
                rule,
            ))
        }
    }
}

fn is_being_deleted(object: &str) -> bool {
    given(object, "metadata.deletionTimestamp").is_some()
}

fn too_large(version: &str) -> Problem {
    let rule = format!(
        "may not be more than {TOTAL_LIMIT} bytes together with what {version} cannot show of this Task, which rides in one of them"
    );
    Problem::new(
        Path::root("metadata.annotations"),
        ProblemKind::TooLong,
        None,
        rule,
    )
}

/// How an object would look at the older version.
enum Form {
    /// With all that belongs to it.
    Whole,
    /// With something left out.
    TooLarge,
    /// Not at all: it would break every list that it is in.
    None(ConvertError),
}

impl Form {
    fn of(object: &str) -> Self {
        let Ok(mut node) = TASK.read(&mut Scanner::new(object)) else {
            // What the review was read from is well-formed.
            return Self::Whole;
        };
        let mut events = Events::new();
        match TASK.convert(&mut node, OLDER, &mut events) {
            Ok(_) if events.as_slice().contains(&Event::Omitted) => Self::TooLarge,
            Ok(_) => Self::Whole,
            Err(error) => Self::None(error),
        }
    }
}

/// What the annotations of an object at v1 say was left out.
#[derive(Default)]
struct Marks {
    /// Something that only v1 can show was left out when the object was shown at the older version.
    of_v1: bool,
    /// Something that only the older version can show was left out of this object.
    of_older: bool,
}

impl Marks {
    fn of(object: &str) -> Self {
        Self::read(object).unwrap_or_default()
    }

    fn read(object: &str) -> Option<Self> {
        let annotations = value_at(object, "metadata.annotations")?;
        let node = Node::from(member(annotations, annotation::V1ALPHA1_REST)?);
        let rest = Rest::from_annotation(&decode(node.string()?), &mut u64::MAX.clone()).ok()?;
        let unread = rest
            .entries
            .get(UNREAD)
            .and_then(|unread| Rest::parse(unread).ok());
        Some(Self {
            of_v1: unread.is_some_and(|unread| unread.entries.contains_key(OMITTED)),
            of_older: rest.entries.contains_key(OMITTED),
        })
    }
}
