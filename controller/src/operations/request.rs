//! What a provider is asked for: the body of the call that starts an operation, and its hash. Pure.

use serde::Serialize;
use serde_json::{Map, Value};
use task_api_v1::{Completion, Task};

use super::digest;

/// The body of the call that starts an operation.
///
/// It is a function of the Task alone, so that a repeated call sends the identical bytes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Request<'t> {
    /// Whose operation it is.
    pub task: Whose<'t>,
    /// What the Task's spec says of it, as it stands there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameters: Option<&'t Map<String, Value>>,
    /// Where the provider tells how it ends, if it is to call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callback_url: Option<String>,
}

/// The Task whose operation it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Whose<'t> {
    /// Its namespace.
    pub namespace: &'t str,
    /// Its name.
    pub name: &'t str,
    /// Its uid.
    pub uid: &'t str,
}

impl<'t> Request<'t> {
    /// The request that `task` makes; `None` if it needs no operation. `callbacks` is the URL under which providers reach the operator.
    pub fn of(task: &'t Task, callbacks: Option<&str>) -> Option<Self> {
        let operation = task.spec.operation.as_ref()?;
        let whose = Whose {
            namespace: task.metadata.namespace.as_deref().unwrap_or_default(),
            name: task.metadata.name.as_deref().unwrap_or_default(),
            uid: task.metadata.uid.as_deref().unwrap_or_default(),
        };
        let callback_url = callbacks
            .filter(|_| calls_back(operation.completion))
            .map(|base| {
                let base = base.trim_end_matches('/');
                format!("{base}/callbacks/{}/{}", whose.namespace, whose.name)
            });
        Some(Self {
            task: whose,
            parameters: operation.parameters.as_ref(),
            callback_url,
        })
    }
}

/// A hash of what `task` asks for and of whom; `None` if it needs no operation.
///
/// Where the end is told is no part of it, other than whether the provider is to call: the address of the operator may change while an
/// operation runs.
pub fn hash(task: &Task) -> Option<String> {
    let operation = task.spec.operation.as_ref()?;
    let request = Request::of(task, None)?;
    let asked = (
        &operation.provider,
        calls_back(operation.completion),
        request,
    );
    // Strings, booleans and JSON: there is nothing in it that cannot be written.
    let text = serde_json::to_vec(&asked).ok()?;
    Some(digest::hex(&text))
}

fn calls_back(completion: Completion) -> bool {
    matches!(completion, Completion::Callback | Completion::Hybrid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixtures::task;

    fn operation(edit: impl FnOnce(&mut task_api_v1::Operation)) -> Task {
        let mut task = task("web").needs_operation().build();
        edit(task.spec.operation.as_mut().unwrap());
        task
    }

    #[test]
    fn the_request_is_what_the_protocol_says() {
        let task = operation(|operation| {
            operation.parameters = json!({"size": 10}).as_object().cloned();
            operation.completion = Completion::Callback;
        });
        let request = Request::of(&task, Some("https://operator.example:9444/")).unwrap();
        assert_eq!(
            serde_json::to_value(request).unwrap(),
            json!({
                "task": {"namespace": "default", "name": "web", "uid": "uid-of-web"},
                "parameters": {"size": 10},
                "callbackUrl": "https://operator.example:9444/callbacks/default/web",
            })
        );
    }

    #[test]
    fn who_polls_is_not_called() {
        let task = operation(|_| {});
        let request = Request::of(&task, Some("https://operator.example")).unwrap();
        assert_eq!(request.callback_url, None);
    }

    #[test]
    fn the_hash_differs_where_another_operation_is_asked_for() {
        let before = hash(&operation(|_| {}));
        assert!(before.is_some());
        let parameters = json!({"a": 1}).as_object().cloned();
        for other in [
            operation(|operation| operation.provider = "reports".to_owned()),
            operation(|operation| operation.parameters = parameters),
            operation(|operation| operation.completion = Completion::Callback),
        ] {
            assert_ne!(hash(&other), before);
        }
    }

    #[test]
    fn the_hash_is_the_same_whatever_else_changes() {
        let before = hash(&operation(|_| {}));
        let mut task = operation(|operation| {
            operation.timeout = "5s".to_owned();
            operation.completion = Completion::Queue;
        });
        task.spec.replicas = 7;
        assert_eq!(hash(&task), before);
    }

    #[test]
    fn a_task_without_an_operation_asks_for_nothing() {
        assert_eq!(hash(&task("web").build()), None);
    }
}
