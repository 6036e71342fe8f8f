//! While somebody does not want a Task to be written.

use std::net::SocketAddr;

use axum::routing::post;
use axum::{Json, Router, serve};
use http::Method;
use serde_json::{Value, json};
use task_tests::Https;

use crate::world::{Ended, RUNTIME, World};

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";

/// Migrates ten Tasks, of which the fourth may not be written, and takes the objects that forbid it away again: each has its path and
/// itself.
async fn migrate(world: &World, forbid: &[(&str, Value)]) -> Ended {
    for (resource, object) in forbid {
        let path = format!("{ADMISSION}/{resource}");
        world.send(Method::POST, JSON, &path, object).await.unwrap();
    }
    world
        .until("it is forbidden", async || {
            let path = World::path("v1", "/task-00003?dryRun=All");
            let label = json!({"metadata": {"labels": {"a": "b"}}});
            world
                .send(Method::PATCH, MERGE, &path, &label)
                .await
                .is_err()
        })
        .await;
    let ended = world.migrate(&["--yes", "--qps=0"]).await;
    for (resource, object) in forbid.iter().rev() {
        let name = object["metadata"]["name"].as_str().unwrap();
        let path = format!("{ADMISSION}/{resource}/{name}");
        world
            .send(Method::DELETE, JSON, &path, &Value::Null)
            .await
            .unwrap();
    }
    ended
}

async fn one_is_refused_and_named(world: &World, ended: &Ended, why: &str) {
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("default/task-00003"), "{ended:?}");
    assert!(ended.stdout.contains(why), "{ended:?}");
    assert!(ended.stdout.contains("9 rewritten, 1 refused"), "{ended:?}");
    assert_eq!(world.stored_versions().await.len(), 2);
    assert_eq!(world.stored_at("v1alpha1").await, 1);
}

#[test]
fn a_task_that_a_policy_refuses_is_named_and_all_others_are_rewritten() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(10).await;
        world.store_at("v1").await;
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "no-threes"},
            "spec": {
                "matchConstraints": {"resourceRules": [updates()]},
                "validations": [{"expression": "object.metadata.name != 'task-00003'", "message": "threes are frozen"}],
            },
        });
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "no-threes"},
            "spec": {"policyName": "no-threes", "validationActions": ["Deny"]},
        });
        let ended = migrate(
            &world,
            &[("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)],
        )
        .await;
        one_is_refused_and_named(&world, &ended, "threes are frozen").await;
    });
}

/// A webhook chooses the code of its refusal. That of an object that is not there, or of a conflict, must not pass for either.
#[test]
fn a_refusal_that_looks_like_an_answer_of_the_api_server_is_a_refusal() {
    let world = World::take();
    RUNTIME.block_on(async {
        let webhook = refusing(&world).await;
        for code in [404, 409] {
            world.store_at("v1alpha1").await;
            world.create_many(10).await;
            world.store_at("v1").await;
            let configuration = json!({
                "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "no-threes"},
                "webhooks": [{
                    "name": "threes.example.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [updates()],
                    "matchConditions": [{"name": "threes", "expression": "object.metadata.name == 'task-00003'"}],
                    "clientConfig": {"url": format!("https://{webhook}/{code}"), "caBundle": world.authority()},
                }],
            });
            let ended = migrate(&world, &[("validatingwebhookconfigurations", configuration)]).await;
            one_is_refused_and_named(&world, &ended, "nothing to see here").await;
            world.delete_all().await;
        }
    });
}

/// A webhook that refuses whatever it is asked, with the code that is its path.
async fn refusing(world: &World) -> SocketAddr {
    let answer = |code: u16| {
        post(async move |Json(review): Json<Value>| {
            Json(json!({
                "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                "response": {
                    "uid": review["request"]["uid"], "allowed": false,
                    "status": {"code": code, "message": "nothing to see here"},
                },
            }))
        })
    };
    let router = Router::new()
        .route("/404", answer(404))
        .route("/409", answer(409));
    let listener = Https::bind(([127, 0, 0, 1], 0).into(), &world.certificates)
        .await
        .unwrap();
    let address = serve::Listener::local_addr(&listener).unwrap();
    tokio::spawn(async { serve(listener, router).await });
    address
}

fn updates() -> Value {
    json!({"apiGroups": ["task.example.io"], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": ["tasks"]})
}
