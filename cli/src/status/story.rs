//! One Task with all there is to tell.

use std::fmt::Write;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::view::{View, age, text};

/// The Task's story, for people.
pub(super) fn tell(task: &Value, now: Timestamp) -> String {
    let (spec, status) = (&task["spec"], &task["status"]);
    let view = View::of(task, now);
    let mut story = String::new();
    let mut line = |name: &str, value: &str| {
        if !value.is_empty() {
            // A String takes whatever is written.
            let _ = writeln!(story, "{name:<14}{value}");
        }
    };
    line("Name", &view.full_name());
    line("Phase", &view.phase);
    line("Age", &view.age);
    line("Waits for", view.waits_for.as_deref().unwrap_or("nothing"));
    line(
        "Workload",
        &format!(
            "{} of {} available, {}",
            view.ready,
            text(&spec["image"]),
            replicas(status)
        ),
    );

    if spec["operation"].is_object() || status["operation"].is_object() {
        let operation = &status["operation"];
        let when = |name: &str| age(&operation[name], now).map(|age| format!("{age} ago"));
        line("Operation", &view.operation);
        line("  provider", &text(&spec["operation"]["provider"]));
        line("  completion", &text(&spec["operation"]["completion"]));
        line("  timeout", &text(&spec["operation"]["timeout"]));
        line("  id", &text(&status["lastAsyncOperationID"]));
        line("  url", &text(&status["externalSystemURL"]));
        line("  started", &when("startedAt").unwrap_or_default());
        line("  completed", &when("completedAt").unwrap_or_default());
        let attempts = operation["attempts"].as_i64();
        line(
            "  attempts",
            &attempts.map_or_else(String::new, |attempts| attempts.to_string()),
        );
        line("  result", &text(&operation["result"]));
    }
    for condition in status["conditions"].as_array().into_iter().flatten() {
        let since = age(&condition["lastTransitionTime"], now).unwrap_or_default();
        let [type_, status, reason, message] =
            ["type", "status", "reason", "message"].map(|name| text(&condition[name]));
        line(
            &type_,
            &format!(" {status} ({reason}) for {since}: {message}"),
        );
    }
    for failure in status["failureDetails"].as_array().into_iter().flatten() {
        let when = age(&failure["timestamp"], now).unwrap_or_default();
        let [code, message] = ["code", "message"].map(|name| text(&failure[name]));
        line("Failure", &format!("{when} ago, {code}: {message}"));
    }
    story
}

fn replicas(status: &Value) -> String {
    let replicas = status["replicas"].as_i64().unwrap_or_default();
    match replicas {
        1 => "1 pod".to_owned(),
        replicas => format!("{replicas} pods"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_task_with_an_operation_is_told_from_its_phase_to_its_failures() {
        let task = json!({
            "metadata": {"namespace": "shop", "name": "report", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"image": "a:1", "replicas": 2, "operation": {"provider": "volumes", "completion": "Poll", "timeout": "1h"}},
            "status": {
                "observedGeneration": 1, "phase": "Running", "replicas": 2, "availableReplicas": 1, "lastAsyncOperationID": "o-1",
                "operation": {"phase": "Creating", "startedAt": "2026-01-01T00:01:00Z", "attempts": 2},
                "conditions": [{"type": "Ready", "status": "False", "reason": "Progressing", "message": "one is missing", "lastTransitionTime": "2026-01-01T00:02:00Z"}],
                "failureDetails": [{"code": "Timeout", "message": "no answer", "timestamp": "2026-01-01T00:02:30Z"}],
            },
        });
        insta::assert_snapshot!(tell(&task, "2026-01-01T00:03:00Z".parse().unwrap()), @r"
        Name          shop/report
        Phase         Running
        Age           3m
        Waits for     operation o-1 of volumes
        Workload      1/2 of a:1 available, 2 pods
        Operation     Creating
          provider    volumes
          completion  Poll
          timeout     1h
          id          o-1
          started     2m ago
          attempts    2
        Ready          False (Progressing) for 60s: one is missing
        Failure       30s ago, Timeout: no answer
        ");
    }
}
