//! What must hold for any object. The fuzz target and the test that replays its corpus both call this.

use serde_json::{Map, Value};
use task_conversion::json::Scanner;
use task_conversion::task::TASK;
use task_conversion::{Event, Events};

const RESERVED: [&str; 2] = ["task.example.io/v1", "task.example.io/v1alpha1"];

/// What converts converts back. What has once been there and back comes back as it was from then on, and so does at once what the
/// schemas admit.
pub fn check(object: &[u8]) {
    let Ok(text) = std::str::from_utf8(object) else {
        return;
    };
    there_and_back(text);
    // The API server writes no key twice; and what is too deep for serde_json is too deep for the laws.
    let Ok(object) = serde_json::from_str::<Value>(text) else {
        return;
    };
    let Some([first, second, third, fourth]) = there_and_back(&object.to_string()) else {
        return;
    };
    if [&first, &second, &third, &fourth]
        .iter()
        .any(|step| step.omitted)
    {
        return;
    }
    let seen_of = |converted: &Converted| seen(serde_json::from_str(&converted.text).ok()?);
    let (Some(once), Some(twice)) = (seen_of(&second), seen_of(&fourth)) else {
        return;
    };
    assert_eq!(twice, once, "by way of {}", third.text);
    if is_plain(&object) && has_known_values(&object["spec"], first.from) {
        assert_eq!(Some(once), seen(object), "by way of {}", first.text);
    }
}

/// The object at the other version, at its own again, and both once more; `None` when it is none that converts.
fn there_and_back(text: &str) -> Option<[Converted; 4]> {
    let [there, back] = [["v1alpha1", "v1"], ["v1", "v1alpha1"]]
        .into_iter()
        .find(|[there, back]| convert(text, there).is_some_and(|first| first.from == *back))?;
    let first = convert(text, there)?;
    let second = convert(&first.text, back).expect("what was converted converts back");
    let third = convert(&second.text, there).expect("and there again");
    let fourth = convert(&third.text, back).expect("and back again");
    Some([first, second, third, fourth])
}

struct Converted {
    text: String,
    from: &'static str,
    /// Whether a rest did not fit.
    omitted: bool,
}

/// The object at the version; `None` when it is none that converts.
fn convert(text: &str, version: &str) -> Option<Converted> {
    let mut scanner = Scanner::new(text);
    let mut object = TASK.read(&mut scanner).ok()?;
    scanner.end().ok()?;
    let version = TASK.version(&format!("task.example.io/{version}")).ok()?;
    let mut events = Events::new();
    let from = TASK.convert(&mut object, version, &mut events).ok()?;
    Some(Converted {
        text: object.text().into_owned(),
        from,
        omitted: events.as_slice().contains(&Event::Omitted),
    })
}

/// The object as the API server sees it: metadata is always an object, and no annotations are none at all.
fn seen(mut object: Value) -> Option<Value> {
    let metadata = object
        .as_object_mut()?
        .entry("metadata")
        .or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    let metadata = metadata.as_object_mut()?;
    let annotations = metadata.get("annotations");
    if annotations == Some(&Value::Null) || annotations == Some(&Value::Object(Map::new())) {
        metadata.remove("annotations");
    }
    for key in RESERVED {
        // The order of the members inside of a rest says nothing.
        if let Some(rest) = metadata
            .get_mut("annotations")
            .and_then(|all| all.get_mut(key))
            && let Some(read) = rest
                .as_str()
                .and_then(|rest| serde_json::from_str(rest).ok())
        {
            *rest = read;
        }
    }
    Some(object)
}

/// Whether nothing in the object is changed on purpose on the way: the reserved annotations and the old names of the status, which v1
/// has no fields of.
fn is_plain(object: &Value) -> bool {
    let has = |container: &str, names: &[&str]| {
        let container = object.pointer(container);
        names
            .iter()
            .any(|name| container.is_some_and(|container| container.get(name).is_some()))
    };
    let is_spoke = object["apiVersion"] == "task.example.io/v1alpha1";
    let old_names = ["taskStatus", "taskResult", "completedAt"];
    let operation = object.pointer("/status/operation");
    let is_changed = has("/metadata/annotations", &RESERVED)
        || has("/status", &old_names)
        || is_spoke && operation.is_some();
    !is_changed
}

/// Whether the spec is one that its version can have: of a rest, only such values are believed.
fn has_known_values(spec: &Value, version: &str) -> bool {
    if spec.is_null() {
        return true;
    }
    let spec = spec.clone();
    if version == "v1alpha1" {
        return serde_json::from_value::<task_api_v1alpha1::TaskSpec>(spec).is_ok();
    }
    serde_json::from_value::<task_api_v1::TaskSpec>(spec).is_ok_and(|spec| {
        spec.operation.is_none_or(|operation| {
            task_api_v1::duration::parse_timeout(&operation.timeout).is_ok()
        })
    })
}
