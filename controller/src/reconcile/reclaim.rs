//! What is ours of a child, where others have changed it in a way that server-side apply does not undo. Pure.
//!
//! A forced apply takes over the fields that it sets, and leaves those that others set beside them. Mostly that is what
//! is wanted. But of what belongs to us alone such a rest can contradict what we set, and then the API server refuses the apply:
//! somebody changes the number of the port `http`, which makes it another element of the list, and ours of the same name
//! cannot stand beside it; or gives a variable a `valueFrom`, which cannot stand beside our `value`.
//!
//! What undoes it is to say whose that rest is: once `managedFields` tell that it is ours, an apply that does not set it
//! removes it. Nothing else changes by that, so that no half-right object is ever there for the pods to be rolled to.

use serde_json::{Map, Value};
use task_api_v1::names::FIELD_MANAGER;

/// The list whose elements are ours only in part, as `fieldsV1` names it: others set fields of our container too.
const SHARED_LIST: &str = "f:containers";

/// The objects beside the elements of lists that are ours as a whole.
const WHOLE_OBJECTS: [&str; 1] = ["seccompProfile"];

/// How a child can be brought to what it should be after all.
#[derive(Clone, Debug, PartialEq)]
pub enum Remedy {
    /// By applying it again after its `managedFields` were replaced by these.
    TakeBack(Value),
    /// By deleting and creating it again: somebody made it immutable.
    Recreate,
}

/// What can be done about `live`, which `desired` could not be applied to; `None` if it is not for us to do anything.
pub fn remedy(live: &Value, desired: &Value) -> Option<Remedy> {
    // Of the children only a ConfigMap has such a field.
    if live["immutable"] == true {
        return Some(Remedy::Recreate);
    }
    take_back(live, desired).map(Remedy::TakeBack)
}

/// The `managedFields` of `live` with what is ours alone in our entry, if it is not there yet.
fn take_back(live: &Value, desired: &Value) -> Option<Value> {
    let mut entries = live["metadata"]["managedFields"].as_array()?.clone();
    let ours = entries.iter().position(is_ours)?;
    let mut taken = Map::new();
    for other in (0..entries.len()).filter(|&entry| entry != ours) {
        // Status and scale are told apart by their own entries, and are not ours.
        if entries[other].get("subresource").is_none()
            && let Some(fields) = entries[other]["fieldsV1"].as_object_mut()
        {
            merge(&mut taken, take(fields, live, desired, false));
        }
    }
    if taken.is_empty() {
        return None;
    }
    merge(entries[ours]["fieldsV1"].as_object_mut()?, taken);
    entries.retain(|entry| entry["fieldsV1"] != Value::Object(Map::new()));
    Some(Value::Array(entries))
}

fn is_ours(entry: &Value) -> bool {
    entry["manager"] == FIELD_MANAGER
        && entry["operation"] == "Apply"
        && entry.get("subresource").is_none()
}

/// Takes out of a set of fields, in the form of `fieldsV1`, those that are ours alone. `is_shared`: they are elements of which that
/// is to be asked of each field.
fn take(
    fields: &mut Map<String, Value>,
    live: &Value,
    desired: &Value,
    is_shared: bool,
) -> Map<String, Value> {
    let mut taken = Map::new();
    fields.retain(|key, inner| {
        let Some((live, desired, whole)) = part(key, live, desired, is_shared) else {
            return true;
        };
        if whole {
            taken.insert(key.clone(), inner.take());
            return false;
        }
        let Some(inner) = inner.as_object_mut() else {
            return true;
        };
        let of_it = take(inner, live, desired, key == SHARED_LIST);
        if of_it.is_empty() {
            return true;
        }
        taken.insert(key.clone(), Value::Object(of_it));
        !inner.is_empty()
    });
    taken
}

/// What a key of `fieldsV1` stands for in both objects, and whether that is ours as a whole; `None` if it is not ours at all.
fn part<'v>(
    key: &str,
    live: &'v Value,
    desired: &'v Value,
    is_shared: bool,
) -> Option<(&'v Value, &'v Value, bool)> {
    if let Some(name) = key.strip_prefix("f:") {
        return Some((
            live.get(name)?,
            desired.get(name)?,
            WHOLE_OBJECTS.contains(&name),
        ));
    }
    // An element of a list, which its name makes ours or not. The key has other fields, too, and may lack the name.
    let key: Map<String, Value> = serde_json::from_str(key.strip_prefix("k:")?).ok()?;
    let has_key = |element: &&Value| {
        key.iter()
            .all(|(name, value)| element.get(name) == Some(value))
    };
    let live = live.as_array()?.iter().find(has_key)?;
    let name = live.get("name")?;
    let is_namesake = |element: &&Value| element.get("name") == Some(name);
    let desired = desired.as_array()?.iter().find(is_namesake)?;
    Some((live, desired, !is_shared))
}

/// Adds the fields of one set to another.
fn merge(into: &mut Map<String, Value>, fields: Map<String, Value>) {
    for (key, inner) in fields {
        match (into.get_mut(&key), inner) {
            (Some(Value::Object(into)), Value::Object(inner)) => merge(into, inner),
            (_, inner) => {
                into.insert(key, inner);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(manager: &str, operation: &str, fields: Value) -> Value {
        json!({ "manager": manager, "operation": operation, "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields })
    }

    /// What `managedFields` say after the remedy: ours, and those of somebody who edited by hand.
    fn taken_back(
        spec: Value,
        ours: Value,
        theirs: Value,
        desired: Value,
    ) -> Option<(Value, Value)> {
        let live = json!({
            "metadata": { "managedFields": [entry("by-hand", "Update", theirs), entry(FIELD_MANAGER, "Apply", ours)] },
            "spec": spec,
        });
        let Remedy::TakeBack(entries) = remedy(&live, &json!({ "spec": desired }))? else {
            panic!("to be created again");
        };
        let find = |manager: &str| {
            let mut entries = entries.as_array().unwrap().iter();
            entries
                .find(|entry| entry["manager"] == manager)
                .map_or(Value::Null, |entry| entry["fieldsV1"].clone())
        };
        Some((find(FIELD_MANAGER), find("by-hand")))
    }

    #[test]
    fn our_port_under_another_number_is_ours_and_another_port_is_not() {
        let taken = taken_back(
            json!({ "ports": [{ "name": "http", "port": 81, "protocol": "TCP" }, { "name": "admin", "port": 9, "protocol": "TCP" }] }),
            json!({ "f:spec": { "f:selector": {} } }),
            json!({ "f:spec": { "f:ports": {
                "k:{\"port\":81,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} },
                "k:{\"port\":9,\"protocol\":\"TCP\"}": { ".": {}, "f:port": {} },
            }}}),
            json!({ "ports": [{ "name": "http", "port": 80, "protocol": "TCP" }] }),
        );
        let port = |number: &str| {
            let key = format!("k:{{\"port\":{number},\"protocol\":\"TCP\"}}");
            Map::from_iter([(key, json!({ ".": {}, "f:port": {} }))])
        };
        let ours = json!({ "f:spec": { "f:selector": {}, "f:ports": port("81") } });
        let theirs = json!({ "f:spec": { "f:ports": port("9") } });
        assert_eq!(taken, Some((ours, theirs)));
    }

    #[test]
    fn of_our_container_only_the_variables_ports_and_profile_that_we_set_are_ours_alone() {
        let container =
            |fields: Value| json!({ "f:containers": { "k:{\"name\":\"task\"}": fields } });
        let taken = taken_back(
            json!({ "containers": [{ "name": "task", "tty": true, "env": [{ "name": "A", "valueFrom": {} }, { "name": "B" }],
                "securityContext": { "privileged": true, "seccompProfile": { "type": "RuntimeDefault", "localhostProfile": "x" } } }] }),
            json!({ "f:spec": {} }),
            json!({ "f:spec": container(json!({
                ".": {},
                "f:tty": {},
                "f:env": { "k:{\"name\":\"A\"}": { "f:valueFrom": {} }, "k:{\"name\":\"B\"}": { "f:value": {} } },
                "f:securityContext": { "f:privileged": {}, "f:seccompProfile": { "f:localhostProfile": {} } },
            }))}),
            json!({ "containers": [{ "name": "task", "env": [{ "name": "A", "value": "1" }],
                "securityContext": { "seccompProfile": { "type": "RuntimeDefault" } } }] }),
        );
        let ours = container(json!({
            "f:env": { "k:{\"name\":\"A\"}": { "f:valueFrom": {} } },
            "f:securityContext": { "f:seccompProfile": { "f:localhostProfile": {} } },
        }));
        let theirs = container(json!({
            ".": {},
            "f:tty": {},
            "f:env": { "k:{\"name\":\"B\"}": { "f:value": {} } },
            "f:securityContext": { "f:privileged": {} },
        }));
        assert_eq!(
            taken,
            Some((json!({ "f:spec": ours }), json!({ "f:spec": theirs })))
        );
    }

    #[test]
    fn where_nothing_of_ours_was_changed_nothing_is_to_be_done() {
        let spec = json!({ "containers": [{ "name": "sidecar" }], "paused": true });
        let theirs = json!({ "f:spec": { "f:paused": {}, "f:containers": { "k:{\"name\":\"sidecar\"}": { ".": {} } } } });
        let desired = json!({ "containers": [{ "name": "task" }] });
        assert_eq!(taken_back(spec, json!({}), theirs, desired), None);
    }

    #[test]
    fn an_entry_of_which_all_is_ours_is_dropped() {
        let taken = taken_back(
            json!({ "volumes": [{ "name": "config", "emptyDir": {} }] }),
            json!({ "f:spec": {} }),
            json!({ "f:spec": { "f:volumes": { "k:{\"name\":\"config\"}": { "f:emptyDir": {} } } } }),
            json!({ "volumes": [{ "name": "config", "configMap": {} }] }),
        );
        assert_eq!(taken.unwrap().1, Value::Null);
    }

    #[test]
    fn what_was_made_immutable_is_created_again() {
        let live = json!({ "metadata": {}, "immutable": true });
        assert_eq!(remedy(&live, &json!({})), Some(Remedy::Recreate));
    }
}
