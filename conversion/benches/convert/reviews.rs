//! ConversionReviews with Tasks as a cluster holds them: labels, annotations, managedFields of two managers, eight variables, a
//! whole status. Every second one has an operation, and three in four had `env` out of name order when they were written.

/// Which way the objects of a review go.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    /// From v1 to v1alpha1.
    Down,
    /// From v1alpha1 to v1.
    Up,
}

/// A review request of `count` Tasks.
pub fn review(way: Way, count: usize) -> String {
    let down = wrap("v1alpha1", (0..count).map(task));
    match way {
        Way::Down => down,
        Way::Up => wrap("v1", [objects_of(&down)]),
    }
}

/// The objects of the answer to a review, as text.
fn objects_of(review: &str) -> String {
    let answer = task_conversion::review::answer(&task_conversion::task::TASK, review.as_bytes());
    assert_eq!(answer.failure, None);
    let answer: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
    let objects = answer["response"]["convertedObjects"].as_array().unwrap();
    let texts: Vec<_> = objects.iter().map(ToString::to_string).collect();
    texts.join(",")
}

fn wrap(desired: &str, objects: impl IntoIterator<Item = String>) -> String {
    let objects: Vec<_> = objects.into_iter().collect();
    format!(
        r#"{{"kind":"ConversionReview","apiVersion":"apiextensions.k8s.io/v1","request":{{"uid":"6f8d5a0e-4a05-4b8e-9f6e-3b1f5b1f5b1f","desiredAPIVersion":"task.example.io/{desired}","objects":[{}]}},"response":{{"uid":"","convertedObjects":null,"result":{{"metadata":{{}}}}}}}}"#,
        objects.join(",")
    )
}

const NAMES: [&str; 8] = [
    "CACHE_URL",
    "DATABASE_URL",
    "FEATURE_FLAGS",
    "HTTP_PROXY",
    "LOG_LEVEL",
    "QUEUE_URL",
    "REGION",
    "TRACE_RATIO",
];

/// What kubectl manages.
const MANAGED_SPEC: &str = r#"{"apiVersion":"task.example.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:metadata":{"f:annotations":{"f:example.com/owner":{},"f:example.com/runbook":{}},"f:labels":{"f:app.kubernetes.io/component":{},"f:app.kubernetes.io/instance":{},"f:app.kubernetes.io/name":{},"f:app.kubernetes.io/part-of":{},"f:team":{}}},"f:spec":{"f:env":{"f:CACHE_URL":{},"f:DATABASE_URL":{},"f:FEATURE_FLAGS":{},"f:HTTP_PROXY":{},"f:LOG_LEVEL":{},"f:QUEUE_URL":{},"f:REGION":{},"f:TRACE_RATIO":{}},"f:image":{},"f:operation":{"f:completion":{},"f:parameters":{},"f:provider":{},"f:timeout":{}},"f:port":{},"f:replicas":{}}},"manager":"kubectl","operation":"Apply","time":"2026-03-01T09:59:58Z"}"#;

/// What the controller manages.
const MANAGED_STATUS: &str = r#"{"apiVersion":"task.example.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:status":{"f:availableReplicas":{},"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},"f:reason":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Reconciling\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}},"f:lastUpdateTime":{},"f:observedGeneration":{},"f:phase":{},"f:replicas":{},"f:selector":{}}},"manager":"task-controller","operation":"Apply","subresource":"status","time":"2026-03-01T10:05:00Z"}"#;

fn task(index: usize) -> String {
    let env: Vec<_> = NAMES
        .iter()
        .map(|name| {
            format!(
                r#""{name}":"value of {} for task {index}""#,
                name.to_lowercase()
            )
        })
        .collect();
    let order = if index.is_multiple_of(4) {
        ""
    } else {
        r#","task.example.io/v1alpha1":"{\"order:/spec/env\":[\"REGION\",\"LOG_LEVEL\",\"DATABASE_URL\",\"CACHE_URL\",\"QUEUE_URL\",\"HTTP_PROXY\",\"FEATURE_FLAGS\",\"TRACE_RATIO\"]}""#
    };
    let (operation, operation_status) = if index.is_multiple_of(2) {
        (
            r#","operation":{"provider":"volumes","parameters":{"sizeGiB":10,"class":"fast","zones":["a","b"],"encrypted":true},"completion":"Hybrid","timeout":"90s"}"#,
            r#","operation":{"phase":"Ready","key":"0b2f7c9e-8f55-4f0b-9d35-2f4c6b0d8a11","requestHash":"9f86d081884c7d659a2feaa0c55ad015","attempts":1,"startedAt":"2026-03-01T10:00:00Z","completedAt":"2026-03-01T10:04:05.123456Z","result":"vol-0123456789"},"lastAsyncOperationID":"op-4711","externalSystemURL":"https://volumes.example.com/vol-0123456789""#,
        )
    } else {
        ("", "")
    };
    format!(
        r#"{{"apiVersion":"task.example.io/v1","kind":"Task","metadata":{{"annotations":{{"example.com/owner":"team-{index}","example.com/runbook":"https://runbooks.example.com/{index}","kubectl.kubernetes.io/restartedAt":"2026-03-01T10:00:00Z"{order}}},"creationTimestamp":"2026-03-01T09:59:58Z","finalizers":["task.example.io/finalizer"],"generation":7,"labels":{{"app.kubernetes.io/component":"web","app.kubernetes.io/instance":"task-{index}","app.kubernetes.io/name":"storefront","app.kubernetes.io/part-of":"shop","team":"payments"}},"managedFields":[{},{}],"name":"task-{index}","namespace":"team-{}","resourceVersion":"48{index:06}","uid":"d2719f4e-2e0a-4a5e-8d1c-{index:012}"}},"spec":{{"env":{{{}}},"image":"registry.example.com/shop/storefront:1.{index}.0@sha256:{index:064x}","port":8443,"replicas":3{operation}}},"status":{{"availableReplicas":3,"conditions":[{}],"lastUpdateTime":"2026-03-01T10:05:00Z","observedGeneration":7,"phase":"Succeeded","replicas":3,"selector":"app.kubernetes.io/instance=task-{index}"{operation_status}}}}}"#,
        MANAGED_SPEC,
        MANAGED_STATUS,
        index % 20,
        env.join(","),
        ["Ready", "Reconciling", "Stalled"].map(condition).join(","),
    )
}

fn condition(kind: &str) -> String {
    format!(
        r#"{{"lastTransitionTime":"2026-03-01T10:05:00Z","message":"3 of 3 replicas are available at the newest generation","observedGeneration":7,"reason":"AllReplicasAvailable","status":"True","type":"{kind}"}}"#
    )
}
