//! Registering Task and its webhooks with the API server.

use std::{future::Future, time::Duration};

use control_plane::crd;
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use kube::{
    Api, Client,
    api::{
        ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
    },
};
use serde_json::{Value, json};
use task_api_v1::{
    names::{GROUP, KIND, PLURAL},
    rules::PARAMETERS_DEPTH_MAX,
};
use task_crds::webhooks;
use tokio::time::{Instant, sleep};

use crate::Webhook;

const FIELD_MANAGER: &str = "local-operator";
const DEADLINE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(100);

/// Why Task or its webhooks are not registered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The CustomResourceDefinition is not installed.
    #[error(transparent)]
    Crd(#[from] crd::Error),
    /// The API server refused to register or to forget the admission webhooks, or could not be reached.
    #[error("cannot change the registration of the admission webhooks")]
    Admission(#[source] Box<kube::Error>),
    /// It did not begin to do as it was told.
    #[error("the API server does not {what} after {} s: {last}", DEADLINE.as_secs())]
    Deadline {
        /// What it was to do.
        what: &'static str,
        /// What it did instead.
        last: String,
    },
}

fn admission_error(source: kube::Error) -> Error {
    Error::Admission(Box::new(source))
}

impl Webhook {
    /// Installs the CustomResourceDefinition and, once conversions are answered, the admission webhooks: while they are registered and do
    /// not answer, nobody can write a Task. Returns when the API server converts and calls them.
    ///
    /// # Errors
    /// When something is refused, or task-conversion does not answer within a minute.
    pub async fn install(&self, client: Client) -> Result<(), Error> {
        crd::install(client.clone(), &self.definition()).await?;
        until("convert Tasks", || async {
            let converted = try_out(&client, "v1alpha1", json!({})).await;
            converted.map_err(|error| error.to_string())
        })
        .await?;
        self.install_admission(client).await
    }

    /// Registers the admission webhooks, and returns when the API server calls them.
    ///
    /// # Errors
    /// When they are refused, or not called within a minute.
    pub async fn install_admission(&self, client: Client) -> Result<(), Error> {
        let (mutating, validating) = self.admission();
        let params = PatchParams::apply(FIELD_MANAGER).force();
        Api::<MutatingWebhookConfiguration>::all(client.clone())
            .patch(webhooks::NAME, &params, &Patch::Apply(mutating))
            .await
            .map_err(admission_error)?;
        Api::<ValidatingWebhookConfiguration>::all(client.clone())
            .patch(webhooks::NAME, &params, &Patch::Apply(validating))
            .await
            .map_err(admission_error)?;
        // What the mutating one does to a new Task is what everybody who reads it would do. It comes first, and takes no longer to notice.
        until("call the admission webhooks", || async {
            let judged = is_judged(&client).await?;
            judged
                .then_some(())
                .ok_or_else(|| "they are not called".into())
        })
        .await
    }

    /// Takes the admission webhooks away, so that something can be stored that they refuse, and returns when they are not called any more.
    ///
    /// # Errors
    /// When the API server refuses, or still calls them after a minute.
    pub async fn remove_admission(&self, client: Client) -> Result<(), Error> {
        let params = DeleteParams::default();
        Api::<MutatingWebhookConfiguration>::all(client.clone())
            .delete(webhooks::NAME, &params)
            .await
            .map_err(admission_error)?;
        Api::<ValidatingWebhookConfiguration>::all(client.clone())
            .delete(webhooks::NAME, &params)
            .await
            .map_err(admission_error)?;
        until("leave the admission webhooks alone", || async {
            let judged = is_judged(&client).await?;
            (!judged)
                .then_some(())
                .ok_or_else(|| "they are called".into())
        })
        .await
    }

    /// The registrations of the admission webhooks, called at this server.
    fn admission(&self) -> (MutatingWebhookConfiguration, ValidatingWebhookConfiguration) {
        let (mut mutating, mut validating) = (webhooks::mutating(), webhooks::validating());
        let mutators = mutating.webhooks.iter_mut().flatten();
        let judges = validating.webhooks.iter_mut().flatten();
        let clients = mutators
            .map(|webhook| &mut webhook.client_config)
            .chain(judges.map(|webhook| &mut webhook.client_config));
        for client in clients {
            webhooks::call_at(client, self.base_url(), self.authority_pem());
        }
        (mutating, validating)
    }
}

/// Whether the API server has Tasks judged: it takes a moment to notice a registration.
async fn is_judged(client: &Client) -> Result<bool, String> {
    // No schema refuses what nests too deep.
    let deep = (0..PARAMETERS_DEPTH_MAX).fold(json!([]), |inner, _| json!([inner]));
    let operation = json!({"provider": "p", "parameters": {"deep": deep}});
    match try_out(client, "v1", json!({"operation": operation})).await {
        Ok(_) => Ok(false),
        Err(kube::Error::Api(status)) if status.is_invalid() => Ok(true),
        Err(error) => Err(error.to_string()),
    }
}

/// Creates a Task in a dry run.
async fn try_out(client: &Client, version: &str, spec: Value) -> kube::Result<DynamicObject> {
    let kind = GroupVersionKind::gvk(GROUP, version, KIND);
    let resource = ApiResource::from_gvk_with_plural(&kind, PLURAL);
    let mut task = DynamicObject::new("tried-out", &resource);
    task.data = json!({"spec": spec});
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    Api::<DynamicObject>::default_namespaced_with(client.clone(), &resource)
        .create(&params, &task)
        .await
}

/// Waits until `check` succeeds.
async fn until<T, F>(what: &'static str, check: impl Fn() -> F) -> Result<(), Error>
where
    F: Future<Output = Result<T, String>>,
{
    let deadline = Instant::now() + DEADLINE;
    loop {
        let last = match check().await {
            Ok(_) => return Ok(()),
            Err(last) => last,
        };
        if Instant::now() >= deadline {
            return Err(Error::Deadline { what, last });
        }
        sleep(POLL).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_admission_webhook_is_called_at_the_server_and_trusts_its_certificate() {
        let folder = tempfile::tempdir().unwrap();
        crate::issue_certificates(folder.path()).unwrap();
        let webhook = Webhook::of(([127, 0, 0, 1], 8443).into(), folder.path()).unwrap();

        let (mutating, validating) = webhook.admission();
        let mutators = mutating.webhooks.unwrap();
        let judges = validating.webhooks.unwrap();
        let clients: Vec<_> = mutators
            .into_iter()
            .map(|webhook| webhook.client_config)
            .chain(judges.into_iter().map(|webhook| webhook.client_config))
            .collect();
        assert_eq!(clients.len(), 4);
        for client in clients {
            let url = client.url.unwrap();
            assert!(url.starts_with("https://127.0.0.1:8443/"), "{url}");
            let bundle = String::from_utf8(client.ca_bundle.unwrap().0).unwrap();
            assert_eq!(bundle, webhook.authority_pem());
        }
    }
}
