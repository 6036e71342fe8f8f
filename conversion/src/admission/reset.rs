//! What a write at an older version takes back to its default without saying so.
//!
//! `kubectl replace` with an old file sends no annotation, so whatever only v1 can show is gone. That is allowed, as the file says
//! what its author wants, but its author cannot see it.

use json_patch::PatchOperation;
use task_api_v1::json_text::is_same_json;

use super::defaults::missing;
use super::fit::OLDER;
use super::place::{given, value_at};
use crate::Events;
use crate::json::{Object, Scanner};
use crate::task::{TASK, V1ALPHA1};

/// The fields of v1 that differ although the older version shows the same before and after.
///
/// What the client could see and changed is its own doing, and so is what goes with it.
pub(super) fn reset_fields(object: &str, old: &str) -> Vec<String> {
    let (Some(shown), Some(shown_before)) = (older_form(object), older_form(old)) else {
        return Vec::new();
    };
    let mut reset = Vec::new();
    for field in V1ALPHA1 {
        let [now, before] = [object, old].map(|task| with_default(task, field.hub));
        // What has come or gone as a whole could be seen.
        if let (Some(now), Some(before)) = (now, before)
            && !is_same_json(&now, &before)
        {
            let [shows, showed] = [&shown, &shown_before].map(|task| value_at(task, field.spoke));
            reset.extend(hidden_changes(field.hub, [&now, &before], [shows, showed]));
        }
    }
    reset
}

/// What of a field that differs shows no difference: members of it where both versions have members, otherwise the field.
fn hidden_changes(
    path: &str,
    [now, before]: [&str; 2],
    [shows, showed]: [Option<&str>; 2],
) -> Vec<String> {
    let same = |a: Option<&str>, b: Option<&str>| match (a, b) {
        (Some(a), Some(b)) => is_same_json(a, b),
        (a, b) => a.is_none() && b.is_none(),
    };
    let members =
        |text: Option<&str>| Object::parse(text.unwrap_or_default()).map(Object::into_owned);
    let (Some(now), Some(before), Some(shows), Some(showed)) = (
        members(Some(now)),
        members(Some(before)),
        members(shows),
        members(showed),
    ) else {
        return if same(shows, showed) {
            vec![path.to_owned()]
        } else {
            Vec::new()
        };
    };
    let mut names = Vec::new();
    for member in before.members() {
        let name = member.key.name();
        let at = |object: &Object<'_>| object.get(&name).map(|value| value.text().into_owned());
        let [now, before, shows, showed] = [&now, &before, &shows, &showed].map(at);
        if now.is_some()
            && !same(now.as_deref(), before.as_deref())
            && same(shows.as_deref(), showed.as_deref())
        {
            names.push(format!("{path}[{name}]"));
        }
    }
    names
}

/// The text of a field of v1, which may be its default.
fn with_default(task: &str, path: &str) -> Option<String> {
    if let Some(value) = given(task, path) {
        return Some(value.to_owned());
    }
    let pointer = format!("/{}", path.replace('.', "/"));
    let missing = missing(task);
    missing.0.iter().find_map(|operation| match operation {
        PatchOperation::Add(add) if add.path.as_str() == pointer => Some(add.value.to_string()),
        _ => None,
    })
}

fn older_form(task: &str) -> Option<String> {
    let mut node = TASK.read(&mut Scanner::new(task)).ok()?;
    TASK.convert(&mut node, OLDER, &mut Events::new()).ok()?;
    Some(node.text().into_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn told(spec: Value, old: Value) -> Vec<String> {
        let [object, old] = [spec, old].map(|spec| {
            json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "a"}, "spec": spec}).to_string()
        });
        reset_fields(&object, &old)
    }

    #[test]
    fn what_an_old_file_takes_back_is_named() {
        let old = json!({"operation": {"provider": "p", "completion": "Queue", "timeout": "1.5s",
            "parameters": {"size": 10, "name": "a", "list": [1, 2]}}});
        let replaced = json!({"operation": {"provider": "p", "timeout": "2s",
            "parameters": {"size": "10", "name": "a", "list": "[1,2]"}}});
        assert_eq!(
            told(replaced, old),
            [
                "spec.operation.parameters[list]",
                "spec.operation.parameters[size]",
                "spec.operation.timeout",
                "spec.operation.completion",
            ]
        );
    }

    #[test]
    fn what_the_client_sees_itself_change_is_not_named() {
        let old = json!({"replicas": 1, "env": {"A": "1"}, "operation": {"provider": "p", "completion": "Queue", "timeout": "1.5s", "parameters": {"size": 10}}});
        for spec in [
            json!({"replicas": 2}),
            json!({"env": {"A": "2"}, "operation": {"provider": "q", "completion": "Queue", "timeout": "3s", "parameters": {"size": "11"}}}),
            json!({"operation": {"provider": "q", "completion": "Queue", "timeout": "1.5s", "parameters": {}}}),
            old.clone(),
        ] {
            assert_eq!(told(spec.clone(), old.clone()), [""; 0], "{spec}");
        }
    }

    #[test]
    fn a_default_that_is_left_out_is_no_change() {
        let whole = json!({"operation": {"provider": "p", "completion": "Poll", "timeout": "1h"}});
        assert_eq!(
            told(json!({"operation": {"provider": "p"}}), whole),
            [""; 0]
        );
    }
}
