//! `kubectl task check`.

use control_plane::certificates::Authority;
use http::Method;
use k8s_openapi::ByteString;
use serde_json::{Value, json};

use crate::world::{Ended, NAMESPACE, RUNTIME, World};

const JSON: &str = "application/json";

/// The verdicts and messages of a check, by its name.
fn findings(ended: &Ended, check: &str) -> Vec<(String, String)> {
    let report: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let text = |finding: &Value, name: &str| finding[name].as_str().unwrap().to_owned();
    report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|finding| finding["check"] == check)
        .map(|finding| (text(finding, "verdict"), text(finding, "message")))
        .collect()
}

fn verdict(ended: &Ended, check: &str) -> String {
    let findings = findings(ended, check);
    assert_eq!(findings.len(), 1, "{check}: {ended:?}");
    findings[0].0.clone()
}

#[test]
fn a_cluster_that_serves_both_versions_is_ready_for_v1_and_not_for_dropping_v1alpha1() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(300).await;
        world.store_at("v1").await;
        let last_applied = json!({"metadata": {"annotations": {"kubectl.kubernetes.io/last-applied-configuration":
            r#"{"apiVersion":"task.example.io/v1alpha1","kind":"Task"}"#}}});
        let path = World::path("v1", "/task-00007");
        world.send(Method::PATCH, "application/merge-patch+json", &path, &last_applied).await.unwrap();
        let release = json!({
            "apiVersion": "v1", "kind": "Secret", "type": "helm.sh/release.v1",
            "metadata": {"name": "sh.helm.release.v1.shop.v1", "labels": {"owner": "helm", "status": "deployed", "name": "shop"}},
            "data": {"release": RELEASE},
        });
        let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        world.send(Method::POST, JSON, &secrets, &release).await.unwrap();

        let ready = world.run(&["check", "-o", "json"]).await;
        let not_ready = world.run(&["check", "--for=remove-v1alpha1", "-o", "json"]).await;
        world.migrate(&["--yes", "--qps=0"]).await;
        let after = world.run(&["check", "--for=remove-v1alpha1", "-o", "json"]).await;

        let secret = format!("{secrets}/sh.helm.release.v1.shop.v1");
        world.send(Method::DELETE, JSON, &secret, &Value::Null).await.unwrap();
        assert_eq!(ready.code, Some(0), "{ready:?}");
        for check in ["served versions", "storage version", "webhook", "authority", "conversion"] {
            assert_eq!(verdict(&ready, check), "ok", "{check}");
        }
        assert!(findings(&ready, "conversion")[0].1.contains("all 300 Tasks"), "{ready:?}");
        assert_eq!(findings(&ready, "schema").len(), 2);
        assert_eq!(not_ready.code, Some(1), "{not_ready:?}");
        for check in ["stored versions", "managed fields", "last applied", "helm"] {
            assert_eq!(verdict(&ready, check), "note", "{check}");
            assert_eq!(verdict(&not_ready, check), "warn", "{check}");
        }
        for check in ["stored versions", "managed fields"] {
            assert_eq!(verdict(&after, check), "ok", "{check}: {after:?}");
        }
    });
}

/// `{"manifest":"apiVersion: task.example.io/v1alpha1\nkind: Task\nmetadata:\n  name: a\n"}` as Helm stores it: zipped, in base64, and in
/// base64 again as the data of a Secret are.
const RELEASE: &str = include_str!("release.txt");

#[test]
fn a_webhook_that_does_not_answer_is_a_finding_and_can_be_waited_for() {
    let mut world = World::take();
    RUNTIME.block_on(async {
        world.store_at("v1").await;
        world.conversion.process_mut().kill();

        let broken = world.run(&["check", "-o", "json"]).await;
        let waited = world.run(&["check", "--wait", "--timeout=1s"]).await;
        world.conversion.process_mut().restart().unwrap();
        let waited_longer = world.run(&["check", "--wait", "--timeout=60s"]).await;

        assert_eq!(broken.code, Some(1), "{broken:?}");
        assert_eq!(verdict(&broken, "webhook"), "warn");
        assert_eq!(waited.code, Some(124), "{waited:?}");
        assert_eq!(waited_longer.code, Some(0), "{waited_longer:?}");
    });
}

#[test]
fn an_authority_that_is_not_the_webhooks_is_told_as_such() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.store_at("v1").await;
        let stranger = Authority::new("stranger").unwrap().cert_pem();
        world
            .change_definition(|definition| {
                let conversion = definition.spec.conversion.as_mut().unwrap();
                let webhook = conversion.webhook.as_mut().unwrap();
                let client = webhook.client_config.as_mut().unwrap();
                client.ca_bundle = Some(ByteString(stranger.into_bytes()));
            })
            .await;
        world
            .until("it is told", async || {
                let ended = world.run(&["check", "-o", "json"]).await;
                let webhook = findings(&ended, "webhook");
                ended.code == Some(1)
                    && webhook[0]
                        .1
                        .contains("the caBundle is not that of the authority")
            })
            .await;
    });
}

#[test]
fn a_definition_that_would_take_a_field_away_is_a_loss() {
    let world = World::take();
    RUNTIME.block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("crd.yaml");
        let new = task_crds::yaml().replace(" image:\n", " picture:\n");
        std::fs::write(&file, new).unwrap();

        let ended = world
            .run(&[
                "check",
                "--crd",
                file.to_str().unwrap(),
                "-o",
                "json",
                "--fail-on=loss",
            ])
            .await;

        assert_eq!(ended.code, Some(1), "{ended:?}");
        let schema = findings(&ended, "schema");
        assert!(
            schema
                .iter()
                .any(|(verdict, message)| verdict == "loss" && message.contains("is gone")),
            "{schema:?}"
        );
    });
}
