//! What the conditions of Tasks say, in what `kubectl get --output=json` prints of them at either version.

use serde::Deserialize;
use task_api_v1::names::{condition, reason};

/// Tasks, in short.
#[derive(Deserialize)]
pub(crate) struct Tasks {
    items: Vec<Task>,
}

#[derive(Deserialize)]
struct Task {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    generation: Option<i64>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Condition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
    reason: String,
    message: String,
    observed_generation: Option<i64>,
}

impl Tasks {
    /// What those say that will not be Ready, however long one waits: the name of a child is taken by a stranger. Other things for
    /// which a Task is stalled, such as a quota, may pass.
    pub(crate) fn conflicts(&self) -> Option<String> {
        let lines: Vec<_> = self.items.iter().filter_map(Task::conflict).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl Task {
    fn conflict(&self) -> Option<String> {
        let Metadata { name, generation } = &self.metadata;
        self.status
            .conditions
            .iter()
            .find(|said| {
                said.type_ == condition::STALLED
                    && said.status == "True"
                    && said.reason == reason::CHILD_CONFLICT
                    && said.observed_generation == *generation
            })
            .map(|said| format!("Task {name} is stalled ({}): {}", said.reason, said.message))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn conflicts(stalled: &str, reason: &str, observed_generation: i64) -> Option<String> {
        let tasks = json!({ "items": [
            { "metadata": { "name": "new", "generation": 1 } },
            {
                "metadata": { "name": "web", "generation": 2 },
                "status": { "conditions": [{
                    "type": "Stalled",
                    "status": stalled,
                    "reason": reason,
                    "message": "it is taken",
                    "observedGeneration": observed_generation,
                }] },
            },
        ] });
        serde_json::from_value::<Tasks>(tasks).unwrap().conflicts()
    }

    #[test]
    fn only_a_name_that_is_taken_is_not_worth_waiting_for() {
        let told = "Task web is stalled (ChildConflict): it is taken".to_owned();
        for (stalled, reason, observed_generation, expected) in [
            ("True", "ChildConflict", 2, Some(told)),
            ("True", "ChildConflict", 1, None),
            ("False", "ChildConflict", 2, None),
            ("True", "Forbidden", 2, None),
        ] {
            assert_eq!(
                conflicts(stalled, reason, observed_generation),
                expected,
                "{stalled} {reason} {observed_generation}"
            );
        }
    }
}
