//! What holds for every kind whose table is right: for the tests of a table, over as many objects as they can think of.
//!
//! Each law is a function of one object, or one body, that tells how it was broken.

mod json;

use serde_json::Value;

use crate::json::{Node, Object, Scanner};
use crate::kind::Kind;
use crate::review;
use crate::tree::Tree;
use crate::{Event, Events};

pub use json::Json;

/// How a law was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The object did not convert.
    #[error("{object} does not convert to {version}: {why}")]
    Refused {
        /// The object.
        object: String,
        /// The version that it should have become.
        version: String,
        /// What the conversion says.
        why: String,
    },
    /// The object came back as another one.
    #[error("{object} becomes {there}, which comes back as {back}")]
    Changed {
        /// The object.
        object: String,
        /// What it was at the other version.
        there: String,
        /// What came back.
        back: String,
    },
    /// The answer to a body is not what the API server takes.
    #[error("the answer {answer} {why}")]
    Answer {
        /// The answer.
        answer: String,
        /// What is wrong with it.
        why: String,
    },
}

/// The object at the version `desired`, such as `v1`, and what was done with the rests.
///
/// # Errors
/// [`Broken::Refused`].
pub fn converted(kind: &Kind, object: &Json, desired: &str) -> Result<(Json, Vec<Event>), Broken> {
    let text = object.text();
    let refused = |why: String| Broken::Refused {
        object: text.clone(),
        version: desired.to_owned(),
        why,
    };
    let mut node = kind
        .read(&mut Scanner::new(&text))
        .map_err(|error| refused(error.to_string()))?;
    let version = kind
        .version(&format!("{}/{desired}", kind.group()))
        .map_err(|error| refused(error.to_string()))?;
    let mut events = Events::new();
    kind.convert(&mut node, version, &mut events)
        .map_err(|error| refused(error.to_string()))?;
    Ok((Json::parse(&node.text()), events.take()))
}

/// Converted to the version `via` and back to its own, an object of the version `own` is as it was: the same members with the same
/// texts, unknown ones included.
///
/// # Errors
/// [`Broken::Refused`] and [`Broken::Changed`].
pub fn comes_back(kind: &Kind, object: &Json, own: &str, via: &str) -> Result<(), Broken> {
    let (there, _) = converted(kind, object, via)?;
    is_back(kind, object, there, own)
}

/// So it is even where the API server removes from it, at the version `via`, what the schema of that version does not know.
///
/// # Errors
/// [`Broken::Refused`] and [`Broken::Changed`].
pub fn comes_back_pruned(kind: &Kind, object: &Json, own: &str, via: &str) -> Result<(), Broken> {
    let (there, _) = converted(kind, object, via)?;
    let text = there.text();
    let mut node = Node::from(text.as_str());
    if let Some((root, known)) = node.open().zip(kind.fields(via)) {
        prune(root, known);
    }
    let pruned = Json::parse(&node.text());
    is_back(kind, object, pruned, own)
}

fn is_back(kind: &Kind, object: &Json, there: Json, own: &str) -> Result<(), Broken> {
    let (back, _) = converted(kind, &there, own)?;
    if back == *object {
        return Ok(());
    }
    Err(Broken::Changed {
        object: object.text(),
        there: there.text(),
        back: back.text(),
    })
}

fn prune(object: &mut Object<'_>, known: &Tree) {
    object
        .members_mut()
        .retain(|member| known.child(&member.key).is_some());
    for member in object.members_mut() {
        if let Some(known) = known.child(&member.key).filter(|tree| tree.is_container())
            && let Some(container) = member.value.open()
        {
            prune(container, known);
        }
    }
}

/// Whatever the body is, the answer is a ConversionReview that succeeds, or says why not on one line, and nothing panics.
///
/// # Errors
/// [`Broken::Answer`].
pub fn is_answered(kind: &Kind, body: &[u8]) -> Result<(), Broken> {
    let answer = review::answer(kind, body);
    let wrong = |why: &str| {
        Err(Broken::Answer {
            answer: answer.body.clone(),
            why: why.to_owned(),
        })
    };
    if answer.panics > 0 {
        return wrong("comes from a panic");
    }
    let mut scanner = Scanner::new(&answer.body);
    if scanner.value().and_then(|_| scanner.end()).is_err() {
        return wrong("is not JSON");
    }
    // Serde_json gives up at a depth where the conversion goes on.
    let Ok(said) = serde_json::from_str::<Value>(&answer.body) else {
        return Ok(());
    };
    let response = &said["response"];
    let Some(failure) = &answer.failure else {
        if response["result"]["status"] != "Success" {
            return wrong("does not say that it succeeded");
        }
        let Ok(sent) = serde_json::from_slice::<Value>(body) else {
            return Ok(());
        };
        let count = |objects: &Value| objects.as_array().map_or(0, Vec::len);
        if count(&response["convertedObjects"]) != count(&sent["request"]["objects"]) {
            return wrong("has another number of objects");
        }
        return Ok(());
    };
    if response["result"]["status"] != "Failure" {
        return wrong("does not say that it failed");
    }
    if response["result"]["message"] != failure.as_str() {
        return wrong("does not say why it failed");
    }
    if failure.is_empty() || failure.contains('\n') {
        return wrong("does not say on one line why it failed");
    }
    Ok(())
}
