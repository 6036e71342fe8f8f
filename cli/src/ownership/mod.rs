//! Who has set which field (`metadata.managedFields`), brought from one version of Task to another.
//!
//! Once v1alpha1 is not served any more, the API server can make nothing of an entry that names it: it forgets which fields that
//! manager has set, so that a server-side apply which leaves one out does not remove it any more. So the entries are rewritten while
//! both versions are still known: what an entry names is taken out of the object at the entry's version, converted as any object is,
//! and what that gives is what the manager has set at the new version.

mod extract;
mod field_set;

use serde_json::{Map, Value, json};
use task_conversion::Events;
use task_conversion::task::TASK;

use crate::diff;
use crate::names::SEED;

/// Whether an object has an entry of a version other than `version`.
#[must_use]
pub fn is_stale(object: &Value, version: &str) -> bool {
    entries(object)
        .iter()
        .any(|entry| names_other(entry, version))
}

/// The versions other than `version` that the entries of an object name, and who made them.
#[must_use]
pub fn stale<'o>(object: &'o Value, version: &str) -> Vec<(&'o str, &'o str)> {
    let entries = entries(object).iter();
    entries
        .filter(|entry| names_other(entry, version))
        .map(|entry| (text(entry, "manager"), text(entry, "apiVersion")))
        .collect()
}

/// The entries of an object at `version`, all of them at that version; `None` where they are already.
///
/// An entry of which nothing can be made is left out. Where none is left, [`SEED`] stands for it.
#[must_use]
pub fn rewritten(object: &Value, version: &'static str) -> Option<Vec<Value>> {
    if !is_stale(object, version) {
        return None;
    }
    let mut entries = Vec::new();
    for entry in self::entries(object) {
        let entry = if names_other(entry, version) {
            rewrite(entry, object, version)
        } else {
            Some(entry.clone())
        };
        if let Some(entry) = entry {
            add(&mut entries, entry);
        }
    }
    if entries.is_empty() {
        entries.push(json!({
            "manager": SEED,
            "operation": "Update",
            "apiVersion": api_version(version),
            "time": object["metadata"]["creationTimestamp"],
            "fieldsType": "FieldsV1",
            // It must name something, and a name never changes.
            "fieldsV1": {"f:metadata": {"f:name": {}}},
        }));
    }
    Some(entries)
}

fn entries(object: &Value) -> &[Value] {
    let entries = object["metadata"]["managedFields"].as_array();
    entries.map(Vec::as_slice).unwrap_or_default()
}

fn names_other(entry: &Value, version: &str) -> bool {
    let named = text(entry, "apiVersion");
    named.starts_with(&format!("{}/", TASK.group())) && named != api_version(version)
}

fn api_version(version: &str) -> String {
    format!("{}/{version}", TASK.group())
}

fn text<'v>(value: &'v Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The entry at `version`; `None` where nothing can be made of it.
fn rewrite(entry: &Value, object: &Value, version: &'static str) -> Option<Value> {
    let from = text(entry, "apiVersion");
    let live = converted(object, TASK.version(from).ok()?)?;
    let fields = entry["fieldsV1"].as_object()?;
    let mut part = extract::extract(&live, fields);
    let owned = part.as_object_mut()?;
    // What rides in an annotation is nobody's field.
    owned.insert("metadata".to_owned(), json!({}));
    owned.insert("apiVersion".to_owned(), live["apiVersion"].clone());
    owned.insert("kind".to_owned(), live["kind"].clone());
    let part = converted(&part, version)?;

    let mut set = Map::new();
    for root in ["spec", "status"] {
        let key = format!("f:{root}");
        if let Some(value) = part.get(root) {
            set.insert(key.clone(), field_set::of(value, fields.get(&key)));
        }
    }
    if let Some(metadata) = fields.get("f:metadata") {
        set.insert("f:metadata".to_owned(), metadata.clone());
        // On an object of another version, what this version alone can say rides in an annotation of its name.
        let rest = format!("f:{}", api_version(version));
        field_set::remove(&mut set, &["f:metadata", "f:annotations", &rest]);
    }
    if set.is_empty() {
        return None;
    }
    let mut entry = entry.clone();
    entry["apiVersion"] = api_version(version).into();
    entry["fieldsV1"] = set.into();
    Some(entry)
}

fn converted(object: &Value, version: &'static str) -> Option<Value> {
    diff::converted(object, version, &mut Events::new()).ok()
}

/// Adds an entry; one manager has one entry for each way of writing.
fn add(entries: &mut Vec<Value>, entry: Value) {
    let is_same = |other: &&mut Value| {
        ["manager", "operation", "apiVersion", "subresource"]
            .into_iter()
            .all(|part| other[part] == entry[part])
    };
    let Some(same) = entries.iter_mut().find(is_same) else {
        entries.push(entry);
        return;
    };
    field_set::join(&mut same["fieldsV1"], &entry["fieldsV1"]);
    if text(same, "time") < text(&entry, "time") {
        same["time"] = entry["time"].clone();
    }
}

#[cfg(test)]
mod tests;
