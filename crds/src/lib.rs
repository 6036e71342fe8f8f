//! What has to be registered with the API server: the CustomResourceDefinition of Task and its [`webhooks`].
//!
//! One definition holds both versions. [`crd`] builds it from the API types; [`files`] gives the files beside this crate, which are
//! what gets installed. A test fails when they differ.

pub mod webhooks;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceConversion, CustomResourceDefinition, JSONSchemaProps, ServiceReference,
    WebhookClientConfig, WebhookConversion,
};
use kube::CustomResourceExt;
use serde::Serialize;

/// The namespace that the operator runs in.
pub const NAMESPACE: &str = "task-system";

/// The Service of the conversion webhook, in [`NAMESPACE`].
pub const CONVERSION_SERVICE: &str = "task-conversion";

/// The path of the conversion webhook.
pub const CONVERSION_PATH: &str = "/convert";

/// The port of the conversion webhook's Service.
pub const CONVERSION_PORT: i32 = 443;

const HEADER: &str = "# Generated from the API types by `make generate`. Do not edit.\n";

/// The definition of Task: v1, served and stored, and v1alpha1, served and deprecated, with the
/// webhook that converts between them.
///
/// The webhook carries no `caBundle`: whoever installs the definition knows the authority.
pub fn crd() -> CustomResourceDefinition {
    // Not kube's merge_crds: that takes names, annotations and labels from the stored version alone
    // and cannot set a conversion. Names are of the resource, not of a version, so the versions must
    // agree on them; a test holds them to it.
    let mut crd = task_api_v1::Task::crd();
    crd.spec
        .versions
        .extend(task_api_v1alpha1::Task::crd().spec.versions);
    crd.spec.names.list_kind = Some("TaskList".into());
    crd.spec.conversion = Some(conversion());

    crd.spec
        .versions
        .iter_mut()
        .filter_map(|version| version.schema.as_mut()?.open_api_v3_schema.as_mut())
        .for_each(finish_root);
    crd
}

/// Mends what the derive writes at the root of a version's schema, where the types have no say.
fn finish_root(root: &mut JSONSchemaProps) {
    // It repeats the kind.
    root.title = None;
    // All of the spec has defaults: nothing need be written.
    root.required = None;
    // A status is absent or an object, never null.
    if let Some(status) = root
        .properties
        .as_mut()
        .and_then(|fields| fields.get_mut("status"))
    {
        status.nullable = None;
    }
}

/// The generated files beside this crate: the name and the text of each, the same text each time.
pub fn files() -> [(&'static str, String); 2] {
    let webhooks = [
        document(&webhooks::mutating()),
        document(&webhooks::validating()),
    ];
    [
        ("tasks.task.example.io.yaml", yaml()),
        (
            "webhooks.yaml",
            format!("{HEADER}{}", webhooks.join("---\n")),
        ),
    ]
}

/// The definition as a YAML file; the same text each time.
pub fn yaml() -> String {
    format!("{HEADER}{}", document(&crd()))
}

fn document(object: &impl Serialize) -> String {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: 100 };
    match serde_saphyr::to_string_with_options(object, options) {
        Ok(text) => text,
        Err(error) => unreachable!("plain data always has a form in YAML: {error}"),
    }
}

fn conversion() -> CustomResourceConversion {
    CustomResourceConversion {
        strategy: "Webhook".into(),
        webhook: Some(WebhookConversion {
            client_config: Some(WebhookClientConfig {
                service: Some(ServiceReference {
                    name: CONVERSION_SERVICE.into(),
                    namespace: NAMESPACE.into(),
                    path: Some(CONVERSION_PATH.into()),
                    port: Some(CONVERSION_PORT),
                }),
                ..WebhookClientConfig::default()
            }),
            conversion_review_versions: vec!["v1".into()],
        }),
    }
}
