//! One Task in a line.

use k8s_openapi::jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use task_api_v1::names::condition;

use crate::report::Verdict;

/// What is to be told of a Task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View {
    pub namespace: String,
    pub name: String,
    pub phase: String,
    /// How many of the replicas are available.
    pub ready: String,
    pub operation: String,
    pub age: String,
    /// What has to happen before it is at rest.
    pub waits_for: Option<String>,
    #[serde(skip)]
    fails: bool,
}

impl View {
    pub(super) fn of(task: &Value, now: Timestamp) -> Self {
        let (metadata, spec, status) = (&task["metadata"], &task["spec"], &task["status"]);
        let available = status["availableReplicas"].as_i64().unwrap_or_default();
        Self {
            namespace: text(&metadata["namespace"]),
            name: text(&metadata["name"]),
            phase: text(&status["phase"]),
            ready: format!("{available}/{}", spec["replicas"]),
            operation: operation(task),
            age: age(&metadata["creationTimestamp"], now).unwrap_or_default(),
            waits_for: waits_for(task, now),
            fails: fails(task),
        }
    }

    pub(super) fn full_name(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    pub(super) fn verdict(&self) -> Verdict {
        match (self.fails, &self.waits_for) {
            (true, _) => Verdict::Warn,
            (false, Some(_)) => Verdict::Note,
            (false, None) => Verdict::Ok,
        }
    }

    pub(super) fn summary(&self) -> String {
        let phase = if self.phase.is_empty() {
            "not seen yet"
        } else {
            &self.phase
        };
        match &self.waits_for {
            Some(waits_for) => format!("{phase}, waits for {waits_for}"),
            None => format!("{phase}, at rest"),
        }
    }
}

pub(super) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// How the operation stands, in a word.
fn operation(task: &Value) -> String {
    let phase = &task["status"]["operation"]["phase"];
    match (phase.as_str(), task["spec"]["operation"].is_object()) {
        (Some(phase), _) => phase.to_owned(),
        (None, true) => "not begun".to_owned(),
        (None, false) => "none".to_owned(),
    }
}

/// The message of a condition that is true.
fn true_condition(task: &Value, type_: &str) -> Option<String> {
    let condition = condition_of(task, type_)?;
    (condition["status"] == "True").then(|| message(condition))
}

fn condition_of<'t>(task: &'t Value, type_: &str) -> Option<&'t Value> {
    let conditions = task["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == type_)
}

/// What a condition says, its reason where it says nothing.
fn message(condition: &Value) -> String {
    let message = text(&condition["message"]);
    if message.is_empty() {
        text(&condition["reason"])
    } else {
        message
    }
}

fn fails(task: &Value) -> bool {
    task["status"]["phase"] == "Failed"
        || true_condition(task, condition::STALLED).is_some()
        || true_condition(task, condition::TERMINAL_ERROR).is_some()
}

/// What has to happen before the Task is at rest, the nearest thing first; `None` where nothing has.
fn waits_for(task: &Value, now: Timestamp) -> Option<String> {
    let metadata = &task["metadata"];
    if metadata["deletionTimestamp"].is_string() {
        return Some("its deletion".to_owned());
    }
    let seen = task["status"]["observedGeneration"].as_i64();
    let generation = metadata["generation"].as_i64();
    if seen.is_none() || seen < generation {
        return Some("the operator to see it".to_owned());
    }
    for type_ in [condition::STALLED, condition::TERMINAL_ERROR] {
        if let Some(message) = true_condition(task, type_) {
            return Some(format!("somebody to act: {message}"));
        }
    }
    let operation = &task["status"]["operation"];
    if operation["phase"] == "Creating" {
        let id = text(&task["status"]["lastAsyncOperationID"]);
        let provider = text(&task["spec"]["operation"]["provider"]);
        let next = until(&operation["nextCheckAt"], now);
        let next = next.map_or_else(String::new, |next| format!(", asked again in {next}"));
        return Some(match id.is_empty() {
            true => format!("{provider} to accept its operation{next}"),
            false => format!("operation {id} of {provider}{next}"),
        });
    }
    if let Some(message) = true_condition(task, condition::RECONCILING) {
        return Some(message);
    }
    let ready = condition_of(task, condition::READY)?;
    (ready["status"] != "True").then(|| message(ready))
}

/// How long ago a time is, such as `5m`.
pub(crate) fn age(time: &Value, now: Timestamp) -> Option<String> {
    let time: Timestamp = time.as_str()?.parse().ok()?;
    Some(rough(now.duration_since(time).as_secs()))
}

/// How long there is until a time; `None` where it is past.
fn until(time: &Value, now: Timestamp) -> Option<String> {
    let time: Timestamp = time.as_str()?.parse().ok()?;
    let seconds = time.duration_since(now).as_secs();
    (seconds > 0).then(|| rough(seconds))
}

/// A time in one unit, as kubectl tells ages.
fn rough(seconds: i64) -> String {
    match seconds.max(0) {
        seconds if seconds < 120 => format!("{seconds}s"),
        seconds if seconds < 2 * 3600 => format!("{}m", seconds / 60),
        seconds if seconds < 48 * 3600 => format!("{}h", seconds / 3600),
        seconds => format!("{}d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn waits(status: Value) -> Option<String> {
        let task = json!({
            "metadata": {"name": "a", "generation": 2},
            "spec": {"operation": {"provider": "volumes"}},
            "status": status,
        });
        waits_for(&task, "2026-01-01T00:00:00Z".parse().unwrap())
    }

    #[test]
    fn what_a_task_waits_for_is_the_nearest_thing() {
        let condition =
            |type_: &str, status: &str| json!([{"type": type_, "status": status, "message": "m"}]);
        for (status, expected) in [
            (json!({}), Some("the operator to see it")),
            (
                json!({"observedGeneration": 1}),
                Some("the operator to see it"),
            ),
            (
                json!({"observedGeneration": 2, "conditions": condition("Stalled", "True")}),
                Some("somebody to act: m"),
            ),
            (
                json!({"observedGeneration": 2, "operation": {"phase": "Creating"}}),
                Some("volumes to accept its operation"),
            ),
            (
                json!({"observedGeneration": 2, "lastAsyncOperationID": "o-1", "operation": {"phase": "Creating", "nextCheckAt": "2026-01-01T00:00:30Z"}}),
                Some("operation o-1 of volumes, asked again in 30s"),
            ),
            (
                json!({"observedGeneration": 2, "conditions": condition("Reconciling", "True")}),
                Some("m"),
            ),
            (
                json!({"observedGeneration": 2, "conditions": condition("Ready", "False")}),
                Some("m"),
            ),
            (
                json!({"observedGeneration": 2, "conditions": condition("Ready", "True")}),
                None,
            ),
        ] {
            assert_eq!(waits(status.clone()).as_deref(), expected, "{status}");
        }
    }

    #[test]
    fn ages_are_told_in_one_unit() {
        for (seconds, expected) in [
            (-5, "0s"),
            (119, "119s"),
            (120, "2m"),
            (7200, "2h"),
            (172_800, "2d"),
        ] {
            assert_eq!(rough(seconds), expected);
        }
    }
}
