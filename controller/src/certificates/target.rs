//! What holds a `caBundle`: the CustomResourceDefinition of Task, for its conversion, and the two registrations of admission webhooks.

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DynamicObject;
use kube::discovery::ApiResource;
use kube::{CustomResourceExt, ResourceExt};
use serde_json::{Value, json};
use task_api_v1::Task;
use task_crds::webhooks;

use super::certificate::Certificate;

/// Annotations that begin like this ask cert-manager to write the `caBundle`: `…ca-from`, `…ca-from-secret`, `…apiserver-ca`.
const INJECT: &str = "cert-manager.io/inject-";

/// Where in a webhook's client configuration the authorities are.
const BUNDLE: &str = "caBundle";

/// A kind of object that holds a `caBundle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Definition,
    Mutating,
    Validating,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Definition, Self::Mutating, Self::Validating];

    /// How it is asked for.
    pub(super) fn resource(self) -> ApiResource {
        match self {
            Self::Definition => ApiResource::erase::<CustomResourceDefinition>(&()),
            Self::Mutating => ApiResource::erase::<MutatingWebhookConfiguration>(&()),
            Self::Validating => ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
        }
    }

    /// The name of the one object of this kind.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Definition => Task::crd_name(),
            Self::Mutating | Self::Validating => webhooks::NAME,
        }
    }
}

/// An object that holds a `caBundle`, as it was read.
#[derive(Clone, Debug)]
pub(super) struct Target {
    pub(super) kind: Kind,
    pub(super) object: DynamicObject,
}

impl Target {
    /// Whether cert-manager is asked to write the `caBundle`.
    pub(super) fn is_cert_managers(&self) -> bool {
        let mut annotations = self.object.annotations().keys();
        annotations.any(|key| key.starts_with(INJECT))
    }

    /// What the `caBundle` of each webhook holds: nothing if there is none, or it cannot be read.
    pub(super) fn bundles(&self) -> impl Iterator<Item = Vec<Certificate>> {
        self.configs().map(|(_, config)| {
            serde_json::from_value::<ByteString>(config[BUNDLE].clone())
                .ok()
                .and_then(|bundle| Certificate::all_of(&bundle.0).ok())
                .unwrap_or_default()
        })
    }

    /// The least object that, applied, makes `bundle` the `caBundle` of each webhook, and is refused if the object is any other than it was
    /// when it was read.
    pub(super) fn patch(&self, bundle: &str) -> Value {
        let config = json!({BUNDLE: ByteString(bundle.into())});
        let resource = self.kind.resource();
        let mut patch = json!({
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "metadata": {
                "name": self.kind.name(),
                "uid": self.object.metadata.uid,
                "resourceVersion": self.object.metadata.resource_version,
            },
        });
        match self.kind {
            Kind::Definition => {
                patch["spec"] = json!({"conversion": {"webhook": {"clientConfig": config}}});
            }
            Kind::Mutating | Kind::Validating => {
                let webhooks = self
                    .configs()
                    .map(|(name, _)| json!({"name": name, "clientConfig": config}));
                patch["webhooks"] = webhooks.collect();
            }
        }
        patch
    }

    /// The client configuration of each webhook, by the webhook's name.
    fn configs(&self) -> impl Iterator<Item = (&Value, &Value)> {
        let data = &self.object.data;
        let conversion = std::slice::from_ref(&data["spec"]["conversion"]["webhook"]);
        let webhooks = match self.kind {
            Kind::Definition => conversion,
            Kind::Mutating | Kind::Validating => {
                data["webhooks"].as_array().map_or(&[][..], Vec::as_slice)
            }
        };
        webhooks
            .iter()
            .filter_map(|webhook| Some((&webhook["name"], webhook.get("clientConfig")?)))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::super::authority::Authority;
    use super::*;

    fn target(kind: Kind, object: &impl serde::Serialize) -> Target {
        let mut object: DynamicObject =
            serde_json::from_value(serde_json::to_value(object).unwrap()).unwrap();
        object.metadata.uid = Some("u".into());
        object.metadata.resource_version = Some("7".into());
        Target { kind, object }
    }

    fn definition() -> Target {
        target(Kind::Definition, &task_crds::crd())
    }

    #[test]
    fn each_webhook_has_a_bundle() {
        let validating = target(Kind::Validating, &webhooks::validating());
        let count = webhooks::validating().webhooks.unwrap().len();
        assert_eq!(validating.bundles().count(), count);
        assert_eq!(definition().bundles().count(), 1);
    }

    #[test]
    fn a_definition_without_a_webhook_has_none() {
        let mut crd = task_crds::crd();
        crd.spec.conversion = None;
        assert_eq!(target(Kind::Definition, &crd).bundles().count(), 0);
    }

    #[test]
    fn a_patch_says_nothing_but_the_bundle_and_what_it_is_for() {
        assert_eq!(
            definition().patch("abc"),
            json!({
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": "tasks.task.example.io", "uid": "u", "resourceVersion": "7"},
                "spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": "YWJj"}}}},
            })
        );
        assert_eq!(
            target(Kind::Mutating, &webhooks::mutating()).patch("abc")["webhooks"],
            json!([{"name": "mutate.task.example.io", "clientConfig": {"caBundle": "YWJj"}}])
        );
    }

    #[test]
    fn a_bundle_is_read_as_it_was_written() {
        let made = Authority::new(Timestamp::UNIX_EPOCH, Duration::from_secs(60)).unwrap();
        let certificate = made.certificate();
        let mut target = definition();
        assert_eq!(target.bundles().collect::<Vec<_>>(), [[]]);
        let patch = target.patch(&certificate.pem());
        let config = &patch["spec"]["conversion"]["webhook"]["clientConfig"];
        target.object.data["spec"]["conversion"]["webhook"]["clientConfig"] = config.clone();
        assert_eq!(
            target.bundles().collect::<Vec<_>>(),
            [[certificate.clone()]]
        );
    }

    #[test]
    fn the_annotations_of_cert_manager_are_known() {
        let mut target = definition();
        assert!(!target.is_cert_managers());
        let annotations = target.object.annotations_mut();
        annotations.insert("cert-manager.io/inject-ca-from".into(), "a/b".into());
        assert!(target.is_cert_managers());
    }
}
