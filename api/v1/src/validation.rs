//! What is wrong with a Task: every problem of its spec and its name, by the [`rules`].
//!
//! The schema refuses the same objects (a test holds the two together), but with the first problem only where one hides another, and
//! no schema can count the bytes of `parameters`. The status is left to the schema: it is not a person who writes it.
//!
//! A Task is judged as it stands in JSON, so that a value of the wrong type is one problem among others, nothing is too deep to be
//! looked at, and fields that this version of the code does not know are let through.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use crate::json_length::json_length;
use crate::problem::{Path, Problem, ProblemKind};
use crate::{Completion, duration, rules};

static NAME: LazyLock<Regex> = LazyLock::new(|| compiled(rules::NAME_PATTERN));
static IMAGE: LazyLock<Regex> = LazyLock::new(|| compiled(rules::IMAGE_PATTERN));
static PROVIDER: LazyLock<Regex> = LazyLock::new(|| compiled(rules::PROVIDER_PATTERN));
static ENV_NAME: LazyLock<Regex> = LazyLock::new(|| compiled(rules::ENV_NAME_PATTERN));

fn compiled(pattern: &str) -> Regex {
    match Regex::new(pattern) {
        Ok(regex) => regex,
        Err(error) => unreachable!("the tests compile every pattern: {error}"),
    }
}

/// Everything that is wrong with a new Task.
///
/// A field that has a default may be absent or null. The name may be absent, as it is before the API server has made one up.
pub fn problems(task: &RawValue) -> Vec<Problem> {
    let faults = Check::of(task).faults;
    faults.into_iter().map(|fault| fault.problem).collect()
}

/// What an update does wrong: the problems of the Task, but for those that it had before in fields that are left as they were.
///
/// So an object that was written under older rules can still be repaired field by field, and deleted. As in Kubernetes, the entries
/// of a map are told apart by their keys.
pub fn problems_of_update(task: &RawValue, old: &RawValue) -> Vec<Problem> {
    let mut faults = Check::of(task).faults;
    if !faults.is_empty() {
        let before = Check::of(old).faults;
        faults.retain(|fault| !before.iter().any(|old| fault.is_untouched(old)));
    }
    faults.into_iter().map(|fault| fault.problem).collect()
}

/// A problem with the value that has it; `None` for one that is missing.
struct Fault<'a> {
    problem: Problem,
    value: Option<&'a RawValue>,
}

impl Fault<'_> {
    fn is_untouched(&self, old: &Fault<'_>) -> bool {
        self.problem.path == old.problem.path
            && self.problem.kind == old.problem.kind
            && match (self.value, old.value) {
                (Some(value), Some(old)) => is_same(value, old),
                (value, old) => value.is_none() && old.is_none(),
            }
    }
}

/// Whether two texts are the same JSON. Of what nests too deep for a tree, only the same text is.
fn is_same(a: &RawValue, b: &RawValue) -> bool {
    let value = |raw: &RawValue| serde_json::from_str::<Value>(raw.get());
    a.get() == b.get() || matches!((value(a), value(b)), (Ok(a), Ok(b)) if a == b)
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

fn members(value: &RawValue) -> Option<Members<'_>> {
    serde_json::from_str(value.get()).ok()
}

/// A member that has a default, unless it is left to that.
fn given<'a>(object: &Members<'a>, name: &str) -> Option<&'a RawValue> {
    let value = object.get(name).copied();
    value.filter(|value| value.get() != "null")
}

/// What has been found so far.
#[derive(Default)]
struct Check<'a> {
    faults: Vec<Fault<'a>>,
}

impl<'a> Check<'a> {
    fn of(task: &'a RawValue) -> Self {
        let mut check = Self::default();
        let task = members(task).unwrap_or_default();
        let metadata = task.get("metadata").and_then(|metadata| members(metadata));
        if let Some(name) = metadata.and_then(|metadata| metadata.get("name").copied()) {
            let path = Path::root("metadata").field("name");
            check.text(path, name, None, rules::NAME_RULE, |name| {
                NAME.is_match(name)
            });
        }
        if let Some(spec) = given(&task, "spec") {
            check.spec(&Path::root("spec"), spec);
        }
        check
    }

    fn spec(&mut self, path: &Path, spec: &'a RawValue) {
        let Some(fields) = self.object(path, spec) else {
            return;
        };
        if let Some(replicas) = given(&fields, "replicas") {
            self.number(path.field("replicas"), replicas, 0, rules::REPLICAS_MAX);
        }
        if let Some(image) = given(&fields, "image") {
            let longest = Some(rules::IMAGE_LENGTH_MAX);
            self.text(
                path.field("image"),
                image,
                longest,
                rules::IMAGE_RULE,
                |image| IMAGE.is_match(image),
            );
        }
        if let Some(port) = given(&fields, "port") {
            self.number(path.field("port"), port, rules::PORT_MIN, rules::PORT_MAX);
        }
        if let Some(env) = fields.get("env") {
            self.env(&path.field("env"), env);
        }
        if let Some(operation) = fields.get("operation") {
            self.operation(&path.field("operation"), operation);
        }
    }

    fn env(&mut self, path: &Path, env: &'a RawValue) {
        let Some(variables) = self.map(path, env, rules::ENV_MAX) else {
            return;
        };
        for (name, value) in variables {
            let path = path.key(&name);
            if !is_env_name(&name) {
                let name = Value::from(name).to_string();
                let rule = format!("the name {}", rules::ENV_NAME_RULE);
                let problem = Problem::new(path.clone(), ProblemKind::Invalid, Some(&name), rule);
                // The name is what is wrong, so it does not matter if the value changes.
                self.faults.push(Fault {
                    problem,
                    value: None,
                });
            }
            let longest = Some(rules::ENV_VALUE_LENGTH_MAX);
            self.text(path, value, longest, "", |_| true);
        }
    }

    fn operation(&mut self, path: &Path, operation: &'a RawValue) {
        let Some(fields) = self.object(path, operation) else {
            return;
        };
        let provider = path.field("provider");
        match fields.get("provider") {
            Some(value) => {
                let longest = Some(rules::PROVIDER_LENGTH_MAX);
                self.text(provider, value, longest, rules::PROVIDER_RULE, |name| {
                    PROVIDER.is_match(name)
                });
            }
            None => {
                let problem =
                    Problem::new(provider, ProblemKind::Required, None, rules::PROVIDER_RULE);
                self.faults.push(Fault {
                    problem,
                    value: None,
                });
            }
        }
        if let Some(parameters) = fields.get("parameters") {
            self.parameters(&path.field("parameters"), parameters);
        }
        if let Some(completion) = given(&fields, "completion") {
            self.completion(path.field("completion"), completion);
        }
        if let Some(timeout) = given(&fields, "timeout") {
            let longest = Some(rules::TIMEOUT_LENGTH_MAX);
            self.text(
                path.field("timeout"),
                timeout,
                longest,
                &rules::timeout_rule(),
                |text| duration::parse_timeout(text).is_ok(),
            );
        }
    }

    fn parameters(&mut self, path: &Path, parameters: &'a RawValue) {
        if self.map(path, parameters, rules::PARAMETERS_MAX).is_some()
            && json_length(parameters.get()) > rules::PARAMETERS_LENGTH_MAX
        {
            let rule = format!(
                "may not be more than {} bytes as JSON",
                rules::PARAMETERS_LENGTH_MAX
            );
            let problem = Problem::new(path.clone(), ProblemKind::TooLong, None, rule);
            self.faults.push(Fault {
                problem,
                value: Some(parameters),
            });
        }
    }

    fn completion(&mut self, path: Path, value: &'a RawValue) {
        if serde_json::from_str::<Completion>(value.get()).is_ok() {
            return;
        }
        let known = Completion::ALL.map(|way| format!("\"{way:?}\"")).join(", ");
        self.add(
            path,
            ProblemKind::NotSupported,
            value,
            format!("supported values: {known}"),
        );
    }

    fn object(&mut self, path: &Path, value: &'a RawValue) -> Option<Members<'a>> {
        let members = members(value);
        if members.is_none() {
            self.add(
                path.clone(),
                ProblemKind::TypeInvalid,
                value,
                "must be an object",
            );
        }
        members
    }

    /// The entries of a map, unless there are too many to look at.
    fn map(&mut self, path: &Path, value: &'a RawValue, most: u32) -> Option<Members<'a>> {
        let entries = self.object(path, value)?;
        if entries.len() <= most as usize {
            return Some(entries);
        }
        let count = Some(entries.len().to_string());
        let rule = format!("must have at most {most} items");
        let problem = Problem::new(path.clone(), ProblemKind::TooMany, count.as_deref(), rule);
        self.faults.push(Fault {
            problem,
            value: Some(value),
        });
        None
    }

    fn number(&mut self, path: Path, value: &'a RawValue, least: i32, most: i32) {
        match whole_number(value) {
            None => self.add(path, ProblemKind::TypeInvalid, value, "must be an integer"),
            Some(number) if (least.into()..=most.into()).contains(&number) => {}
            Some(_) => {
                let rule = format!("must be between {least} and {most}");
                self.add(path, ProblemKind::Invalid, value, rule);
            }
        }
    }

    /// A string of at most `longest` characters that is `good`.
    fn text(
        &mut self,
        path: Path,
        value: &'a RawValue,
        longest: Option<u32>,
        rule: &str,
        good: impl Fn(&str) -> bool,
    ) {
        let Ok(text) = serde_json::from_str::<Cow<'_, str>>(value.get()) else {
            self.add(path, ProblemKind::TypeInvalid, value, "must be a string");
            return;
        };
        match longest {
            Some(longest) if text.chars().count() > longest as usize => {
                let rule = format!("may not be more than {longest} characters");
                let problem = Problem::new(path, ProblemKind::TooLong, None, rule);
                self.faults.push(Fault {
                    problem,
                    value: Some(value),
                });
            }
            _ if good(&text) => {}
            _ => self.add(path, ProblemKind::Invalid, value, rule),
        }
    }

    fn add(&mut self, path: Path, kind: ProblemKind, value: &'a RawValue, rule: impl Into<String>) {
        let problem = Problem::new(path, kind, Some(value.get()), rule);
        self.faults.push(Fault {
            problem,
            value: Some(value),
        });
    }
}

fn is_env_name(name: &str) -> bool {
    name.chars().count() <= rules::ENV_NAME_LENGTH_MAX as usize && ENV_NAME.is_match(name)
}

/// The whole number that a JSON number is, in whatever way it is written.
fn whole_number(value: &RawValue) -> Option<i64> {
    let number: Number = serde_json::from_str(value.get()).ok()?;
    number.as_i64().or_else(|| {
        let number = number.as_f64()?;
        // It saturates, far beyond every bound.
        (number.fract() == 0.0).then_some(number as i64)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn raw(value: &Value) -> Box<RawValue> {
        serde_json::value::to_raw_value(value).unwrap()
    }

    fn told(spec: Value) -> Vec<String> {
        let task = json!({"metadata": {"name": "a"}, "spec": spec});
        let told = problems(&raw(&task));
        told.iter().map(Problem::to_string).collect()
    }

    fn told_of_update(spec: Value, old: Value) -> Vec<String> {
        let [new, old] = [spec, old].map(|spec| raw(&json!({"spec": spec})));
        let told = problems_of_update(&new, &old);
        told.iter().map(Problem::to_string).collect()
    }

    #[test]
    fn a_task_that_is_left_to_the_defaults_has_no_problem() {
        for task in [
            json!({}),
            json!({"spec": null}),
            json!({"spec": {}}),
            json!({"spec": {"replicas": null, "image": null, "port": null}}),
            json!({"spec": {"operation": {"provider": "p", "completion": null, "timeout": null}}}),
            json!({"metadata": null, "status": 5, "spec": {"unknown": [1]}}),
        ] {
            assert_eq!(problems(&raw(&task)), [], "{task}");
        }
    }

    #[test]
    fn each_rule_is_told_in_its_own_words() {
        let long = |length: usize| "a".repeat(length);
        let many =
            |count: usize| -> Value { (0..count).map(|n| (format!("k{n}"), json!(""))).collect() };
        let operation =
            |name: &str, value: Value| json!({"operation": {"provider": "p", name: value}});
        for (spec, expected) in [
            (json!([]), "spec: Invalid value: []: must be an object"),
            (
                json!({"replicas": -1}),
                "spec.replicas: Invalid value: -1: must be between 0 and 100",
            ),
            (
                json!({"replicas": 1.5}),
                "spec.replicas: Invalid value: 1.5: must be an integer",
            ),
            (
                json!({"port": 0}),
                "spec.port: Invalid value: 0: must be between 1 and 65535",
            ),
            (
                json!({"port": 1e300}),
                "spec.port: Invalid value: 1e+300: must be between 1 and 65535",
            ),
            (
                json!({"port": "80"}),
                "spec.port: Invalid value: \"80\": must be an integer",
            ),
            (
                json!({"image": ""}),
                "spec.image: Invalid value: \"\": must be an OCI image reference: [host[:port]/]path[:tag][@digest], the path in lower case",
            ),
            (
                json!({"image": long(513)}),
                "spec.image: Too long: may not be more than 512 characters",
            ),
            (
                json!({"env": null}),
                "spec.env: Invalid value: null: must be an object",
            ),
            (
                json!({"env": many(257)}),
                "spec.env: Too many: 257: must have at most 256 items",
            ),
            (
                json!({"env": {"1A": ""}}),
                "spec.env[1A]: Invalid value: \"1A\": the name must be 1 to 64 letters, digits, dashes, underscores or dots, not beginning with a digit",
            ),
            (
                json!({"env": {"A": 1}}),
                "spec.env[A]: Invalid value: 1: must be a string",
            ),
            (
                json!({"env": {"A": long(4097)}}),
                "spec.env[A]: Too long: may not be more than 4096 characters",
            ),
            (
                json!({"operation": null}),
                "spec.operation: Invalid value: null: must be an object",
            ),
            (
                json!({"operation": {}}),
                "spec.operation.provider: Required value: must be a DNS label: at most 63 characters, lower case letters, digits and '-', beginning and ending with a letter or digit",
            ),
            (
                operation("provider", json!("A")),
                "spec.operation.provider: Invalid value: \"A\": must be a DNS label: at most 63 characters, lower case letters, digits and '-', beginning and ending with a letter or digit",
            ),
            (
                operation("provider", json!(long(64))),
                "spec.operation.provider: Too long: may not be more than 63 characters",
            ),
            (
                operation("completion", json!("poll")),
                "spec.operation.completion: Unsupported value: \"poll\": supported values: \"Poll\", \"Callback\", \"Queue\", \"Hybrid\"",
            ),
            (
                operation("timeout", json!("721h")),
                "spec.operation.timeout: Invalid value: \"721h\": must be a duration above 0s and at most 720h, such as 90s, 1h30m or 1.5s",
            ),
            (
                operation("parameters", json!("x")),
                "spec.operation.parameters: Invalid value: \"x\": must be an object",
            ),
            (
                operation("parameters", many(65)),
                "spec.operation.parameters: Too many: 65: must have at most 64 items",
            ),
        ] {
            assert_eq!(told(spec), [expected]);
        }
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let spec = json!({"replicas": 101, "image": "::", "port": 0, "env": {"A=B": "", "C": null}, "operation": {"timeout": "1d"}});
        assert_eq!(told(spec).len(), 7);
    }

    #[test]
    fn a_name_is_a_dns_1035_label_but_may_be_yet_to_come() {
        let told = problems(&raw(&json!({"metadata": {"name": "a.b"}})));
        assert_eq!(
            told[0].to_string(),
            format!(
                "metadata.name: Invalid value: \"a.b\": {}",
                rules::NAME_RULE
            )
        );
        assert_eq!(
            problems(&raw(&json!({"metadata": {"generateName": "a-"}}))),
            []
        );
    }

    #[test]
    fn parameters_are_at_most_64_kib_however_deep_and_however_written() {
        let parameters = |text: &str| {
            let task =
                format!(r#"{{"spec":{{"operation":{{"provider":"p","parameters":{text}}}}}}}"#);
            let told = problems(&RawValue::from_string(task).unwrap());
            told.iter().map(Problem::to_string).collect::<Vec<_>>()
        };
        let of_length =
            |length: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(length - r#"{"a":""}"#.len()));
        let deep = |depth: usize| format!(r#"{{"a":{}{}}}"#, "[".repeat(depth), "]".repeat(depth));
        assert_eq!(parameters(&of_length(65_536)).len(), 0);
        assert_eq!(
            parameters(&of_length(65_536).replace(':', " :\n ")).len(),
            0
        );
        assert_eq!(parameters(&deep(9_000)).len(), 0);
        for text in [of_length(65_537), deep(40_000)] {
            let told = parameters(&text);
            assert_eq!(
                told,
                ["spec.operation.parameters: Too long: may not be more than 65536 bytes as JSON"]
            );
        }
    }

    #[test]
    fn what_was_wrong_before_and_is_left_as_it_was_is_let_through() {
        let bad = json!({"port": 0, "env": {"1A": "x", "B": 1}, "operation": {"timeout": "0s"}});
        assert_eq!(told_of_update(bad.clone(), bad.clone()), [""; 0]);
        for (pointer, value, told) in [
            ("/replicas", json!(3), 0),
            ("/port", json!(80), 0),
            ("/port", json!(-1), 1),
            ("/env/C", json!("fine"), 0),
            ("/env/1A", json!("changed, and so is looked at anew"), 0),
            ("/env/B", json!(2), 1),
            ("/env/2A", json!(""), 1),
            ("/operation/provider", json!("p"), 0),
            ("/operation/provider", json!("P"), 1),
            ("/operation/timeout", json!("00s"), 1),
        ] {
            let mut new = bad.clone();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            new.pointer_mut(parent).unwrap()[name] = value;
            assert_eq!(told_of_update(new, bad.clone()).len(), told, "{pointer}");
        }
    }

    #[test]
    fn the_same_value_in_another_writing_is_left_as_it_was() {
        let [new, old] = ["[1, {\"a\":2,\"b\":3}]", "[1,{\"b\":3,\"a\":2}]"].map(|value| {
            RawValue::from_string(format!(r#"{{"spec":{{"env":{value}}}}}"#)).unwrap()
        });
        assert_eq!(problems_of_update(&new, &old), []);
    }

    #[test]
    fn a_field_that_becomes_wrong_is_refused() {
        assert_eq!(told_of_update(json!({"operation": {}}), json!({})).len(), 1);
        assert_eq!(
            told_of_update(json!({"port": 0}), json!({"port": 1})).len(),
            1
        );
    }

    #[test]
    fn every_completion_is_named_as_it_is_written() {
        for way in Completion::ALL {
            assert_eq!(json!(way), json!(format!("{way:?}")));
        }
    }
}
