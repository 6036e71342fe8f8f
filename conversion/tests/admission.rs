//! Admission by example: one fact a test.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use task_conversion::admission::{Answer, Outcome, mutate, validate};
use task_conversion::json::Scanner;
use task_conversion::task::TASK;
use task_conversion::{Events, TOTAL_LIMIT};

const UID: &str = "0c9a8d74-9cb7-44dd-b98e-09fd62def2f4";

/// A review as the API server sends one.
fn review(operation: &str, object: Value, old: Value) -> Value {
    let name = [&object, &old].map(|object| object["metadata"]["name"].clone());
    let name = name.into_iter().find(Value::is_string);
    json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": UID,
            "kind": {"group": "task.example.io", "version": "v1", "kind": "Task"},
            "resource": {"group": "task.example.io", "version": "v1", "resource": "tasks"},
            "requestKind": {"group": "task.example.io", "version": "v1", "kind": "Task"},
            "requestResource": {"group": "task.example.io", "version": "v1", "resource": "tasks"},
            "name": name.unwrap_or_else(|| json!("")),
            "namespace": "default",
            "operation": operation,
            "userInfo": {"username": "jane"},
            "object": object,
            "oldObject": old,
            "dryRun": false,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    })
}

fn task(spec: Value) -> Value {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "web"}, "spec": spec})
}

fn create(spec: Value) -> Value {
    review("CREATE", task(spec), Value::Null)
}

fn update(object: Value, old: Value) -> Value {
    review("UPDATE", object, old)
}

/// The same request, made by a client that uses v1alpha1.
fn by_v1alpha1(mut review: Value) -> Value {
    for name in ["requestKind", "requestResource"] {
        review["request"][name]["version"] = json!("v1alpha1");
    }
    review
}

fn on(subresource: &str, mut review: Value) -> Value {
    review["request"]["subResource"] = json!(subresource);
    review["request"]["requestSubResource"] = json!(subresource);
    review
}

/// The response in an answer, which must be one that the API server takes.
fn response(answer: &Answer) -> Value {
    assert_eq!(answer.http_status, 200);
    let mut review: Value = serde_json::from_str(&answer.body).unwrap();
    assert_eq!(review["kind"], "AdmissionReview");
    assert_eq!(review["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(review["response"]["uid"], UID);
    assert_eq!(
        review["response"]["patch"].is_null(),
        review["response"]["patchType"].is_null()
    );
    review["response"].take()
}

fn validated(review: &Value) -> Value {
    response(&validate(review.to_string().as_bytes()))
}

/// The object of a review as [`mutate`] makes it, and whether that took a patch.
fn mutated(review: &Value) -> (Value, bool) {
    let response = response(&mutate(review.to_string().as_bytes()));
    assert_eq!(response["allowed"], true);
    let mut object = review["request"]["object"].clone();
    let Some(patch) = response["patch"].as_str() else {
        return (object, false);
    };
    assert_eq!(response["patchType"], "JSONPatch");
    let patch: json_patch::Patch =
        serde_json::from_slice(&STANDARD.decode(patch).unwrap()).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    (object, true)
}

/// An object as a client of v1alpha1 writes it back: what it sees, and the annotations only if it keeps them.
fn written_at_v1alpha1(task: &Value, keeps_annotations: bool, edit: impl Fn(&mut Value)) -> Value {
    let mut shown = converted(task, "v1alpha1");
    if !keeps_annotations {
        shown["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
    }
    edit(&mut shown);
    converted(&shown, "v1")
}

fn converted(object: &Value, version: &'static str) -> Value {
    let text = object.to_string();
    let mut node = TASK.read(&mut Scanner::new(&text)).unwrap();
    TASK.convert(&mut node, version, &mut Events::new())
        .unwrap();
    serde_json::from_str(&node.text()).unwrap()
}

fn warnings(review: &Value) -> Vec<String> {
    let response = validated(review);
    assert_eq!(response["allowed"], true, "{response}");
    serde_json::from_value(response["warnings"].clone()).unwrap_or_default()
}

fn messages(review: &Value) -> Vec<String> {
    let response = validated(review);
    assert_eq!(response["allowed"], false, "{response}");
    let causes = response["status"]["details"]["causes"]
        .as_array()
        .unwrap()
        .clone();
    let text = |cause: Value| {
        format!(
            "{}: {}",
            cause["field"].as_str().unwrap(),
            cause["message"].as_str().unwrap()
        )
    };
    causes.into_iter().map(text).collect()
}

#[test]
fn the_defaults_are_filled_in() {
    let (object, patched) = mutated(&create(json!({"operation": {"provider": "p"}})));
    assert!(patched);
    assert_eq!(
        object["spec"],
        json!({"replicas": 1, "image": "nginx:alpine", "port": 8080,
            "operation": {"provider": "p", "completion": "Poll", "timeout": "1h"}})
    );
}

#[test]
fn a_task_that_says_everything_is_not_patched_and_zero_replicas_stay_zero() {
    let spec = json!({"replicas": 0, "image": "a:1", "port": 80});
    for review in [
        create(spec.clone()),
        update(task(spec.clone()), task(json!({}))),
    ] {
        let (object, patched) = mutated(&review);
        assert!(!patched);
        assert_eq!(object["spec"], spec);
    }
}

/// A Task as a client of v1alpha1 writes it: `managed` are the fields of `spec` that such clients have set, as the API server records it.
fn without_provider(old: &Value, managed: Value) -> Value {
    let mut object = written_at_v1alpha1(old, true, |task| {
        let spec = task["spec"].as_object_mut().unwrap();
        spec.remove("provider");
    });
    object["metadata"]["managedFields"] = json!([
        {"manager": "a", "operation": "Update", "apiVersion": "task.example.io/v1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": {"f:operation": {"f:timeout": {}, "f:parameters": {}}}}},
        {"manager": "b", "operation": "Apply", "apiVersion": "task.example.io/v1alpha1", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:spec": managed}},
    ]);
    object
}

#[test]
fn an_operation_that_has_lost_its_provider_at_v1alpha1_is_removed() {
    for operation in [
        json!({"provider": "p", "completion": "Poll", "timeout": "1h"}),
        json!({"provider": "p", "completion": "Callback", "timeout": "1.5s"}),
        json!({"provider": "p", "completion": "Poll", "timeout": "1h", "parameters": {"set": {"at": "v1"}}}),
    ] {
        let old = task(json!({"replicas": 1, "image": "a:1", "port": 1, "operation": operation}));
        let object = without_provider(&old, json!({"f:port": {}}));
        assert!(object["spec"]["operation"].is_object(), "{object}");
        let (object, _) = mutated(&by_v1alpha1(update(object, old)));
        assert_eq!(
            object["spec"],
            json!({"replicas": 1, "image": "a:1", "port": 1})
        );
    }
}

#[test]
fn what_a_client_of_v1alpha1_has_set_itself_is_left_for_the_rules_to_refuse() {
    let operation =
        json!({"provider": "p", "completion": "Poll", "timeout": "90s", "parameters": {"a": "1"}});
    let old = task(json!({"image": "a:1", "operation": operation}));
    for managed in [
        json!({"f:timeoutSeconds": {}}),
        json!({"f:parameters": {"f:a": {}}}),
    ] {
        let object = without_provider(&old, managed);
        let (object, _) = mutated(&by_v1alpha1(update(object, old.clone())));
        assert!(object["spec"]["operation"].is_object(), "{object}");
    }
}

#[test]
fn an_operation_that_lacks_a_provider_for_another_reason_stays() {
    let whole =
        task(json!({"operation": {"provider": "p", "completion": "Poll", "timeout": "1h"}}));
    let without = task(json!({"operation": {"completion": "Poll", "timeout": "1h"}}));
    for review in [
        update(without.clone(), whole.clone()),
        by_v1alpha1(update(without.clone(), without.clone())),
        by_v1alpha1(create(without["spec"].clone())),
        by_v1alpha1(update(whole.clone(), whole)),
    ] {
        let (object, _) = mutated(&review);
        assert!(object["spec"]["operation"].is_object(), "{object}");
    }
}

#[test]
fn only_a_task_is_given_defaults() {
    for review in [
        review("DELETE", Value::Null, task(json!({}))),
        on("status", update(task(json!({})), task(json!({})))),
        scale(1),
    ] {
        assert!(!mutated(&review).1, "{review}");
    }
}

#[test]
fn a_bad_task_is_refused_with_every_problem_and_its_cause() {
    let review = create(json!({"replicas": 1, "image": "a:1", "port": 0, "operation": {}}));
    let response = validated(&review);
    let rule = "must be a DNS label: at most 63 characters, lower case letters, digits and '-', beginning and ending with a letter or digit";
    let text = format!(
        "Task.task.example.io \"web\" is invalid: [spec.port: Invalid value: 0: must be between 1 and 65535, spec.operation.provider: Required value: {rule}]"
    );
    assert_eq!(
        response,
        json!({
            "uid": UID,
            "allowed": false,
            "status": {
                "apiVersion": "v1",
                "kind": "Status",
                "metadata": {},
                "status": "Failure",
                "code": 422,
                "reason": "Invalid",
                "message": text,
                "details": {
                    "name": "web",
                    "group": "task.example.io",
                    "kind": "Task",
                    "causes": [
                        {"field": "spec.port", "reason": "FieldValueInvalid", "message": "Invalid value: 0: must be between 1 and 65535"},
                        {"field": "spec.operation.provider", "reason": "FieldValueRequired", "message": format!("Required value: {rule}")},
                    ],
                },
            },
        })
    );
}

#[test]
fn a_good_task_is_allowed_without_a_word() {
    let spec = json!({"image": "a:1", "operation": {"provider": "p", "parameters": {"n": 1}}});
    assert_eq!(
        validated(&create(spec.clone())),
        json!({"uid": UID, "allowed": true})
    );
    assert_eq!(
        validated(&update(task(spec.clone()), task(spec))),
        json!({"uid": UID, "allowed": true})
    );
}

#[test]
fn an_old_bad_task_can_be_repaired_and_freed_of_its_finalizers() {
    let mut old = task(json!({"port": 0, "image": "a:1"}));
    old["metadata"]["finalizers"] = json!(["task.example.io/finalizer"]);
    old["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    let mut freed = old.clone();
    freed["metadata"]["finalizers"] = json!([]);
    assert_eq!(warnings(&update(freed, old.clone())), [""; 0]);
    let mut scaled = old.clone();
    scaled["spec"]["replicas"] = json!(2);
    assert_eq!(warnings(&update(scaled.clone(), old.clone())), [""; 0]);
    scaled["spec"]["replicas"] = json!(101);
    assert_eq!(
        messages(&update(scaled, old)),
        ["spec.replicas: Invalid value: 101: must be between 0 and 100"]
    );
}

#[test]
fn a_deletion_is_never_refused() {
    let bad = task(json!({"port": 0, "env": 5}));
    assert_eq!(
        warnings(&review("DELETE", Value::Null, bad.clone())),
        [""; 0]
    );
    assert_eq!(
        warnings(&by_v1alpha1(review("DELETE", Value::Null, marked(&bad)))),
        [""; 0]
    );
}

#[test]
fn an_image_that_may_move_is_warned_of() {
    let digest = format!("a@sha256:{}", "0".repeat(64));
    let latest = format!("a:latest@sha256:{}", "0".repeat(64));
    for (image, warned) in [
        ("a", true),
        ("a:latest", true),
        ("host:5000/b/a", true),
        ("host:5000/a:latest", true),
        ("a:1", false),
        ("host:5000/a:latest-1", false),
        (&digest, false),
        (&latest, false),
    ] {
        let told = warnings(&create(json!({"image": image})));
        assert_eq!(told.len(), usize::from(warned), "{image}: {told:?}");
        let (new, other) = (task(json!({"image": image})), task(json!({"image": "b:1"})));
        assert_eq!(warnings(&update(new.clone(), other)), told);
        assert_eq!(warnings(&update(new.clone(), new)), [""; 0]);
    }
}

#[test]
fn an_operation_that_changes_while_it_runs_is_warned_of() {
    let running = |spec: Value, phase: &str| {
        let mut task = task(spec);
        task["status"] = json!({"operation": {"phase": phase}});
        task
    };
    let one = json!({"image": "a:1", "operation": {"provider": "p"}});
    let none = json!({"image": "a:1"});
    for (new, phase, warned) in [
        (
            json!({"image": "a:1", "operation": {"provider": "q"}}),
            "Creating",
            true,
        ),
        (none.clone(), "Creating", true),
        (
            json!({"image": "a:2", "operation": {"provider": "p"}}),
            "Creating",
            false,
        ),
        (none, "Ready", false),
    ] {
        let told = warnings(&update(running(new, phase), running(one.clone(), phase)));
        assert_eq!(told.len(), usize::from(warned), "{told:?}");
    }
    let told = warnings(&review("DELETE", Value::Null, running(one, "Creating")));
    assert_eq!(
        told,
        ["deleted while its operation is running (status.operation.phase is Creating)"]
    );
}

#[test]
fn a_replace_with_an_old_file_is_allowed_and_names_what_it_resets() {
    let old = task(
        json!({"image": "a:1", "operation": {"provider": "p", "completion": "Queue", "timeout": "1.5s"}}),
    );
    let replaced = written_at_v1alpha1(&old, false, |_| {});
    assert_eq!(
        warnings(&by_v1alpha1(update(replaced.clone(), old.clone()))),
        [
            "this write at v1alpha1 resets what only v1 can show: spec.operation.timeout, spec.operation.completion"
        ]
    );
    // The same at v1 is what its author wrote.
    assert_eq!(warnings(&update(replaced, old.clone())), [""; 0]);
    let edited = written_at_v1alpha1(&old, true, |shown| shown["spec"]["replicas"] = json!(3));
    assert_eq!(warnings(&by_v1alpha1(update(edited, old))), [""; 0]);
}

#[test]
fn a_warning_is_short_and_on_one_line() {
    let parameters: serde_json::Map<_, _> = (0..20)
        .map(|n| (format!("key\n{n}{}", "x".repeat(100)), json!(n)))
        .collect();
    let old =
        task(json!({"image": "a:1", "operation": {"provider": "p", "parameters": parameters}}));
    let replaced = written_at_v1alpha1(&old, false, |_| {});
    let told = warnings(&by_v1alpha1(update(replaced, old)));
    assert!(
        told[0].chars().count() <= 256 && !told[0].contains('\n'),
        "{told:?}"
    );
}

/// A Task whose v1alpha1 form has no room for what only v1 can show.
fn crowded(spec: Value) -> Value {
    let mut task = task(spec);
    task["metadata"]["annotations"] = json!({"a": "x".repeat(TOTAL_LIMIT - 60)});
    task
}

/// The same as a client of v1alpha1 makes the API server show it: with the mark that something was left out.
fn marked(task: &Value) -> Value {
    let mut task = task.clone();
    task["metadata"]["annotations"] =
        json!({"task.example.io/v1alpha1": r#"{"unread":{"omitted":true}}"#});
    task
}

fn exact() -> Value {
    json!({"image": "a:1", "operation": {"provider": "p", "completion": "Queue", "timeout": "1.5s"}})
}

#[test]
fn a_task_that_v1alpha1_has_no_room_for_is_refused() {
    let told = messages(&review("CREATE", crowded(exact()), Value::Null));
    assert_eq!(
        told,
        [
            "metadata.annotations: Too long: may not be more than 262144 bytes together with what v1alpha1 cannot show of this Task, which rides in one of them"
        ]
    );
    assert_eq!(
        warnings(&review(
            "CREATE",
            crowded(json!({"image": "a:1"})),
            Value::Null
        )),
        [""; 0]
    );
    assert_eq!(messages(&update(crowded(exact()), task(exact()))).len(), 1);
}

#[test]
fn a_task_that_never_had_room_can_still_be_changed() {
    let mut scaled = crowded(exact());
    scaled["spec"]["replicas"] = json!(2);
    assert_eq!(warnings(&update(scaled, crowded(exact()))), [""; 0]);
}

#[test]
fn a_write_at_v1alpha1_that_would_lose_what_was_left_out_is_refused() {
    let shown = written_at_v1alpha1(&crowded(exact()), true, |_| {});
    assert_eq!(
        shown["metadata"]["annotations"]["task.example.io/v1alpha1"],
        marked(&shown)["metadata"]["annotations"]["task.example.io/v1alpha1"],
        "the mark of the conversion"
    );
    let expected = [
        "metadata.annotations[task.example.io/v1]: Forbidden: a write at v1alpha1 would lose what was too large to show there: write this Task at v1",
    ];
    let write = by_v1alpha1(update(shown.clone(), shown.clone()));
    assert_eq!(messages(&write), expected);
    assert_eq!(messages(&on("status", write)), expected);
    let mut without = shown.clone();
    without["metadata"]["annotations"] = json!({});
    assert_eq!(
        messages(&by_v1alpha1(update(without, shown.clone()))),
        expected
    );
    // At v1 nothing is lost.
    assert_eq!(warnings(&update(shown.clone(), shown.clone())), [""; 0]);
    let mut going = shown.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z");
    assert_eq!(warnings(&by_v1alpha1(update(going, shown))), [""; 0]);
}

#[test]
fn a_write_at_v1alpha1_that_v1_has_no_room_for_is_refused() {
    let order = json!([{"name": "B", "value": ""}, {"name": "A", "value": ""}]);
    let mut crowded = crowded(json!({"image": "a:1"}));
    crowded["metadata"]["annotations"]["a"] = json!("x".repeat(TOTAL_LIMIT - 45));
    let written = written_at_v1alpha1(&crowded, true, |shown| shown["spec"]["env"] = order.clone());
    let told = messages(&by_v1alpha1(review("CREATE", written.clone(), Value::Null)));
    assert!(told[0].contains("what v1 cannot show"), "{told:?}");
    // Whoever reads it at v1 and writes it back does no harm.
    assert_eq!(warnings(&update(written.clone(), written)), [""; 0]);
}

#[test]
fn an_object_that_cannot_be_converted_is_refused() {
    let mut bad = task(json!({"image": "a:1"}));
    bad["metadata"]["annotations"] = json!([]);
    let told = messages(&review("CREATE", bad.clone(), Value::Null));
    assert_eq!(
        told,
        [
            "spec: Invalid value: cannot be shown at v1alpha1: /metadata/annotations: expected an object, found array"
        ]
    );
    assert_eq!(warnings(&update(bad.clone(), bad)), [""; 0]);
}

fn scale(replicas: i32) -> Value {
    let scale = |replicas: i32| json!({"kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": {"name": "web"}, "spec": {"replicas": replicas}});
    let mut review = on("scale", update(scale(replicas), scale(1)));
    review["request"]["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
    review["request"]["requestKind"] = review["request"]["kind"].clone();
    review
}

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
fn what_nests_too_deep_is_refused_but_can_still_be_changed() {
    let spec =
        json!({"image": "a:1", "operation": {"provider": "p", "parameters": {"deep": "HERE"}}});
    let deepened = |review: Value| {
        let deep = format!("{}{}", "[".repeat(9_000), "]".repeat(9_000));
        review.to_string().replace("\"HERE\"", &deep)
    };
    let review = deepened(create(spec.clone()));
    let answer = validate(review.as_bytes());
    assert_eq!((&answer.outcome, answer.problems), (&Outcome::Denied, 1));
    let message = "spec.operation.parameters: Invalid value: may not nest more than 64 levels deep";
    assert!(answer.body.contains(message), "{}", answer.body);
    assert_eq!(mutate(review.as_bytes()).outcome, Outcome::Patched);

    let mut changed = task(spec.clone());
    changed["spec"]["port"] = json!(80);
    let review = deepened(update(changed, task(spec)));
    assert_eq!(validate(review.as_bytes()).outcome, Outcome::Allowed);
}

#[test]
fn the_webhooks_are_registered_where_they_are_served() {
    use task_conversion::server::{MUTATE_PATH, VALIDATE_PATH};
    assert_eq!(task_crds::webhooks::MUTATE_PATH, MUTATE_PATH);
    assert_eq!(task_crds::webhooks::VALIDATE_PATH, VALIDATE_PATH);
}
