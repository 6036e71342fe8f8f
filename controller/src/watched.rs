//! A Task as the watch gives it: decoded, or the reason why it could not be.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use task_api_v1::{Task, TaskStatus};

use crate::{compact::Compact, names::RETRY_OPERATION};

/// The longest error that is kept, in characters.
const ERROR_LENGTH_MAX: usize = 512;

/// A Task, or what can be said of one that does not decode.
///
/// Decoding it never fails on what is in the Task, so one bad Task in a list or a watch stops no other. That includes one that
/// is nested more deeply than serde_json decodes, 127 levels: the text of each Task is first taken as it stands, which
/// needs no recursion, and decoded by itself. (`kube::core::DeserializeGuard` does not help there: it decodes everything into
/// a tree first, and fails with the whole list.)
///
/// It can be decoded by `serde_json` only.
#[derive(Clone, Debug)]
pub struct Watched(pub Result<Task, Box<Undecodable>>);

/// A Task that does not decode.
#[derive(Clone, Debug, thiserror::Error, Deserialize, Serialize)]
#[error("{error}")]
pub struct Undecodable {
    /// What stood in the way.
    pub error: String,
    /// Which Task it is. Only what says that is there, its generation, and what it takes to let it go.
    pub metadata: ObjectMeta,
    /// Its status; `None` if that does not decode either.
    pub status: Option<TaskStatus>,
}

impl Watched {
    /// Drops what the reconciler never looks at.
    pub fn trim(&mut self) {
        let Self(Ok(task)) = self else {
            return;
        };
        task.metadata.managed_fields = None;
        task.metadata.labels = None;
        if let Some(annotations) = &mut task.metadata.annotations {
            annotations.retain(|name, _| name == RETRY_OPERATION);
        }
        if let Some(operation) = &mut task.spec.operation {
            operation.parameters = None;
        }
    }

    /// The Task that the cache holds as this text.
    pub fn of_text(text: &str) -> Self {
        match serde_json::from_str(text) {
            Ok(Text::Task(task)) => Self(Ok(*task)),
            Ok(Text::Undecodable(undecodable)) => Self(Err(undecodable)),
            // It was made of a Task in the same process.
            Err(error) => Self(Err(Box::new(Undecodable {
                error: reason(&error),
                metadata: ObjectMeta::default(),
                status: None,
            }))),
        }
    }
}

/// A Task as the cache holds it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Text {
    Task(Box<Task>),
    Undecodable(Box<Undecodable>),
}

/// The same, to be written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum TextOf<'t> {
    Task(&'t Task),
    Undecodable(&'t Undecodable),
}

impl From<&Watched> for Compact {
    fn from(Watched(watched): &Watched) -> Self {
        Self::json(&match watched {
            Ok(task) => TextOf::Task(task),
            Err(undecodable) => TextOf::Undecodable(undecodable),
        })
    }
}

impl<'de> Deserialize<'de> for Watched {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        match serde_json::from_str(text.get()) {
            Ok(task) => Ok(Self(Ok(task))),
            Err(error) => Undecodable::read(text.get(), &error)
                .map(|undecodable| Self(Err(Box::new(undecodable))))
                .map_err(serde::de::Error::custom),
        }
    }
}

impl Undecodable {
    fn read(text: &str, error: &serde_json::Error) -> serde_json::Result<Self> {
        let Outline { metadata, status } = serde_json::from_str(text)?;
        let status = match status {
            Some(status) => serde_json::from_str(status.get()).ok(),
            None => Some(TaskStatus::default()),
        };
        Ok(Self {
            error: reason(error),
            metadata: metadata.into(),
            status,
        })
    }
}

/// What `error` says but for the place, which moves with each change of the metadata. It may quote the Task, so it is cut.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = text.strip_suffix(&place).unwrap_or(&text);
    reason.chars().take(ERROR_LENGTH_MAX).collect()
}

/// The parts of a Task that are read of one that does not decode. What is not named here may be of any depth.
#[derive(Deserialize)]
struct Outline<'t> {
    metadata: Identity,
    #[serde(borrow)]
    status: Option<&'t RawValue>,
}

/// The part of the metadata whose form the API server sees to. `managedFields` is not: it is as deep as the Task.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Identity {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    deletion_timestamp: Option<Time>,
    finalizers: Option<Vec<String>>,
}

impl From<Identity> for ObjectMeta {
    fn from(identity: Identity) -> Self {
        Self {
            name: identity.name,
            namespace: identity.namespace,
            uid: identity.uid,
            resource_version: identity.resource_version,
            generation: identity.generation,
            deletion_timestamp: identity.deletion_timestamp,
            finalizers: identity.finalizers,
            ..Self::default()
        }
    }
}

impl Resource for Watched {
    type DynamicType = ();
    type Scope = <Task as Resource>::Scope;

    fn kind((): &()) -> Cow<'_, str> {
        Task::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        Task::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        Task::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        Task::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(task) => &task.metadata,
            Err(undecodable) => &undecodable.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(task) => &mut task.metadata,
            Err(undecodable) => &mut undecodable.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectList, WatchEvent};

    use super::*;

    /// A Task as the API server writes it, with these as its spec, its status and its managed fields.
    fn text(name: &str, spec: &str, status: &str, managed: &str) -> String {
        format!(
            r#"{{"apiVersion":"task.example.io/v1","kind":"Task","metadata":{{"name":"{name}","namespace":"default","uid":"u",
            "resourceVersion":"7","generation":3,"managedFields":[{{"fieldsV1":{managed}}}]}},"spec":{spec},"status":{status}}}"#
        )
    }

    /// Parameters of so many levels, the most of which Go admits is some 10,000.
    fn deep(levels: usize) -> String {
        let [open, close] = ["[".repeat(levels), "]".repeat(levels)];
        format!(r#"{{"operation":{{"provider":"p","parameters":{{"a":{open}1{close}}}}}}}"#)
    }

    fn listed(tasks: &[String]) -> Vec<Watched> {
        let text = format!(
            r#"{{"kind":"TaskList","apiVersion":"task.example.io/v1","metadata":{{}},"items":[{}]}}"#,
            tasks.join(",")
        );
        serde_json::from_str::<ObjectList<Watched>>(&text)
            .unwrap()
            .items
    }

    fn told(task: &str) -> Watched {
        let text = format!(r#"{{"type":"ADDED","object":{task}}}"#);
        match serde_json::from_str(&text).unwrap() {
            WatchEvent::Added(task) => task,
            _ => panic!("no ADDED event"),
        }
    }

    fn names(tasks: &[Watched]) -> Vec<(&str, bool)> {
        tasks
            .iter()
            .map(|task| (task.meta().name.as_deref().unwrap(), task.0.is_ok()))
            .collect()
    }

    #[test]
    fn a_task_of_any_depth_stops_no_other() {
        let tasks = [
            text("before", "{}", "{}", "{}"),
            text("deep", &deep(9_994), "{}", "{}"),
            text("after", "{}", "{}", "{}"),
        ];
        assert_eq!(
            names(&listed(&tasks)),
            [("before", true), ("deep", false), ("after", true)]
        );
        let watched: Vec<_> = tasks.iter().map(|task| told(task)).collect();
        assert_eq!(
            names(&watched),
            [("before", true), ("deep", false), ("after", true)]
        );
    }

    #[test]
    fn of_a_task_that_does_not_decode_is_known_which_it_is_and_its_status() {
        let managed = deep(5_000);
        let Watched(Err(undecodable)) =
            told(&text("bad", "{}", r#"{"observedGeneration":2}"#, &managed))
        else {
            panic!("decoded");
        };
        let metadata = &undecodable.metadata;
        assert_eq!(
            (metadata.name.as_deref(), metadata.namespace.as_deref()),
            (Some("bad"), Some("default"))
        );
        assert_eq!(
            (metadata.uid.as_deref(), metadata.generation),
            (Some("u"), Some(3))
        );
        assert_eq!(metadata.resource_version.as_deref(), Some("7"));
        assert_eq!(
            undecodable.status.as_ref().unwrap().observed_generation,
            Some(2)
        );
    }

    #[test]
    fn why_a_task_does_not_decode_is_said_without_the_place_which_moves() {
        let error = |name: &str| {
            let task = text(name, r#"{"replicas":"many"}"#, "{}", "{}");
            told(&task).0.unwrap_err().error
        };
        assert_eq!(error("bad"), "invalid type: string \"many\", expected i32");
        assert_eq!(error("bad"), error("another"));
    }

    #[test]
    fn what_is_said_of_a_long_text_that_does_not_decode_is_short() {
        let spec = format!(r#"{{"replicas":"{}"}}"#, "many".repeat(1000));
        let undecodable = told(&text("bad", &spec, "{}", "{}")).0.unwrap_err();
        assert_eq!(undecodable.error.chars().count(), ERROR_LENGTH_MAX);
    }

    #[test]
    fn a_status_that_does_not_decode_is_not_taken_for_an_absent_one() {
        let status = |status: &str| {
            let task = text("bad", r#"{"replicas":"many"}"#, status, "{}");
            told(&task).0.unwrap_err().status
        };
        assert_eq!(status(r#"{"replicas":"many"}"#), None);
        assert_eq!(status("null"), Some(TaskStatus::default()));
    }

    #[test]
    fn what_the_reconciler_never_looks_at_is_dropped() {
        let mut watched = told(&text("web", &deep(1), "{}", "{}"));
        watched.trim();
        let task = watched.0.unwrap();
        assert_eq!(task.metadata.managed_fields, None);
        assert_eq!(task.spec.operation.unwrap().parameters, None);
    }

    #[test]
    fn a_task_comes_back_from_the_cache_as_it_was() {
        let spec = r#"{"env":{"A":"1"},"operation":{"provider":"p"}}"#;
        let status = r#"{"observedGeneration":2,"phase":"Failed"}"#;
        let task = told(&text("web", spec, status, "{}"));
        let back = Watched::of_text(&Compact::from(&task).read());
        assert_eq!(back.0.unwrap(), task.0.unwrap());
        let bad = told(&text("bad", r#"{"replicas":"many"}"#, status, "{}"));
        let back = Watched::of_text(&Compact::from(&bad).read());
        let [back, bad] = [back, bad].map(|watched| watched.0.unwrap_err());
        assert_eq!(
            (back.error, back.metadata, back.status),
            (bad.error, bad.metadata, bad.status)
        );
    }
}
