//! What the API server does with an object that comes in at one version: makes it whole and refuses what the schema does not admit.
//!
//! The order is the server's: unknown fields are pruned, defaults filled in, nulls that nothing allows removed, then the structural
//! schema, the lists with keys and the CEL rules are checked. The rules are evaluated by kube's own evaluator; it does not know the
//! unit `µs`, which it refuses and the server takes.

use std::collections::HashSet;

use jiff::Timestamp;
use kube_cel::{CompiledSchema, Validator, compile_schema};
use regex_lite::Regex;
use serde_json::{Map, Value};

/// The keywords that change what is admitted and are checked here.
const CHECKED: &[&str] = &[
    "additionalProperties",
    "default",
    "enum",
    "format",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minimum",
    "nullable",
    "pattern",
    "properties",
    "required",
    "type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];

/// The most bytes of annotations that the API server takes.
const ANNOTATIONS_LIMIT: usize = 262_144;

/// The schema of one version.
pub fn schema(version: &str) -> Value {
    let crd = serde_json::to_value(task_crds::crd()).unwrap();
    let mut versions = crd["spec"]["versions"].as_array().unwrap().iter();
    let found = versions.find(|candidate| candidate["name"] == version);
    found.unwrap()["schema"]["openAPIV3Schema"].clone()
}

/// The API server's door for one version.
pub struct Admission {
    schema: Value,
    rules: CompiledSchema,
    validator: Validator,
}

impl Admission {
    pub fn of(version: &str) -> Self {
        Self::by(schema(version))
    }

    pub fn by(schema: Value) -> Self {
        assert_known(&schema);
        let rules = compile_schema(&schema);
        assert!(!rules.has_errors(), "{:?}", rules.compilation_errors());
        Self {
            schema,
            rules,
            validator: Validator::new(),
        }
    }

    /// The object as the server keeps it when it admits it.
    pub fn finished(&self, object: &Value) -> Value {
        let mut finished = object.clone();
        let framework = ["apiVersion", "kind", "metadata"];
        let framework: Vec<_> = framework
            .iter()
            .filter_map(|name| Some((name.to_string(), finished.get(name)?.clone())))
            .collect();
        finish(&mut finished, &self.schema);
        if let Some(root) = finished.as_object_mut() {
            root.extend(framework);
        }
        finished
    }

    /// Why the server refuses the object: one line for each reason; none when it admits it.
    pub fn refusals(&self, object: &Value) -> Vec<String> {
        let finished = self.finished(object);
        let mut refusals = Refusals(Vec::new());
        refusals.metadata(&finished["metadata"]);
        refusals.value(&finished, &self.schema, "");
        if refusals.0.is_empty()
            && let Err(errors) = self
                .validator
                .validate_compiled(&self.rules, &finished, None)
        {
            let errors = errors.into_vec();
            refusals.0.extend(errors.iter().map(ToString::to_string));
        }
        refusals.0
    }
}

/// Fails for a keyword that nobody has thought about.
fn assert_known(schema: &Value) {
    let keywords = schema.as_object().unwrap();
    for keyword in keywords.keys() {
        assert!(
            CHECKED.contains(&keyword.as_str()) || keyword == "description",
            "a schema has {keyword}, which the tests do not check"
        );
    }
    let properties = schema["properties"].as_object();
    properties
        .into_iter()
        .flat_map(Map::values)
        .chain(schema.get("items"))
        .chain(schema.get("additionalProperties"))
        .for_each(assert_known);
}

pub fn is_set(schema: &Value, keyword: &str) -> bool {
    schema[keyword] == true
}

/// Prunes, fills in defaults, and removes nulls.
fn finish(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(members) => {
            let keeps_unknown = is_set(schema, "x-kubernetes-preserve-unknown-fields");
            members.retain(|key, value| match below(schema, key) {
                None => keeps_unknown,
                Some(below) => {
                    !value.is_null() || is_set(below, "nullable") || below.get("default").is_some()
                }
            });
            for (key, property) in schema["properties"].as_object().into_iter().flatten() {
                let Some(default) = property.get("default") else {
                    continue;
                };
                let place = members.entry(key.as_str()).or_insert(Value::Null);
                if place.is_null() && !is_set(property, "nullable") {
                    *place = default.clone();
                }
            }
            for (key, value) in members.iter_mut() {
                if let Some(below) = below(schema, key) {
                    finish(value, below);
                }
            }
        }
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| finish(item, &schema["items"])),
        _ => {}
    }
}

/// The schema of a member.
fn below<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    schema["properties"]
        .get(key)
        .or_else(|| schema.get("additionalProperties"))
}

struct Refusals(Vec<String>);

impl Refusals {
    fn add(&mut self, at: &str, reason: impl std::fmt::Display) {
        self.0.push(format!("{at}: {reason}"));
    }

    fn metadata(&mut self, metadata: &Value) {
        let Some(metadata) = metadata.as_object() else {
            return self.add("/metadata", "must be an object");
        };
        let mut total = 0;
        for map in ["labels", "annotations"] {
            let Some(texts) = metadata.get(map) else {
                continue;
            };
            let Some(texts) = texts.as_object() else {
                self.add("/metadata", format!("{map} must be an object"));
                continue;
            };
            for (key, text) in texts {
                match text.as_str() {
                    Some(text) if map == "annotations" => total += key.len() + text.len(),
                    Some(_) => {}
                    None => self.add("/metadata", format!("{map}: {key} must be a string")),
                }
            }
        }
        if total > ANNOTATIONS_LIMIT {
            self.add("/metadata/annotations", "too long");
        }
    }

    fn value(&mut self, value: &Value, schema: &Value, at: &str) {
        if value.is_null() && is_set(schema, "nullable") {
            return;
        }
        if !has_type(value, schema) {
            return self.add(at, format!("must be of type {}", schema["type"]));
        }
        if let Some(allowed) = schema["enum"].as_array()
            && !allowed.contains(value)
        {
            self.add(at, format!("must be one of {allowed:?}"));
        }
        match value {
            Value::Number(number) => self.number(number.as_f64().unwrap(), schema, at),
            Value::String(text) => self.text(text, schema, at),
            Value::Array(items) => self.list(items, schema, at),
            Value::Object(members) => self.object(members, schema, at),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn number(&mut self, number: f64, schema: &Value, at: &str) {
        let (low, high) = match schema["format"].as_str() {
            Some("int32") => (f64::from(i32::MIN), f64::from(i32::MAX)),
            Some("int64") => (i64::MIN as f64, i64::MAX as f64),
            _ => (f64::MIN, f64::MAX),
        };
        let low = schema["minimum"].as_f64().unwrap_or(low);
        let high = schema["maximum"].as_f64().unwrap_or(high);
        if !(low..=high).contains(&number) {
            self.add(at, format!("must be from {low} to {high}"));
        }
    }

    fn text(&mut self, text: &str, schema: &Value, at: &str) {
        self.at_most(text.chars().count(), schema, "maxLength", at);
        if let Some(pattern) = schema["pattern"].as_str()
            && !Regex::new(pattern).unwrap().is_match(text)
        {
            self.add(at, format!("must match {pattern}"));
        }
        // A leap second is a timestamp for RFC 3339, but not for the server.
        let is_time = || text.parse::<Timestamp>().is_ok() && !text.contains(":60");
        if schema["format"] == "date-time" && !is_time() {
            self.add(at, "must be a date-time");
        }
    }

    fn list(&mut self, items: &[Value], schema: &Value, at: &str) {
        self.at_most(items.len(), schema, "maxItems", at);
        for (index, item) in items.iter().enumerate() {
            self.value(item, &schema["items"], &format!("{at}/{index}"));
        }
        if let Some(keys) = schema["x-kubernetes-list-map-keys"].as_array() {
            let mut seen = HashSet::new();
            let key = |item: &Value| {
                let values = keys.iter().map(|key| item[key.as_str().unwrap()].clone());
                Value::from_iter(values).to_string()
            };
            if !items.iter().all(|item| seen.insert(key(item))) {
                self.add(at, "has two items with one key");
            }
        }
    }

    fn object(&mut self, members: &Map<String, Value>, schema: &Value, at: &str) {
        self.at_most(members.len(), schema, "maxProperties", at);
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().unwrap();
            if !members.contains_key(name) {
                self.add(at, format!("must have {name}"));
            }
        }
        for (key, value) in members {
            if let Some(below) = below(schema, key) {
                self.value(value, below, &format!("{at}/{key}"));
            }
        }
    }

    fn at_most(&mut self, count: usize, schema: &Value, keyword: &str, at: &str) {
        if let Some(most) = schema[keyword].as_u64()
            && count as u64 > most
        {
            self.add(at, format!("{keyword} is {most}, not {count}"));
        }
    }
}

fn has_type(value: &Value, schema: &Value) -> bool {
    let is_whole = |number: &serde_json::Number| {
        !number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)
    };
    match (schema["type"].as_str(), value) {
        (Some("string"), Value::String(_))
        | (Some("boolean"), Value::Bool(_))
        | (Some("number"), Value::Number(_))
        | (Some("array"), Value::Array(_))
        | (Some("object"), Value::Object(_)) => true,
        (Some("integer"), Value::Number(number)) => is_whole(number),
        (None, Value::Number(number)) if is_set(schema, "x-kubernetes-int-or-string") => {
            is_whole(number)
        }
        (None, value) if is_set(schema, "x-kubernetes-int-or-string") => value.is_string(),
        (None, _) => is_set(schema, "x-kubernetes-preserve-unknown-fields"),
        _ => false,
    }
}
