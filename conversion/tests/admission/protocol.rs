//! AdmissionReview to the letter.

use serde_json::{Value, json};
use task_conversion::admission::{Answer, Outcome, mutate, validate};

use crate::reviews::{
    by_v1alpha1, create, messages, mutated, on, response, scale, task, update, validated, warnings,
};

#[test]
fn a_scale_is_judged_by_the_bounds_of_replicas() {
    assert_eq!(warnings(&scale(100)), [""; 0]);
    assert_eq!(
        messages(&scale(101)),
        ["spec.replicas: Invalid value: 101: must be between 0 and 100"]
    );
}

#[test]
fn a_status_is_left_to_the_schema() {
    let mut bad = task(json!({"port": 0}));
    bad["status"] = json!({"phase": "Nonsense"});
    assert_eq!(
        warnings(&on("status", update(bad.clone(), task(json!({}))))),
        [""; 0]
    );
}

#[test]
fn a_dry_run_is_answered_like_any_other() {
    for spec in [json!({"port": 0}), json!({"image": "a:1"})] {
        let (review, mut dry) = (create(spec.clone()), create(spec));
        dry["request"]["dryRun"] = json!(true);
        assert_eq!(validated(&dry), validated(&review));
        assert_eq!(mutated(&dry).0, mutated(&review).0);
    }
}

#[test]
fn what_is_no_task_at_v1_is_refused_in_words_that_help() {
    let with = |name: &str, value: Value| {
        let mut review = create(json!({"image": "a:1"}));
        review["request"][name] = value;
        review
    };
    let pod = json!({"group": "", "version": "v1", "kind": "Pod"});
    let old = json!({"group": "task.example.io", "version": "v1alpha1", "kind": "Task"});
    let rules = "this webhook judges tasks of task.example.io at v1 only, and was sent";
    for (review, expected) in [
        (
            with("kind", pod),
            format!("{rules} \"Pod\" of \"\" at \"v1\" as tasks"),
        ),
        (
            with("kind", old),
            format!("{rules} \"Task\" of \"task.example.io\" at \"v1alpha1\" as tasks"),
        ),
        (
            with("subResource", json!("log")),
            format!("{rules} \"Task\" of \"task.example.io\" at \"v1\" as tasks/log"),
        ),
        (
            with("operation", json!("CONNECT")),
            "request.operation: expected CREATE, UPDATE or DELETE, found \"CONNECT\"".to_owned(),
        ),
        (
            with("operation", json!(5)),
            "request.operation: expected CREATE, UPDATE or DELETE, found 5".to_owned(),
        ),
        (
            with("object", Value::Null),
            "request.object: expected an object, found null".to_owned(),
        ),
        (
            with("object", json!("x")),
            "request.object: expected an object, found \"x\"".to_owned(),
        ),
    ] {
        let review = review.to_string();
        for answer in [validate(review.as_bytes()), mutate(review.as_bytes())] {
            let response = response(&answer);
            assert_eq!(response["allowed"], false);
            assert_eq!(response["status"]["code"], 400);
            assert_eq!(response["status"]["reason"], "BadRequest");
            let message = response["status"]["message"].as_str().unwrap();
            assert!(message.starts_with(&expected), "{message}");
            assert_eq!(answer.outcome, Outcome::Failed(message.to_owned()));
        }
    }
}

#[test]
fn as_long_as_the_uid_can_be_read_a_malformed_review_is_answered() {
    let good = create(json!({"image": "a:1"})).to_string();
    let object = good.find("\"uid\":").unwrap();
    // Cut behind the uid, whatever the order of members is.
    let head = format!(
        "{{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{{{}",
        &good[object..]
    );
    for body in [
        head[..head.len() - 3].to_owned(),
        good.replace("AdmissionReview", "ConversionReview"),
        good.replace("admission.k8s.io/v1", "admission.k8s.io/v1beta1"),
        good.replace("\"operation\"", "\"x\""),
        good.clone() + "x",
    ] {
        let answer = validate(body.as_bytes());
        let response = response(&answer);
        assert_eq!(response["allowed"], false, "{body}");
        assert_eq!(response["status"]["code"], 400, "{body}");
    }
}

#[test]
fn without_a_uid_the_answer_is_bad_request() {
    for (body, expected) in [
        (&b""[..], "the body is no AdmissionReview: malformed JSON at byte 0: expected an object"),
        (b"\xff", "the body is no AdmissionReview: not UTF-8 from byte 0 on"),
        (b"[]", "the body is no AdmissionReview: malformed JSON at byte 0: expected an object"),
        (b"{}", "kind: expected AdmissionReview, found nothing"),
        (b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\"}", "the review has no request.uid"),
        (b"{\"kind\":\"AdmissionReview\",\"apiVersion\":\"admission.k8s.io/v1\",\"request\":{\"uid\":5}}", "the review has no request.uid"),
    ] {
        for answer in [validate(body), mutate(body)] {
            assert_eq!(answer.http_status, 400);
            assert_eq!(answer.body, format!("{expected}\n"));
            assert_eq!(answer.outcome, Outcome::Failed(expected.to_owned()));
        }
    }
}

#[test]
fn what_is_counted_tells_nothing_of_the_object() {
    let answer = validate(
        by_v1alpha1(create(json!({"image": "secret", "port": 0})))
            .to_string()
            .as_bytes(),
    );
    let counted = Answer {
        body: String::new(),
        ..answer
    };
    let told = format!("{counted:?}");
    assert!(!told.contains("secret"), "{told}");
    assert_eq!(counted.outcome.name(), "denied");
    assert_eq!(counted.version, Some("v1alpha1"));
    assert_eq!(
        (
            counted.operation.unwrap().name(),
            counted.subresource.unwrap().name()
        ),
        ("CREATE", "")
    );
    assert_eq!(
        (counted.object.as_str(), counted.problems, counted.warnings),
        ("default/web", 1, 0)
    );
}

#[test]
fn the_webhooks_are_registered_where_they_are_served() {
    use task_conversion::task::{MUTATE_PATH, VALIDATE_PATH};
    assert_eq!(task_crds::webhooks::MUTATE_PATH, MUTATE_PATH);
    assert_eq!(task_crds::webhooks::VALIDATE_PATH, VALIDATE_PATH);
}
