//! What `task-conversion` serves.

use super::TASK;
use crate::admission;
use crate::server::{Check, Service, Webhook};

/// The path of the webhook that gives Tasks their defaults.
pub const MUTATE_PATH: &str = "/mutate-task-example-io-v1-task";

/// The path of the webhook that judges Tasks.
pub const VALIDATE_PATH: &str = "/validate-task-example-io-v1-task";

/// Tasks: their conversion and their admission.
#[must_use]
pub fn service() -> Service {
    Service {
        kind: &TASK,
        metrics_prefix: "task_conversion",
        checks: &CHECKS,
        webhooks: &WEBHOOKS,
    }
}

const WEBHOOKS: [Webhook; 2] = [
    Webhook {
        path: MUTATE_PATH,
        endpoint: "mutate",
        judge: admission::mutate,
    },
    Webhook {
        path: VALIDATE_PATH,
        endpoint: "validate",
        judge: admission::validate,
    },
];

const CHECKS: [Check; 2] = [
    Check {
        review: r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"ready","desiredAPIVersion":"task.example.io/v1alpha1","objects":[{"kind":"Task","apiVersion":"task.example.io/v1","metadata":{"name":"ready"},"spec":{"env":{"A":"1"},"operation":{"provider":"p","timeout":"1m30s"}}}]}}"#,
        answer: r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"ready","convertedObjects":[{"kind":"Task","apiVersion":"task.example.io/v1alpha1","metadata":{"name":"ready"},"spec":{"env":[{"name":"A","value":"1"}],"provider":"p","timeoutSeconds":90}}],"result":{"status":"Success"}}}"#,
    },
    Check {
        review: r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{"uid":"ready","desiredAPIVersion":"task.example.io/v1","objects":[{"kind":"Task","apiVersion":"task.example.io/v1alpha1","metadata":{"name":"ready"},"spec":{"env":[{"name":"A","value":"1"}],"provider":"p","timeoutSeconds":90}}]}}"#,
        answer: r#"{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","response":{"uid":"ready","convertedObjects":[{"kind":"Task","apiVersion":"task.example.io/v1","metadata":{"name":"ready"},"spec":{"env":{"A":"1"},"operation":{"provider":"p","timeout":"1m30s"}}}],"result":{"status":"Success"}}}"#,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::answer;

    #[test]
    fn the_built_in_reviews_have_the_answers_that_are_expected() {
        for check in CHECKS {
            let answer = answer(&TASK, check.review.as_bytes());
            assert_eq!(answer.body, check.answer);
        }
    }
}
