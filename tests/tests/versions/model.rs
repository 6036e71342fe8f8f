//! What a Task must be at both versions after it was written at one of them: a statement of its own, in terms of what people see.
//! It shares no code with the conversion.

use std::fmt;

use serde_json::{Map, Value, json};

/// A version of Task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V1alpha1,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V1 => "v1",
            Self::V1alpha1 => "v1alpha1",
        })
    }
}

/// The old name of each phase.
const PHASES: [(&str, &str); 3] = [
    ("Creating", "Running"),
    ("Ready", "Completed"),
    ("Failed", "Failed"),
];

/// The old names of a status, each with what it is an old name of.
const OLD_NAMES: [(&str, &str); 3] = [
    ("taskStatus", "phase"),
    ("taskResult", "result"),
    ("completedAt", "completedAt"),
];

/// A Task as it must be.
#[derive(Clone, Debug)]
pub struct Model {
    pub generation: i64,
    /// The spec at v1.
    spec: Value,
    /// The status at v1; null where there is none.
    status: Value,
    /// The names of `env` as v1alpha1 lists them, where that is not the order of the names.
    order: Vec<String>,
}

impl Model {
    /// What is made by creating a Task with `spec` at `version`.
    pub fn created(version: Version, spec: &Value) -> Self {
        let mut model = Self {
            generation: 1,
            spec: Value::Null,
            status: Value::Null,
            order: Vec::new(),
        };
        model.set(version, spec, false);
        model
    }

    /// The spec that is seen at `version`.
    pub fn spec(&self, version: Version) -> Value {
        match version {
            Version::V1 => self.spec.clone(),
            Version::V1alpha1 => self.old_spec(),
        }
    }

    /// The status that is seen at `version`.
    pub fn status(&self, version: Version) -> Value {
        let mut status = self.status.clone();
        if version == Version::V1alpha1 && status.is_object() {
            for (old, new) in OLD_NAMES {
                if let Some(value) = older(old, &status["operation"][new]) {
                    status[old] = value;
                }
            }
        }
        status
    }

    /// `spec` is written at `version`, by somebody who sends our annotation back (`with_rest`) or does not.
    pub fn write(&mut self, version: Version, spec: &Value, with_rest: bool) {
        // The API server counts what changes at the version that is written at, once defaults are filled in: its own, and v1's by the
        // webhook.
        let before = self.spec(version);
        let mut after = defaulted(version, spec);
        if version == Version::V1alpha1 && after.get("provider").is_some() {
            let shown = after.as_object_mut().unwrap();
            shown
                .entry("timeoutSeconds")
                .or_insert(json!(DEFAULT_TIMEOUT.1));
        }
        if before != after {
            self.generation += 1;
        }
        self.set(version, spec, with_rest);
    }

    /// `patch` is merged into the status at `version`.
    pub fn write_status(&mut self, version: Version, patch: &Value) {
        let mut status = self.status(version);
        merge(&mut status, patch);
        if version == Version::V1alpha1 {
            self.list_env();
            for (old, new) in OLD_NAMES {
                let Some(said) = status.as_object_mut().and_then(|status| status.remove(old))
                else {
                    continue;
                };
                let given = older(old, &status["operation"][new]);
                if said != "" && given.as_ref() != Some(&said) {
                    status["operation"][new] = newer(old, &said);
                }
            }
        }
        self.status = status;
    }

    fn set(&mut self, version: Version, spec: &Value, with_rest: bool) {
        match version {
            Version::V1 => {
                self.spec = defaulted(version, spec);
                if !with_rest {
                    self.order.clear();
                }
            }
            Version::V1alpha1 => {
                let rest = if with_rest {
                    self.spec.clone()
                } else {
                    Value::Null
                };
                self.spec = defaulted(Version::V1, &of_old(&defaulted(version, spec), &rest));
                self.take_order(&spec["env"]);
            }
        }
    }

    /// Takes over the order of `list`, where nothing but the order is open.
    pub fn take_order(&mut self, list: &Value) {
        self.order = names(list.as_array().map_or(&[], Vec::as_slice));
        self.forget_order_of_names();
    }

    /// A write at v1alpha1 that does not touch `env` writes the list as it is seen.
    fn list_env(&mut self) {
        self.take_order(&self.old_spec()["env"].clone());
    }

    fn forget_order_of_names(&mut self) {
        if self.order.is_sorted() {
            self.order.clear();
        }
    }

    fn old_spec(&self) -> Value {
        let mut old = Map::new();
        for name in ["replicas", "image", "port"] {
            old.insert(name.to_owned(), self.spec[name].clone());
        }
        if let Some(env) = self.spec["env"].as_object() {
            let listed = self.order.iter().filter(|name| env.contains_key(*name));
            let others = env.keys().filter(|name| !self.order.contains(name));
            let list = listed
                .chain(others)
                .map(|name| json!({"name": name, "value": env[name]}));
            old.insert("env".to_owned(), list.collect());
        }
        if let Some(operation) = self.spec["operation"].as_object() {
            old.insert("provider".to_owned(), operation["provider"].clone());
            if let Some(parameters) = operation.get("parameters").and_then(Value::as_object) {
                let shown = parameters
                    .iter()
                    .map(|(name, value)| (name.clone(), shown(value).into()));
                old.insert("parameters".to_owned(), Value::Object(shown.collect()));
            }
            old.insert(
                "timeoutSeconds".to_owned(),
                seconds(&operation["timeout"]).into(),
            );
        }
        old.into()
    }
}

/// What v1alpha1 shows of a parameter.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The timeouts that are used, each with its seconds. The first of those with the same seconds is what these are written as.
pub const TIMEOUTS: [(&str, i64); 8] = [
    ("1h", 3600),
    ("1m30s", 90),
    ("90s", 90),
    ("2s", 2),
    ("1.5s", 2),
    ("1h0m0s", 3600),
    ("720h", 2_592_000),
    ("1m", 60),
];

/// The one that is taken where none is given.
const DEFAULT_TIMEOUT: (&str, i64) = TIMEOUTS[0];

fn seconds(timeout: &Value) -> i64 {
    let known = TIMEOUTS.iter().find(|(text, _)| timeout == text);
    known.map(|(_, seconds)| *seconds).unwrap()
}

fn timeout(seconds: &Value) -> &'static str {
    let known = TIMEOUTS.iter().find(|(_, known)| seconds == known);
    known.map(|(text, _)| *text).unwrap()
}

/// A v1 spec of what was written at v1alpha1, with what `rest`, the v1 spec from before, has beyond that.
fn of_old(old: &Value, rest: &Value) -> Value {
    let mut spec = Map::new();
    for name in ["replicas", "image", "port"] {
        spec.insert(name.to_owned(), old[name].clone());
    }
    if let Some(list) = old["env"].as_array() {
        let entry = |entry: &Value| {
            (
                entry["name"].as_str().unwrap().to_owned(),
                entry["value"].clone(),
            )
        };
        spec.insert(
            "env".to_owned(),
            Value::Object(list.iter().map(entry).collect()),
        );
    }
    let Some(provider) = old.get("provider") else {
        return spec.into();
    };
    let before = &rest["operation"];
    let mut operation = json!({"provider": provider});
    if let Some(parameters) = old["parameters"].as_object() {
        let value = |(name, text): (&String, &Value)| {
            let parsed = serde_json::from_str(text.as_str().unwrap()).ok();
            let same_kind = |parsed: &Value| {
                let before = &before["parameters"].get(name);
                before
                    .is_some_and(|before| kind(before) != "string" && kind(before) == kind(parsed))
            };
            (
                name.clone(),
                parsed.filter(same_kind).unwrap_or(text.clone()),
            )
        };
        operation["parameters"] = Value::Object(parameters.iter().map(value).collect());
    }
    if let Some(shown) = old.get("timeoutSeconds") {
        let unchanged = before["timeout"].is_string() && *shown == seconds(&before["timeout"]);
        operation["timeout"] = if unchanged {
            before["timeout"].clone()
        } else {
            timeout(shown).into()
        };
    }
    if let Some(completion) = before.get("completion") {
        operation["completion"] = completion.clone();
    }
    spec.insert("operation".to_owned(), operation);
    spec.into()
}

/// A spec with the defaults of its version's schema.
fn defaulted(version: Version, spec: &Value) -> Value {
    let mut spec = spec.clone();
    let default = |object: &mut Value, name: &str, value: Value| {
        if object.get(name).is_none() {
            object[name] = value;
        }
    };
    default(&mut spec, "replicas", json!(1));
    default(&mut spec, "image", json!("nginx:alpine"));
    default(&mut spec, "port", json!(8080));
    if version == Version::V1 && spec.get("operation").is_some() {
        default(&mut spec["operation"], "completion", json!("Poll"));
        default(&mut spec["operation"], "timeout", json!(DEFAULT_TIMEOUT.0));
    }
    spec
}

fn older(old: &str, new: &Value) -> Option<Value> {
    let new = new.as_str()?;
    match old {
        "taskStatus" => PHASES
            .iter()
            .find(|(phase, _)| *phase == new)
            .map(|(_, old)| json!(old)),
        _ => Some(json!(new)),
    }
}

fn newer(old: &str, said: &Value) -> Value {
    match old {
        "taskStatus" => PHASES
            .iter()
            .find(|(_, old)| said == old)
            .map(|(phase, _)| json!(phase))
            .unwrap(),
        _ => said.clone(),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn names(list: &[Value]) -> Vec<String> {
    let name = |entry: &Value| entry["name"].as_str().map(str::to_owned);
    list.iter().filter_map(name).collect()
}

/// Merges as RFC 7396 says.
pub fn merge(target: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in patch {
        match (value, target.as_object_mut()) {
            (Value::Null, Some(target)) => {
                target.remove(name);
            }
            (value, Some(target)) => merge(target.entry(name).or_insert(Value::Null), value),
            (_, None) => {}
        }
    }
}

/// The patch that makes `to` of `from`, if neither has nulls in objects.
pub fn difference(from: &Value, to: &Value) -> Value {
    let (Some(from), Some(to)) = (from.as_object(), to.as_object()) else {
        return to.clone();
    };
    let gone = from
        .keys()
        .filter(|name| !to.contains_key(*name))
        .map(|name| (name.clone(), Value::Null));
    let changed = to
        .iter()
        .filter(|(name, value)| from.get(*name) != Some(value));
    let changed = changed.map(|(name, value)| {
        (
            name.clone(),
            difference(from.get(name).unwrap_or(&Value::Null), value),
        )
    });
    Value::Object(gone.chain(changed).collect())
}
