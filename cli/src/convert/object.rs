//! The conversion of what stands in one document.

use task_conversion::json::{Malformed, Scanner};
use task_conversion::task::TASK;
use task_conversion::{ConvertError, Event, Events};

use crate::manifest::Value;

/// Why a document cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The object is nothing that the conversion takes.
    #[error("Task {name}")]
    Convert {
        /// Its namespace and name, as far as it has them.
        name: String,
        /// What it says.
        #[source]
        source: ConvertError,
    },
    /// It nests too deep.
    #[error("Task {name}")]
    Malformed {
        /// Its namespace and name, as far as it has them.
        name: String,
        /// What is wrong with it.
        #[source]
        source: Malformed,
    },
    /// What came out is no JSON.
    #[error("Task {name}: the conversion gave no JSON")]
    Answer {
        /// Its namespace and name, as far as it has them.
        name: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// It is an array.
    #[error("an array of Tasks is nothing that kubectl reads; make it the items of a List")]
    Array,
    /// It is a list of Tasks of a version that there is not.
    #[error("TaskList")]
    List(#[source] ConvertError),
}

/// A Task that was found in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its namespace and name, as far as it has them.
    pub name: String,
    /// The version that it was of.
    pub from: &'static str,
    /// What the conversion had to say of the reserved annotations.
    pub events: Vec<Event>,
}

/// Converts every Task of a document to the version `desired`: the document itself, or the items of a list.
///
/// Everything else stays as it is. `found` tells of each Task.
///
/// # Errors
/// When a Task cannot be converted, an unknown version included.
pub fn convert(
    document: &Value,
    desired: &'static str,
    found: &mut Vec<Found>,
) -> Result<Value, Error> {
    if is_list(document) {
        return convert_list(document, desired, found);
    }
    let mut items = document.items().unwrap_or_default().iter();
    if items.any(|item| is_task(item) || is_list(item)) {
        return Err(Error::Array);
    }
    if !is_task(document) {
        return Ok(document.clone());
    }
    let name = name(document);
    let json = document.to_json();
    let mut scanner = Scanner::new(&json);
    let malformed = |source| Error::Malformed {
        name: name.clone(),
        source,
    };
    let mut node = TASK.read(&mut scanner).map_err(malformed)?;
    let mut events = Events::new();
    let from = TASK
        .convert(&mut node, desired, &mut events)
        .map_err(|source| Error::Convert {
            name: name.clone(),
            source,
        })?;
    let mut answer = String::with_capacity(json.len());
    node.write(&mut answer);
    let converted = Value::from_json(&answer).map_err(|source| Error::Answer {
        name: name.clone(),
        source,
    })?;
    found.push(Found {
        name,
        from,
        events: events.take(),
    });
    Ok(converted)
}

fn convert_list(
    list: &Value,
    desired: &'static str,
    found: &mut Vec<Found>,
) -> Result<Value, Error> {
    let is_ours = is_of_group(list);
    if is_ours {
        let version = list.text("apiVersion").unwrap_or_default();
        TASK.version(version).map_err(Error::List)?;
    }
    let mut members = list.members().unwrap_or_default().to_vec();
    for (key, value) in &mut members {
        match (key.as_str(), &mut *value) {
            ("items", Value::Array(items)) => {
                for item in items {
                    *item = match named_by_list(list, item) {
                        Some(named) => unnamed(convert(&named, desired, found)?, item),
                        None => convert(item, desired, found)?,
                    };
                }
            }
            ("apiVersion", version) if is_ours => {
                *version = Value::String(format!("{}/{desired}", TASK.group()));
            }
            _ => {}
        }
    }
    Ok(Value::Object(members))
}

/// The members of an object that say what it is.
const NAMES: [&str; 2] = ["apiVersion", "kind"];

/// An item of a TaskList that leaves out what it is, with that: kubectl takes it from the list. `None` where it says it.
pub fn named_by_list(list: &Value, item: &Value) -> Option<Value> {
    let members = item.members()?;
    let version = list.text("apiVersion").filter(|_| is_of_group(list))?;
    let mut named: Vec<_> = NAMES
        .into_iter()
        .zip([version, TASK.name()])
        .filter(|(name, _)| item.get(name).is_none())
        .map(|(name, value)| (name.to_owned(), Value::String(value.to_owned())))
        .collect();
    if named.is_empty() {
        return None;
    }
    named.extend_from_slice(members);
    Some(Value::Object(named))
}

/// A converted item without what `before` had left out.
fn unnamed(converted: Value, before: &Value) -> Value {
    match converted {
        Value::Object(mut members) => {
            members
                .retain(|(name, _)| !NAMES.contains(&name.as_str()) || before.get(name).is_some());
            Value::Object(members)
        }
        other => other,
    }
}

/// Whether this is a List of anything or a TaskList.
pub fn is_list(document: &Value) -> bool {
    match document.text("kind") {
        Some("List") => document.text("apiVersion") == Some("v1"),
        Some("TaskList") => is_of_group(document),
        _ => false,
    }
}

/// Whether this is a Task of ours: others have a kind of that name too.
pub fn is_task(document: &Value) -> bool {
    document.text("kind") == Some(TASK.name()) && is_of_group(document)
}

fn is_of_group(document: &Value) -> bool {
    let version = document.text("apiVersion").unwrap_or_default();
    version.split('/').next() == Some(TASK.group())
}

/// Namespace and name, as far as it has them.
pub fn name(object: &Value) -> String {
    let metadata = object.get("metadata");
    let text = |name| metadata.and_then(|metadata| metadata.text(name));
    let name = text("name")
        .or_else(|| text("generateName"))
        .unwrap_or("without a name");
    match text("namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(json: &str) -> (Result<String, Error>, usize) {
        let mut found = Vec::new();
        let value = Value::from_json(json).unwrap();
        let converted = convert(&value, "v1", &mut found);
        (converted.map(|value| value.to_json()), found.len())
    }

    #[test]
    fn the_task_of_somebody_else_is_not_ours() {
        let json = r#"{"apiVersion":"tekton.dev/v1beta1","kind":"Task"}"#;
        let (same, found) = converted(json);
        assert_eq!((same.unwrap().as_str(), found), (json, 0));
    }

    #[test]
    fn an_unknown_version_is_an_error() {
        let (error, _) = converted(
            r#"{"apiVersion":"task.example.io/v2","kind":"Task","metadata":{"name":"a"}}"#,
        );
        assert_eq!(error.unwrap_err().to_string(), "Task a");
    }

    #[test]
    fn a_task_list_of_an_unknown_version_is_an_error() {
        for items in ["[]", r#"[{"metadata":{"name":"a"}}]"#] {
            let (error, _) = converted(&format!(
                r#"{{"apiVersion":"task.example.io/v9","kind":"TaskList","items":{items}}}"#
            ));
            assert_eq!(error.unwrap_err().to_string(), "TaskList");
        }
    }

    #[test]
    fn an_item_that_leaves_out_what_it_is_is_a_task_of_the_version_of_its_list() {
        let (list, found) = converted(
            r#"{"apiVersion":"task.example.io/v1alpha1","kind":"TaskList","items":[{"metadata":{"name":"a"},"spec":{"provider":"p"}}]}"#,
        );
        assert_eq!(
            (list.unwrap().as_str(), found),
            (
                r#"{"apiVersion":"task.example.io/v1","kind":"TaskList","items":[{"metadata":{"name":"a"},"spec":{"operation":{"provider":"p"}}}]}"#,
                1
            )
        );
    }

    #[test]
    fn the_tasks_of_a_list_are_converted_and_the_rest_is_kept() {
        let (list, found) = converted(
            r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod"},{"apiVersion":"task.example.io/v1alpha1","kind":"Task","metadata":{},"spec":{"provider":"p"}}]}"#,
        );
        assert_eq!(
            (list.unwrap().as_str(), found),
            (
                r#"{"apiVersion":"v1","kind":"List","items":[{"kind":"Pod"},{"apiVersion":"task.example.io/v1","kind":"Task","metadata":{},"spec":{"operation":{"provider":"p"}}}]}"#,
                1
            )
        );
    }
}
