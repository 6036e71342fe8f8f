//! What becomes of a Task that goes to the other version and comes back.

use serde_json::Value;
use task_api_v1::names::annotation::{V1_REST, V1ALPHA1_REST};
use task_conversion::json::Scanner;
use task_conversion::task::TASK;
use task_conversion::{ConvertError, Event, Events};

use super::compare::{Difference, Scope, compare};

/// What becomes of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It does not come back.
    Lost(Difference),
    /// The other version cannot show it: it rides in an annotation, and is lost with that.
    Hidden(Difference),
    /// An annotation of the conversion's is not as the conversion would have written it.
    Odd(String),
}

/// Why a Task cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The conversion does not take it.
    #[error(transparent)]
    Convert(#[from] ConvertError),
    /// What was to be converted, or came out, is no JSON.
    #[error("no JSON")]
    Json,
}

/// Converts a Task of `version` to the other version and back.
///
/// # Errors
/// When it cannot be converted.
pub fn round_trip(task: &Value, version: &'static str) -> Result<Vec<Fate>, Error> {
    let other = match version {
        "v1" => "v1alpha1",
        _ => "v1",
    };
    let mut events = Events::new();
    let mut there = converted(task, other, &mut events)?;
    let back = converted(&there, version, &mut events)?;
    let mut fates: Vec<_> = compare(task, &back, Scope::All)
        .into_iter()
        .map(Fate::Lost)
        .collect();
    for event in events.take() {
        match event {
            Event::Written | Event::Restored => {}
            Event::Broken(why) => fates.push(Fate::Odd(format!(
                "a reserved annotation is broken and is ignored: {why}"
            ))),
            Event::Misplaced => fates.push(Fate::Odd(
                "a reserved annotation of the other version is dropped".to_owned(),
            )),
            Event::Omitted => fates.push(Fate::Odd(
                "its annotations leave no room for what the other version cannot show".to_owned(),
            )),
        }
    }
    // Once more as if somebody had thrown away what he does not know.
    if let Some(annotations) = there["metadata"]["annotations"].as_object_mut() {
        annotations.remove(V1_REST);
        annotations.remove(V1ALPHA1_REST);
    }
    let bare = converted(&there, version, &mut Events::new())?;
    let spec = |task: &Value| task["spec"].clone();
    let hidden = compare(&spec(&back), &spec(&bare), Scope::All).into_iter();
    fates.extend(hidden.map(|mut difference| {
        difference.path = format!(".spec{}", difference.path);
        Fate::Hidden(difference)
    }));
    Ok(fates)
}

/// The Task at `version`.
///
/// # Errors
/// When it cannot be converted.
pub fn converted(task: &Value, version: &'static str, events: &mut Events) -> Result<Value, Error> {
    let json = task.to_string();
    let mut node = TASK
        .read(&mut Scanner::new(&json))
        .map_err(|_| Error::Json)?;
    TASK.convert(&mut node, version, events)?;
    let mut converted = String::new();
    node.write(&mut converted);
    serde_json::from_str(&converted).map_err(|_| Error::Json)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fates(spec: Value) -> Vec<String> {
        let task = json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "a"}, "spec": spec});
        let fates = round_trip(&task, "v1").unwrap();
        fates
            .iter()
            .map(|fate| match fate {
                Fate::Lost(difference) => format!("lost {difference}"),
                Fate::Hidden(difference) => format!("hidden {difference}"),
                Fate::Odd(what) => format!("odd {what}"),
            })
            .collect()
    }

    #[test]
    fn what_both_versions_can_say_has_no_fate_to_tell() {
        assert_eq!(
            fates(
                json!({"image": "a:1", "env": {"A": "1"}, "operation": {"provider": "p", "timeout": "1m"}})
            ),
            [""; 0]
        );
    }

    #[test]
    fn what_the_other_version_cannot_say_hides_in_the_annotation() {
        assert_eq!(
            fates(
                json!({"operation": {"provider": "p", "timeout": "1.5s", "completion": "Hybrid"}})
            ),
            [
                r#"hidden .spec.operation.completion: "Hybrid" is gone"#,
                r#"hidden .spec.operation.timeout: "1.5s" became "2s""#,
            ]
        );
    }
}
