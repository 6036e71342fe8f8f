//! Objects of a version, made from its schema alone: a field that is added to the schema is generated at once.

use std::sync::Arc;

use kube_cel::{Validator, compile_schema};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::string::string_regex;
use serde_json::{Map, Value, json};

use crate::admission::{is_set, schema};

/// What is generated.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Objects that the schema admits.
    Whole,
    /// What server-side apply sends: anything may be missing or null, but what there is has its right kind.
    Partial,
}

/// Objects of one version of Task.
pub fn object(version: &'static str, form: Form) -> BoxedStrategy<Value> {
    let mut schema = schema(version);
    let metadata = metadata(&schema, form);
    // The root's rule is about the name, which is made by it.
    schema["x-kubernetes-validations"].take();
    let head = json!({"apiVersion": format!("task.example.io/{version}"), "kind": "Task"});
    (by_schema(&schema, form), metadata)
        .prop_map(move |(mut object, metadata)| {
            let root = object.as_object_mut().unwrap();
            root.extend(head.as_object().unwrap().clone());
            root.extend(metadata.map(|metadata| ("metadata".to_owned(), metadata)));
            object
        })
        .boxed()
}

/// Any JSON, nested up to a few levels.
pub fn any_json() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        text().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<i32>().prop_map(eighths),
        prop::sample::select(vec![
            json!(null),
            json!(true),
            json!(0),
            json!(0.1),
            json!(1.0),
            json!(1e300),
            json!(u64::MAX),
            json!(9_007_199_254_740_993_i64),
        ]),
    ];
    let keys = like("[a-z/~]{0,3}");
    leaf.prop_recursive(4, 16, 3, move |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            btree_map(keys.clone(), inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
    .boxed()
}

/// Fractions that every reader of JSON takes exactly.
fn eighths(number: i32) -> Value {
    Value::from(f64::from(number) / 8.0)
}

/// Texts of a pattern, which is read once: a pattern that stands for a strategy is read anew for each text.
fn like(pattern: &str) -> BoxedStrategy<String> {
    string_regex(pattern).unwrap().boxed()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => like("[a-z0-9]{0,8}"),
        1 => like("[\\PC\"\\\\\n\u{0}\u{7f}]{0,6}"),
        1 => prop::sample::select(vec!["null", "10", "1e3", "{}", "[1]", "\"\"", "true", " 1", "1h"])
            .prop_map(str::to_owned),
    ]
}

fn metadata(schema: &Value, form: Form) -> BoxedStrategy<Option<Value>> {
    let name = like(&matched(schema).unwrap());
    let texts = || {
        btree_map(like("[a-z]{1,4}(/[a-z]{1,3})?"), text(), 1..3)
            .prop_map(|texts| json!(texts))
            .boxed()
    };
    let members = vec![
        maybe("namespace", Just(json!("default")).boxed(), 0.8),
        maybe("uid", Just(json!("0b1c")).boxed(), 0.8),
        maybe("generation", (1..9i64).prop_map(Value::from).boxed(), 0.8),
        maybe("labels", texts(), 0.3),
        maybe("annotations", texts(), 0.3),
        maybe("finalizers", Just(json!(["a.b/c"])).boxed(), 0.2),
        maybe("managedFields", any_json(), 0.2),
        maybe(
            "name",
            name.prop_map(Value::from).boxed(),
            if form == Form::Whole { 1.0 } else { 0.8 },
        ),
    ];
    let metadata = members.prop_map(|members| Some(collect(members)));
    match form {
        Form::Whole => metadata.boxed(),
        Form::Partial => prop_oneof![9 => metadata, 1 => Just(None)].boxed(),
    }
}

type Member = Option<(String, Value)>;

fn maybe(name: &str, value: BoxedStrategy<Value>, probability: f64) -> BoxedStrategy<Member> {
    let name = name.to_owned();
    if probability == 1.0 {
        return value
            .prop_map(move |value| Some((name.clone(), value)))
            .boxed();
    }
    prop::option::weighted(probability, value)
        .prop_map(move |value| Some((name.clone(), value?)))
        .boxed()
}

fn collect(members: Vec<Member>) -> Value {
    Value::Object(members.into_iter().flatten().collect())
}

fn by_schema(schema: &Value, form: Form) -> BoxedStrategy<Value> {
    let values = match schema["type"].as_str() {
        _ if is_set(schema, "x-kubernetes-int-or-string") => prop_oneof![
            any::<i32>().prop_map(Value::from),
            text().prop_map(Value::from)
        ]
        .boxed(),
        _ if schema.get("enum").is_some() => {
            prop::sample::select(schema["enum"].as_array().unwrap().clone()).boxed()
        }
        Some("string") => texts(schema),
        Some("integer") => integers(schema),
        Some("number") => any::<i32>().prop_map(eighths).boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        Some("array") => lists(schema, form),
        Some("object") => objects(schema, form),
        _ => any_json(),
    };
    let values = ruled(schema, form, values);
    if is_set(schema, "nullable") {
        prop_oneof![9 => values, 1 => Just(Value::Null)].boxed()
    } else {
        values
    }
}

fn integers(schema: &Value) -> BoxedStrategy<Value> {
    let (low, high) = match schema["format"].as_str() {
        Some("int32") => (i64::from(i32::MIN), i64::from(i32::MAX)),
        _ => (i64::MIN, i64::MAX),
    };
    let bound = |keyword: &str, without| schema[keyword].as_f64().map_or(without, |it| it as i64);
    let (low, high) = (bound("minimum", low), bound("maximum", high));
    let exact = |number: &i64| number.unsigned_abs() < 1 << 53;
    prop_oneof![
        6 => (low..=high).prop_map(Value::from),
        1 => prop::sample::select(vec![low, high]).prop_map(Value::from),
        // As some clients write whole numbers.
        1 => (low.max(-9999)..=high.min(9999))
            .prop_filter("a number that a double holds", exact)
            .prop_map(|number| Value::from(number as f64)),
    ]
    .boxed()
}

fn texts(schema: &Value) -> BoxedStrategy<Value> {
    let most = schema["maxLength"].as_u64().unwrap_or(u64::MAX);
    let pattern = schema["pattern"].as_str().map(bare).or(matched(schema));
    let texts = if schema["format"] == "date-time" {
        times()
    } else if rules(schema).any(|rule| rule.contains("duration(")) {
        like("[+]?(([0-9]{1,3}|0?[.][0-9]{1,10}|[0-9]{1,2}[.][0-9]{0,3})(ns|us|ms|s|s|m|m|h)){1,3}")
            .boxed()
    } else if let Some(pattern) = pattern {
        like(&pattern)
    } else if most < 100_000 {
        prop_oneof![60 => text(), 1 => Just("é".repeat(most as usize))].boxed()
    } else {
        text().boxed()
    };
    texts
        .prop_filter("a text that is short enough", move |text| {
            text.chars().count() as u64 <= most
        })
        .prop_map(Value::from)
        .boxed()
}

fn times() -> BoxedStrategy<String> {
    let date = (1..=8999u32, 1..=12u32, 1..=28u32);
    let zone = like("Z|[-+](0[0-9]|1[0-3]):[0-5][0-9]");
    (
        date,
        0..24u32,
        0..60u32,
        0..60u32,
        like("([.][0-9]{1,9})?"),
        zone,
    )
        .prop_map(|((year, month, day), hour, minute, second, part, zone)| {
            format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{part}{zone}")
        })
        .boxed()
}

fn lists(schema: &Value, form: Form) -> BoxedStrategy<Value> {
    let keys: Vec<String> =
        serde_json::from_value(schema["x-kubernetes-list-map-keys"].clone()).unwrap_or_default();
    let items = items(schema, &keys, form);
    let few = vec(items.clone(), 0..4);
    let lists = match schema["maxItems"].as_u64() {
        Some(most) => prop_oneof![400 => few, 1 => vec(items, most as usize)].boxed(),
        None => few.boxed(),
    };
    lists
        .prop_map(move |mut items: Vec<Value>| {
            let mut seen = Vec::new();
            items.retain(|item| {
                let key: Vec<_> = keys.iter().map(|key| item[key].clone()).collect();
                let is_new = keys.is_empty() || !seen.contains(&key);
                seen.push(key);
                is_new
            });
            Value::Array(items)
        })
        .boxed()
}

/// Items that have all keys of their list: even server-side apply refuses others.
fn items(schema: &Value, keys: &[String], form: Form) -> BoxedStrategy<Value> {
    let items = by_schema(&schema["items"], form);
    let properties = &schema["items"]["properties"];
    let member = |key: &String| maybe(key, by_schema(&properties[key], form), 1.0);
    let keys: Vec<_> = keys.iter().map(member).collect();
    (items, keys)
        .prop_map(|(mut item, keys)| {
            if let Some(members) = item.as_object_mut() {
                members.extend(keys.into_iter().flatten());
            }
            item
        })
        .boxed()
}

fn objects(schema: &Value, form: Form) -> BoxedStrategy<Value> {
    let known = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&known);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let member = |(name, property): (&String, &Value)| {
        let value = by_schema(property, form);
        match form {
            Form::Whole if required.contains(&json!(name)) => maybe(name, value, 1.0),
            Form::Whole => maybe(name, value, 0.6),
            Form::Partial => {
                let or_null = prop_oneof![12 => value, 1 => Just(Value::Null)];
                maybe(name, or_null.boxed(), 0.6)
            }
        }
    };
    let fixed = properties.iter().map(member).collect::<Vec<_>>();
    let fixed = fixed.prop_map(collect);

    let open = if is_set(schema, "x-kubernetes-preserve-unknown-fields") {
        any_json()
    } else if let Some(values) = schema.get("additionalProperties") {
        by_schema(values, form)
    } else {
        return fixed.boxed();
    };
    let keys = match matched(schema) {
        Some(pattern) => like(&pattern),
        None => text().boxed(),
    };
    let few = vec((keys.clone(), open.clone()), 0..5);
    let most = schema["maxProperties"].as_u64().map(|most| most as usize);
    let more = match most {
        Some(most) => prop_oneof![400 => few, 1 => vec((keys, open), 2 * most)].boxed(),
        None => few.boxed(),
    };
    (fixed, more)
        .prop_map(move |(mut object, more)| {
            let members = object.as_object_mut().unwrap();
            for (key, value) in more {
                if most.is_none_or(|most| members.len() < most) {
                    members.insert(key, value);
                }
            }
            object
        })
        .boxed()
}

/// Only values that the rules of this schema, not of those below it, admit. A rule on the fields of an object is about whole ones.
fn ruled(schema: &Value, form: Form, values: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    let about_fields = schema.get("properties").is_some();
    if rules(schema).next().is_none() || (form == Form::Partial && about_fields) {
        return values;
    }
    let mut own = schema.clone();
    for keyword in ["properties", "items"] {
        if let Some(below) = own.get_mut(keyword) {
            strip_rules(below);
        }
    }
    let rules = Arc::new(compile_schema(&own));
    values
        .prop_filter("a value that the rules admit", move |value| {
            let is_bare_root = rules.properties.contains_key("spec") && value["metadata"].is_null();
            is_bare_root
                || VALIDATOR
                    .with(|validator| validator.validate_compiled(&rules, value, None).is_ok())
        })
        .boxed()
}

thread_local! {
    static VALIDATOR: Validator = Validator::new();
}

fn strip_rules(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.remove("x-kubernetes-validations");
            members.remove("default");
            members.values_mut().for_each(strip_rules);
        }
        Value::Array(items) => items.iter_mut().for_each(strip_rules),
        _ => {}
    }
}

fn rules(schema: &Value) -> impl Iterator<Item = &str> {
    let rules = schema["x-kubernetes-validations"].as_array();
    let rules = rules.into_iter().flatten();
    rules.filter_map(|rule| rule["rule"].as_str())
}

/// The pattern that a rule matches a text, or the names in a map, against: a hint only, since the rules decide.
fn matched(schema: &Value) -> Option<String> {
    let pattern = |rule: &str| {
        let (_, pattern) = rule.split_once("matches(r'")?;
        Some(bare(pattern.split_once('\'')?.0))
    };
    rules(schema).find_map(pattern)
}

/// A pattern without its anchors, which a generator does not know, and with few repetitions where it allows any number.
fn bare(pattern: &str) -> String {
    let pattern = pattern.trim_start_matches('^').trim_end_matches('$');
    let mut bare = String::new();
    let (mut is_escaped, mut in_class) = (false, false);
    for character in pattern.chars() {
        match character {
            '*' if !is_escaped && !in_class => bare += "{0,3}",
            '+' if !is_escaped && !in_class => bare += "{1,3}",
            _ => bare.push(character),
        }
        if !is_escaped {
            in_class = (in_class || character == '[') && character != ']';
        }
        is_escaped = !is_escaped && character == '\\';
    }
    bare.replace("{32,}", "{32,40}")
}
