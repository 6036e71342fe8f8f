//! What the paths answer.

use axum::body::Body;
use hyper::client::conn::http2;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::{Value, json};
use task_conversion::task::{MUTATE_PATH, VALIDATE_PATH};

use crate::program::{Program, get, large_review, post, review};

#[tokio::test]
async fn each_path_answers_and_no_other() {
    let program = Program::start(&[]).await;
    for path in ["/healthz", "/readyz"] {
        let answer = program.client.get(path).await;
        assert_eq!(
            (answer.status, answer.text.as_str()),
            (StatusCode::OK, "ok\n")
        );
    }
    let answer = program.client.get("/elsewhere").await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
    assert_eq!(answer.text, "not found: reviews are answered at /convert\n");
}

#[tokio::test]
async fn another_method_is_told_which_is_allowed() {
    let program = Program::start(&[]).await;
    let answer = program.client.send(get("/convert")).await;
    assert_eq!(answer.status, StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(answer.headers[header::ALLOW], "POST");
    assert_eq!(answer.text, "method not allowed\n");
}

#[tokio::test]
async fn many_requests_share_one_http2_connection() {
    let program = Program::start(&[]).await;
    let stream = TokioIo::new(program.client.handshake("h2").await.unwrap());
    let (sender, connection) = http2::handshake(TokioExecutor::new(), stream)
        .await
        .unwrap();
    tokio::spawn(connection);
    let requests: Vec<_> = (0..20)
        .map(|_| {
            let mut sender = sender.clone();
            let request = Request::post("https://localhost/convert");
            let request = request.body(Body::from(review(json!([])))).unwrap();
            tokio::spawn(async move { sender.send_request(request).await })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap().unwrap().status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn what_was_converted_is_counted() {
    let program = Program::start(&[]).await;
    let task = json!({"apiVersion": "task.example.io/v1", "kind": "Task", "spec": {"operation": {"provider": "p", "completion": "Queue"}}});
    let answer = program.client.convert(review(json!([task]))).await;
    assert_eq!(answer["response"]["result"]["status"], "Success");
    program.client.convert("no json").await;
    program.client.get("/elsewhere").await;
    program.client.get("/readyz").await;
    let metrics = program.client.get("/metrics").await.text;
    for line in [
        r#"task_conversion_requests_total{endpoint="convert",from="v1",to="v1alpha1",result="success"} 1"#,
        r#"task_conversion_requests_total{endpoint="convert",from="",to="",result="failure"} 1"#,
        r#"task_conversion_requests_total{endpoint="other",from="",to="",result="refused"} 1"#,
        r#"task_conversion_requests_total{endpoint="self",from="v1",to="v1alpha1",result="success"} 1"#,
        r#"task_conversion_requests_total{endpoint="self",from="v1alpha1",to="v1",result="success"} 1"#,
        r#"task_conversion_rests_total{event="written"} 1"#,
        r#"task_conversion_request_duration_seconds_count{endpoint="convert"} 4"#,
        r#"task_conversion_request_bytes_count{endpoint="convert"} 4"#,
        "task_conversion_inflight_bytes 0",
        "task_conversion_panics_total 0",
        concat!(
            r#"task_conversion_build_info{version=""#,
            env!("CARGO_PKG_VERSION"),
            r#""} 1"#
        ),
    ] {
        assert!(metrics.contains(line), "no {line} in {metrics}");
    }
}

#[tokio::test]
async fn a_list_of_three_thousand_objects_of_ten_megabytes_is_served() {
    let program = Program::start(&[]).await;
    let answer = program.client.convert(large_review(3000, 10_000_000)).await;
    let objects = answer["response"]["convertedObjects"].as_array().unwrap();
    assert_eq!(objects.len(), 3000);
    assert_eq!(objects[2999]["metadata"]["name"], "t2999");
}

#[tokio::test]
async fn whatever_is_no_review_is_a_failure_with_status_200() {
    let program = Program::start(&[]).await;
    let unknown = review(json!([])).replace("v1alpha1", "v9");
    for body in ["", "no json", "[]", "{\"kind\":", &unknown] {
        let answer = program.client.convert(body.to_owned()).await;
        assert_eq!(answer["response"]["result"]["status"], "Failure", "{body}");
    }
}

#[tokio::test]
async fn no_objects_and_one_without_metadata_are_converted() {
    let program = Program::start(&[]).await;
    let answer = program.client.convert(review(json!([]))).await;
    assert_eq!(answer["response"]["convertedObjects"], json!([]));
    let bare = json!([{"apiVersion": "task.example.io/v1", "kind": "Task"}]);
    let answer = program.client.convert(review(bare)).await;
    assert_eq!(
        answer["response"]["convertedObjects"],
        json!([{"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "metadata": {}}])
    );
}

#[tokio::test]
async fn both_admission_webhooks_answer_with_the_uid_of_the_request() {
    let program = Program::start(&[]).await;
    let kind = json!({"group": "task.example.io", "version": "v1", "kind": "Task"});
    let resource = json!({"group": "task.example.io", "version": "v1", "resource": "tasks"});
    let review = json!({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
        "uid": "u-1", "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "name": "t", "namespace": "n", "operation": "CREATE", "dryRun": false, "oldObject": null,
        "object": {"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "t", "namespace": "n"}, "spec": {"replicas": 1}}}});
    for (path, endpoint) in [(MUTATE_PATH, "mutate"), (VALIDATE_PATH, "validate")] {
        let answer = program.client.send(post(path, review.to_string())).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.headers[header::CONTENT_TYPE], "application/json");
        let answer: Value = serde_json::from_str(&answer.text).unwrap();
        assert_eq!(answer["response"]["uid"], "u-1");
        assert_eq!(answer["response"]["allowed"], true);
        let counted = format!(
            r#"requests_total{{endpoint="{endpoint}",from="v1",to="",result="success"}} 1"#
        );
        program.metric(&counted).await;
    }
}

#[tokio::test]
async fn an_admission_review_that_cannot_be_read_is_refused_and_counted() {
    let program = Program::start(&[]).await;
    let answer = program.client.send(post(VALIDATE_PATH, "no json")).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST);
    program
        .metric(r#"requests_total{endpoint="validate",from="",to="",result="failure"} 1"#)
        .await;
}
