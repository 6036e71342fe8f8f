//! What is wrong with a Task: every problem of its spec and its name, by the [`rules`].
//!
//! The schema refuses the same objects (a test holds the two together), but with the first problem only where one hides another, and
//! no schema can count the bytes of `parameters` or how deep they nest. The status is left to the schema: it is not a person who writes it.
//!
//! A Task is judged as the JSON text that it comes as, so that a value of the wrong type is one problem among others, nothing is too deep to be
//! looked at, and fields that this version of the code does not know are let through.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::value::RawValue;
use serde_json::{Number, Value};

use crate::json_text::{is_same_json, json_depth, json_length};
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
/// A null counts as absent, since the API server drops it. The name may be absent, as it is before the API server has made one up.
pub fn problems(task: &str) -> Vec<Problem> {
    newly(Check::of(task).faults, Vec::new)
}

/// What an update does wrong: the problems of the Task, but for those that it had before in fields that are left as they were.
///
/// So an object that was written under older rules can still be repaired field by field, and deleted. As in Kubernetes, the entries
/// of a map are told apart by their keys.
pub fn problems_of_update(task: &str, old: &str) -> Vec<Problem> {
    newly(Check::of(task).faults, || Check::of(old).faults)
}

/// What is wrong with a Scale of a Task (`autoscaling/v1`), where it was not wrong before.
///
/// Without a number of replicas it asks for none, as that type leaves out a zero.
pub fn problems_of_scale(scale: &str, old: Option<&str>) -> Vec<Problem> {
    let faults = |scale| {
        let mut check = Check::default();
        let path = Path::root("spec");
        let spec = members(scale).and_then(|scale| check.object(&path, scale.get("spec")?));
        if let Some(replicas) = spec.and_then(|spec| given(&spec, "replicas")) {
            check.replicas(&path, replicas);
        }
        check.faults
    };
    newly(faults(scale), || old.map(faults).unwrap_or_default())
}

/// The problems of faults that were not there `before`, or are in a field that was changed.
fn newly<'a>(mut faults: Vec<Fault<'_>>, before: impl FnOnce() -> Vec<Fault<'a>>) -> Vec<Problem> {
    if !faults.is_empty() {
        let before = before();
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
                (Some(value), Some(old)) => is_same_json(value.get(), old.get()),
                (value, old) => value.is_none() && old.is_none(),
            }
    }
}

type Members<'a> = BTreeMap<String, &'a RawValue>;

fn members(text: &str) -> Option<Members<'_>> {
    serde_json::from_str(text).ok()
}

/// A member that is not null.
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
    fn of(task: &'a str) -> Self {
        let mut check = Self::default();
        let task = members(task).unwrap_or_default();
        let metadata = task
            .get("metadata")
            .and_then(|metadata| members(metadata.get()));
        if let Some(name) = metadata.and_then(|metadata| given(&metadata, "name")) {
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
            self.replicas(path, replicas);
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
        if let Some(env) = given(&fields, "env") {
            self.env(&path.field("env"), env);
        }
        if let Some(operation) = given(&fields, "operation") {
            self.operation(&path.field("operation"), operation);
        }
    }

    fn replicas(&mut self, spec: &Path, replicas: &'a RawValue) {
        self.number(spec.field("replicas"), replicas, 0, rules::REPLICAS_MAX);
    }

    fn env(&mut self, path: &Path, env: &'a RawValue) {
        let Some(mut variables) = self.object(path, env) else {
            return;
        };
        variables.retain(|_, value| value.get() != "null");
        if !self.is_few(path, env, variables.len(), rules::ENV_MAX) {
            return;
        }
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
        match given(&fields, "provider") {
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
        if let Some(parameters) = given(&fields, "parameters") {
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
        let Some(entries) = self.object(path, parameters) else {
            return;
        };
        if !self.is_few(path, parameters, entries.len(), rules::PARAMETERS_MAX) {
            return;
        }
        let mut too_much = |kind, rule: String| {
            self.faults.push(Fault {
                problem: Problem::new(path.clone(), kind, None, rule),
                value: Some(parameters),
            });
        };
        if json_length(parameters.get()) > rules::PARAMETERS_LENGTH_MAX {
            let most = rules::PARAMETERS_LENGTH_MAX;
            too_much(
                ProblemKind::TooLong,
                format!("may not be more than {most} bytes as JSON"),
            );
        }
        if json_depth(parameters.get()) > rules::PARAMETERS_DEPTH_MAX {
            let most = rules::PARAMETERS_DEPTH_MAX;
            too_much(
                ProblemKind::Invalid,
                format!("may not nest more than {most} levels deep"),
            );
        }
    }

    fn completion(&mut self, path: Path, value: &'a RawValue) {
        // Serde would read a name in an object as well.
        let is_string = value.get().starts_with('"');
        if is_string && serde_json::from_str::<Completion>(value.get()).is_ok() {
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
        let members = members(value.get());
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

    fn is_few(&mut self, path: &Path, map: &'a RawValue, count: usize, most: u32) -> bool {
        let is_few = count <= most as usize;
        if !is_few {
            let count = Some(count.to_string());
            let rule = format!("must have at most {most} items");
            let problem = Problem::new(path.clone(), ProblemKind::TooMany, count.as_deref(), rule);
            self.faults.push(Fault {
                problem,
                value: Some(map),
            });
        }
        is_few
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
mod tests;
