//! The registrations of the two admission webhooks.
//!
//! They carry no `caBundle`: whoever installs them knows the authority. Kubernetes' own namespace and the operator's are left out, so
//! that no webhook that is down can keep a cluster, or the operator itself, from coming up.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MutatingWebhook, MutatingWebhookConfiguration, RuleWithOperations,
    ServiceReference, ValidatingWebhook, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement, ObjectMeta,
};
use task_api_v1::names::{GROUP, PLURAL, VERSION};

use crate::{CONVERSION_PORT, CONVERSION_SERVICE, NAMESPACE};

/// The path of the webhook that gives Tasks their defaults.
pub const MUTATE_PATH: &str = "/mutate-task-example-io-v1-task";

/// The path of the webhook that judges Tasks.
pub const VALIDATE_PATH: &str = "/validate-task-example-io-v1-task";

/// The name of both registrations.
pub const NAME: &str = "tasks.task.example.io";

/// How long the API server waits for an answer, in seconds. One takes less than a millisecond.
const TIMEOUT_SECONDS: i32 = 10;

/// How long it waits for an answer that only warns.
const WARNING_TIMEOUT_SECONDS: i32 = 2;

/// The registration of the webhook that fills in defaults.
pub fn mutating() -> MutatingWebhookConfiguration {
    MutatingWebhookConfiguration {
        metadata: metadata(),
        webhooks: Some(vec![MutatingWebhook {
            name: format!("mutate.{GROUP}"),
            rules: Some(vec![rule(PLURAL, &["CREATE", "UPDATE"])]),
            client_config: client(MUTATE_PATH),
            // A webhook that comes later may add an operation, and that has defaults too.
            reinvocation_policy: Some("IfNeeded".into()),
            failure_policy: Some("Fail".into()),
            match_policy: Some("Equivalent".into()),
            namespace_selector: Some(namespaces()),
            side_effects: "None".into(),
            timeout_seconds: Some(TIMEOUT_SECONDS),
            admission_review_versions: vec!["v1".into()],
            ..MutatingWebhook::default()
        }]),
    }
}

/// The registrations of the webhook that judges.
///
/// - Whatever is created or updated is judged, or it does not come in.
/// - A write of the status is looked at only where it could lose something: where it is made at an older version, or where somebody has
///   written the Task at one. Of such a Task the API server would throw all of `managedFields` away while conversions fail, and say so only in
///   its own log; it is better that the write fails. In all other cases the controller, which writes at v1, does without the webhook.
/// - A deletion is never refused but at most warned of, so it does not wait for a webhook that is down.
///
/// The scale subresource is left to the schema, which knows the bounds of `replicas` as well.
pub fn validating() -> ValidatingWebhookConfiguration {
    let status = format!("{PLURAL}/status");
    let is_older = format!(
        "request.requestResource.version != '{VERSION}' || has(oldObject.metadata.managedFields) && \
        oldObject.metadata.managedFields.exists(entry, entry.apiVersion != '{GROUP}/{VERSION}')"
    );
    let is_running = "has(oldObject.status) && has(oldObject.status.operation) && \
        has(oldObject.status.operation.phase) && oldObject.status.operation.phase == 'Creating'";
    ValidatingWebhookConfiguration {
        metadata: metadata(),
        webhooks: Some(vec![
            judge("validate", rule(PLURAL, &["CREATE", "UPDATE"])),
            ValidatingWebhook {
                match_conditions: condition("an-older-version", &is_older),
                ..judge("validate-status", rule(&status, &["UPDATE"]))
            },
            ValidatingWebhook {
                match_conditions: condition("an-operation-is-running", is_running),
                failure_policy: Some("Ignore".into()),
                timeout_seconds: Some(WARNING_TIMEOUT_SECONDS),
                ..judge("validate-deletion", rule(PLURAL, &["DELETE"]))
            },
        ]),
    }
}

fn judge(name: &str, rule: RuleWithOperations) -> ValidatingWebhook {
    ValidatingWebhook {
        name: format!("{name}.{GROUP}"),
        rules: Some(vec![rule]),
        client_config: client(VALIDATE_PATH),
        failure_policy: Some("Fail".into()),
        match_policy: Some("Equivalent".into()),
        namespace_selector: Some(namespaces()),
        side_effects: "None".into(),
        timeout_seconds: Some(TIMEOUT_SECONDS),
        admission_review_versions: vec!["v1".into()],
        ..ValidatingWebhook::default()
    }
}

fn metadata() -> ObjectMeta {
    ObjectMeta {
        name: Some(NAME.into()),
        ..ObjectMeta::default()
    }
}

/// Objects are judged at v1; by the match policy those of another version are converted first.
fn rule(resource: &str, operations: &[&str]) -> RuleWithOperations {
    let list = |text: &str| Some(vec![text.to_owned()]);
    RuleWithOperations {
        api_groups: list(GROUP),
        api_versions: list(VERSION),
        resources: list(resource),
        operations: Some(operations.iter().map(|&name| name.to_owned()).collect()),
        scope: Some("Namespaced".into()),
    }
}

fn condition(name: &str, expression: &str) -> Option<Vec<MatchCondition>> {
    Some(vec![MatchCondition {
        name: name.into(),
        expression: expression.into(),
    }])
}

fn client(path: &str) -> WebhookClientConfig {
    WebhookClientConfig {
        service: Some(ServiceReference {
            name: CONVERSION_SERVICE.into(),
            namespace: NAMESPACE.into(),
            path: Some(path.into()),
            port: Some(CONVERSION_PORT),
        }),
        ..WebhookClientConfig::default()
    }
}

fn namespaces() -> LabelSelector {
    LabelSelector {
        match_expressions: Some(vec![LabelSelectorRequirement {
            key: "kubernetes.io/metadata.name".into(),
            operator: "NotIn".into(),
            values: Some(vec!["kube-system".into(), NAMESPACE.into()]),
        }]),
        ..LabelSelector::default()
    }
}

/// Has a webhook called at a server at `base_url` (`https://…`) instead of at a Service. `ca_pem` is the authority that the server's
/// certificate is from.
pub fn call_at(client: &mut WebhookClientConfig, base_url: &str, ca_pem: &str) {
    let path = client.service.take().and_then(|service| service.path);
    client.url = Some(format!("{base_url}{}", path.unwrap_or_default()));
    client.ca_bundle = Some(ByteString(ca_pem.into()));
}
