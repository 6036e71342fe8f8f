//! Tasks and what is done to them, at random.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::model::{TIMEOUTS, Version, shown};

/// A whole number that a double cannot hold.
pub const BEYOND_A_DOUBLE: i64 = 9_007_199_254_740_993;

/// One Task's life.
#[derive(Clone, Debug)]
pub struct Life {
    pub born: Version,
    pub spec: Vec<Edit>,
    pub steps: Vec<Step>,
}

/// One write.
#[derive(Clone, Debug)]
pub struct Step {
    pub version: Version,
    pub way: Way,
}

/// How a Task is written.
#[derive(Clone, Debug)]
pub enum Way {
    MergePatch(Vec<Edit>),
    JsonPatch(Vec<Edit>),
    /// A read and a `PUT` of what was read, edited.
    Replace(Vec<Edit>),
    /// A `PUT` by somebody who sends no annotations.
    ReplaceWithoutAnnotations(Vec<Edit>),
    /// A server-side apply, by a manager of its own, of what the edits add or change.
    Apply(Vec<Edit>),
    Scale(i32),
    /// A merge patch of the status.
    Status(Value),
}

/// One change of a spec, as it is made at either version.
#[derive(Clone, Debug)]
pub enum Edit {
    Replicas(i32),
    Image(&'static str),
    Port(i32),
    Variable(&'static str, Option<&'static str>),
    /// Only the list of v1alpha1 has an order to be turned round.
    TurnEnv,
    Provider(&'static str),
    NoOperation,
    Parameter(&'static str, Option<Value>),
    Timeout(Option<(&'static str, i64)>),
    /// Only v1 has it.
    Completion(&'static str),
}

impl Edit {
    /// Changes `spec`, which is of `version`. What belongs to an operation does nothing where there is none.
    pub fn apply(&self, version: Version, spec: &mut Value) {
        let old = version == Version::V1alpha1;
        let operation = if old { "provider" } else { "operation" };
        match self {
            Self::Replicas(replicas) => spec["replicas"] = json!(replicas),
            Self::Image(image) => spec["image"] = json!(image),
            Self::Port(port) => spec["port"] = json!(port),
            Self::Variable(name, value) if old => {
                let list = spec.get("env").and_then(Value::as_array);
                let mut list = list.cloned().unwrap_or_default();
                let place = list.iter().position(|entry| entry["name"] == *name);
                match (place, value) {
                    (Some(place), Some(value)) => list[place]["value"] = json!(value),
                    (Some(place), None) => drop(list.remove(place)),
                    (None, Some(value)) => list.push(json!({"name": name, "value": value})),
                    (None, None) => return,
                }
                spec["env"] = list.into();
            }
            Self::Variable(name, value) => set_in(spec, "env", name, value.map(Value::from)),
            Self::TurnEnv if old => {
                if let Some(list) = spec.get_mut("env").and_then(Value::as_array_mut) {
                    list.reverse();
                }
            }
            Self::Provider(provider) if old => spec["provider"] = json!(provider),
            Self::Provider(provider) => spec["operation"]["provider"] = json!(provider),
            Self::NoOperation => {
                let names: &[_] = match version {
                    Version::V1 => &["operation"],
                    Version::V1alpha1 => &["provider", "parameters", "timeoutSeconds"],
                };
                for name in names {
                    spec.as_object_mut().map(|spec| spec.remove(*name));
                }
            }
            _ if spec.get(operation).is_none() => {}
            Self::Parameter(name, value) if old => {
                let text = value.as_ref().map(|value| shown(value).into());
                set_in(spec, "parameters", name, text);
            }
            Self::Parameter(name, value) => {
                set_in(&mut spec["operation"], "parameters", name, value.clone());
            }
            Self::Timeout(timeout) if old => {
                set(
                    spec,
                    "timeoutSeconds",
                    timeout.map(|(_, seconds)| seconds.into()),
                );
            }
            Self::Timeout(timeout) => {
                set(
                    &mut spec["operation"],
                    "timeout",
                    timeout.map(|(text, _)| text.into()),
                );
            }
            Self::Completion(completion) if !old => {
                spec["operation"]["completion"] = json!(completion);
            }
            Self::TurnEnv | Self::Completion(_) => {}
        }
    }
}

/// Sets or removes the member `name` of the object that is the member `container` of `object`, and makes that only to set one in it.
fn set_in(object: &mut Value, container: &str, name: &str, value: Option<Value>) {
    match (object.get_mut(container), value) {
        (Some(inner), value) => set(inner, name, value),
        (None, Some(value)) => object[container] = json!({name: value}),
        (None, None) => {}
    }
}

fn set(object: &mut Value, name: &str, value: Option<Value>) {
    match value {
        Some(value) => object[name] = value,
        None => {
            object.as_object_mut().map(|object| object.remove(name));
        }
    }
}

fn version() -> impl Strategy<Value = Version> {
    select(vec![Version::V1, Version::V1alpha1])
}

fn parameter() -> impl Strategy<Value = Value> {
    select(vec![
        json!("10"),
        json!("text"),
        json!(""),
        json!("true"),
        json!(10),
        json!(20),
        json!(-2.5),
        json!(BEYOND_A_DOUBLE),
        json!(true),
        json!(false),
        json!([]),
        json!([1, null, "a"]),
        json!({}),
        json!({"a": [1, {"b": "c"}]}),
        json!({"a": 0.1, "d": {"e": true}}),
    ])
}

fn edit() -> impl Strategy<Value = Edit> {
    let variable = select(vec!["A", "B", "C", "_D", "e.f"]);
    let value = prop::option::weighted(0.7, select(vec!["", "1", "$(B)", "\u{e9} <b> \u{1f600}"]));
    let name = select(vec!["size", "tier", "x/y~z"]);
    prop_oneof![
        1 => (0..=100).prop_map(Edit::Replicas),
        1 => select(vec!["nginx:alpine", "httpd:2.4", "localhost:5000/a/b:c"]).prop_map(Edit::Image),
        1 => (1..=65_535).prop_map(Edit::Port),
        4 => (variable, value).prop_map(|(name, value)| Edit::Variable(name, value)),
        1 => Just(Edit::TurnEnv),
        2 => select(vec!["volumes", "reports"]).prop_map(Edit::Provider),
        1 => Just(Edit::NoOperation),
        4 => (name, prop::option::weighted(0.8, parameter()))
            .prop_map(|(name, value)| Edit::Parameter(name, value)),
        2 => prop::option::weighted(0.9, select(TIMEOUTS.to_vec())).prop_map(Edit::Timeout),
        2 => select(vec!["Poll", "Callback", "Queue", "Hybrid"]).prop_map(Edit::Completion),
    ]
}

/// The edits that make a first spec.
pub fn first() -> impl Strategy<Value = Vec<Edit>> {
    let operation = prop::option::of(Just(Edit::Provider("volumes")));
    (operation, vec(edit(), 0..8))
        .prop_map(|(operation, edits)| operation.into_iter().chain(edits).collect())
}

/// The edits that are made at once.
pub fn edits() -> impl Strategy<Value = Vec<Edit>> {
    vec(edit(), 0..4)
}

fn status(version: Version) -> impl Strategy<Value = Value> {
    let mut patches = vec![
        json!({"operation": {"phase": "Creating", "key": "k-1", "attempts": 1}}),
        json!({"operation": {"phase": "Ready", "result": "r", "completedAt": "2026-01-02T03:04:05Z"}}),
        json!({"operation": {"phase": "Failed", "result": null}}),
        json!({"failureDetails": [{"code": "c", "message": "m", "timestamp": "2026-01-02T03:04:05Z"}]}),
        json!({"lastAsyncOperationID": "id-1", "observedGeneration": 1}),
        json!({"operation": null}),
    ];
    if version == Version::V1alpha1 {
        patches.extend([
            json!({"taskStatus": "Completed"}),
            json!({"taskStatus": "Failed", "taskResult": "no"}),
            json!({"taskStatus": ""}),
            json!({"taskStatus": null, "taskResult": null, "completedAt": null}),
            json!({"completedAt": "2026-02-03T04:05:06Z"}),
        ]);
    }
    select(patches)
}

fn step() -> impl Strategy<Value = Step> {
    let way = |version| {
        prop_oneof![
            edits().prop_map(Way::MergePatch),
            edits().prop_map(Way::JsonPatch),
            edits().prop_map(Way::Replace),
            edits().prop_map(Way::ReplaceWithoutAnnotations),
            edits().prop_map(Way::Apply),
            (0..=100).prop_map(Way::Scale),
            status(version).prop_map(Way::Status),
        ]
    };
    version().prop_flat_map(move |version| way(version).prop_map(move |way| Step { version, way }))
}

/// A Task that is created and then written a few times.
pub fn life() -> impl Strategy<Value = Life> {
    (version(), first(), vec(step(), 0..8)).prop_map(|(born, spec, steps)| Life {
        born,
        spec,
        steps,
    })
}

/// A file that is applied, and the edits with which it is applied again.
pub fn file() -> impl Strategy<Value = (Version, Vec<Edit>, Vec<Edit>)> {
    (version(), first(), edits())
}
