//! The chart, and the manifest that is rendered from it.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod guarded;
mod helm;
mod metrics;
mod served;

use clap::Parser;
use serde_json::{Value, json};

use helm::{Release, containers, find, helm, rendered};

const CERT_MANAGER: &str = "certificates.mode=cert-manager";

/// Everything that can be switched on.
const ALL: [&str; 13] = [
    "callbacks.enabled=true",
    "callbacks.secretName=tasks",
    "nats.url=tls://nats.example:4222",
    "nats.credentialsFile=/etc/task-controller/credentials/nats/creds",
    "nats.caFile=/etc/task-controller/credentials/nats/ca.crt",
    "migration.enabled=true",
    "networkPolicy.enabled=true",
    "serviceMonitor.enabled=true",
    "prometheusRule.enabled=true",
    "dashboard.enabled=true",
    "controller.watchNamespace=shop",
    "controller.shards=4",
    "controller.credentials={volumes,reports}",
];

#[test]
fn helm_finds_nothing_to_criticise() {
    for values in [&[] as &[&str], &[CERT_MANAGER], &ALL] {
        let outcome = helm(&["lint", "--strict"], values);
        assert!(outcome.is_ok(), "{values:?}: {}", outcome.unwrap_err());
    }
}

#[test]
fn the_definition_is_the_generated_one_but_for_the_service_and_its_metadata() {
    let release = Release {
        name: "hooks",
        namespace: "ops",
    };
    let mut expected = serde_json::to_value(task_crds::crd()).unwrap();
    let service = &mut expected["spec"]["conversion"]["webhook"]["clientConfig"]["service"];
    service["name"] = json!("hooks-task-conversion");
    service["namespace"] = json!("ops");
    let objects = rendered(release, &[]);
    let mut definition = find(
        &objects,
        "CustomResourceDefinition",
        task_crds::webhooks::NAME,
    );
    let metadata = definition["metadata"].as_object_mut().unwrap();
    metadata.remove("labels");
    let annotations = metadata.remove("annotations");
    assert_eq!(
        annotations,
        Some(json!({"helm.sh/resource-policy": "keep"}))
    );
    assert_eq!(definition, expected);
}

#[test]
fn the_webhooks_are_the_generated_ones_but_for_the_service_and_the_namespace() {
    let release = Release {
        name: "hooks",
        namespace: "ops",
    };
    let objects = rendered(release, &[]);
    for expected in [
        serde_json::to_value(task_crds::webhooks::mutating()).unwrap(),
        serde_json::to_value(task_crds::webhooks::validating()).unwrap(),
    ] {
        let kind = expected["kind"].as_str().unwrap();
        let found = find(&objects, kind, task_crds::webhooks::NAME);
        let expected = expected["webhooks"]
            .to_string()
            .replace("task-conversion", "hooks-task-conversion")
            .replace("task-system", "ops");
        assert_eq!(found["webhooks"].to_string(), expected, "{kind}");
    }
}

#[test]
fn no_authority_is_rendered() {
    for values in [&[] as &[&str], &[CERT_MANAGER], &ALL] {
        for object in rendered(Release::default(), values) {
            assert!(!object.to_string().contains("\"caBundle\""), "{object:#}");
        }
    }
}

#[test]
fn cert_manager_is_told_what_to_fill_in_and_the_controller_may_not() {
    let objects = rendered(Release::default(), &[CERT_MANAGER]);
    let certificate = find(&objects, "Certificate", "task-operator-cert");
    assert_eq!(
        certificate["spec"]["issuerRef"]["name"],
        "task-operator-selfsigned"
    );
    assert_eq!(
        certificate["spec"]["dnsNames"][1],
        "task-conversion.task-system.svc"
    );
    find(&objects, "Issuer", "task-operator-selfsigned");
    for kind in [
        "CustomResourceDefinition",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    ] {
        let object = find(&objects, kind, task_crds::webhooks::NAME);
        let inject = &object["metadata"]["annotations"]["cert-manager.io/inject-ca-from"];
        assert_eq!(inject, "task-system/task-operator-cert", "{kind}");
    }
    let rules = objects.iter().filter(|object| object["rules"].is_array());
    for object in rules {
        assert!(!object.to_string().contains("\"secrets\""), "{object:#}");
    }
}

#[test]
fn both_programs_take_their_arguments() {
    for values in [&[] as &[&str], &[CERT_MANAGER], &ALL] {
        let objects = rendered(Release::default(), values);
        let args = |container: &Value| -> Vec<String> {
            let args = container["args"].as_array().unwrap().iter();
            args.map(|arg| arg.as_str().unwrap().to_owned()).collect()
        };
        for container in containers(&objects) {
            let name = container["name"].as_str().unwrap();
            let line = [vec![name.to_owned()], args(container)].concat();
            assert_eq!(container["command"], json!([format!("/{name}")]));
            match name {
                "task-controller" => {
                    let args = task_controller::Args::try_parse_from(line).unwrap();
                    args.certificates.check().unwrap();
                }
                _ => {
                    let args = task_conversion::server::Args::try_parse_from(line).unwrap();
                    args.check().unwrap();
                }
            }
        }
    }
}

#[test]
fn a_webhook_server_has_time_to_drain_and_to_end() {
    let objects = rendered(Release::default(), &["conversion.drainSeconds=25"]);
    let deployment = find(&objects, "Deployment", "task-conversion");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["terminationGracePeriodSeconds"], 65);
    assert_eq!(pod["containers"][0]["args"][2], "--drain-delay=25s");
}

#[test]
fn the_webhook_server_has_no_token_and_nothing_that_it_may_do() {
    let objects = rendered(Release::default(), &ALL);
    let deployment = find(&objects, "Deployment", "task-conversion");
    let account = find(&objects, "ServiceAccount", "task-conversion");
    assert_eq!(account["automountServiceAccountToken"], false);
    assert_eq!(
        deployment["spec"]["template"]["spec"]["automountServiceAccountToken"],
        false
    );
    let bindings = objects
        .iter()
        .filter(|object| object["subjects"].is_array());
    for binding in bindings {
        assert_ne!(
            binding["subjects"][0]["name"], "task-conversion",
            "{binding:#}"
        );
    }
}

#[test]
fn the_controller_of_one_namespace_may_do_nothing_in_others() {
    let objects = rendered(
        Release::default(),
        &[
            "controller.watchNamespace=shop",
            CERT_MANAGER,
            "rbac.aggregate=false",
            "guard.enabled=false",
        ],
    );
    let wide = objects.iter().filter(|object| {
        let kind = object["kind"].as_str().unwrap_or_default();
        kind.starts_with("ClusterRole")
    });
    assert_eq!(wide.count(), 0);
    assert_eq!(
        find(&objects, "Role", "task-controller")["metadata"]["namespace"],
        "shop"
    );
}

#[test]
fn values_that_nobody_reads_or_that_do_not_go_together_are_refused() {
    for (value, told) in [
        ("conversion.replica=3", "replica"),
        ("certificates.mode=none", "certificates"),
        ("conversion.bodyMiB=128", "conversion.inflightMiB / 3.25"),
        ("conversion.replicas=0", "replicas"),
        ("callbacks.enabled=true", "callbacks.secretName"),
        ("certificates.servingValidity=72h", "servingValidity"),
    ] {
        let error = helm(&["template", "task-operator"], &[value]).unwrap_err();
        assert!(error.contains(told), "{value}: {error}");
    }
}
