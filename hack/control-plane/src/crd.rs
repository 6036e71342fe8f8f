//! Installing a CustomResourceDefinition whose conversion webhook runs on this machine.

use std::time::Duration;

use k8s_openapi::{
    ByteString,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::{
        CustomResourceConversion, CustomResourceDefinition, WebhookClientConfig, WebhookConversion,
    },
};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use tokio::time::{Instant, sleep};

const FIELD_MANAGER: &str = "control-plane";
const DEADLINE: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);

/// Why a CustomResourceDefinition was not installed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server refused it or could not be reached.
    #[error("cannot install the CustomResourceDefinition {name}")]
    Apply {
        /// Its name.
        name: String,
        /// What the API server said.
        #[source]
        source: Box<kube::Error>,
    },
    /// It was stored but is not served, or its schema is not structural.
    #[error("the CustomResourceDefinition {name} is not established: {conditions}")]
    NotEstablished {
        /// Its name.
        name: String,
        /// The conditions that stand against it.
        conditions: String,
    },
}

/// Points the conversion webhook of `crd` at `https://…` on this machine instead of at a Service.
///
/// `ca_pem` is the authority that the server's certificate is from.
pub fn convert_at(crd: &mut CustomResourceDefinition, url: &str, ca_pem: &str) {
    crd.spec.conversion = Some(CustomResourceConversion {
        strategy: "Webhook".into(),
        webhook: Some(WebhookConversion {
            client_config: Some(WebhookClientConfig {
                url: Some(url.into()),
                ca_bundle: Some(ByteString(ca_pem.into())),
                service: None,
            }),
            conversion_review_versions: vec!["v1".into()],
        }),
    });
}

/// Applies `crd` (server-side, forced) and waits until the API server serves it and finds no fault with its schema.
///
/// # Errors
/// When it is refused, or not established within half a minute.
pub async fn install(client: Client, crd: &CustomResourceDefinition) -> Result<(), Error> {
    let name = crd.name_any();
    let api = Api::<CustomResourceDefinition>::all(client);
    let apply_error = |source| Error::Apply {
        name: name.clone(),
        source: Box::new(source),
    };
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(&name, &params, &Patch::Apply(crd))
        .await
        .map_err(apply_error)?;
    let deadline = Instant::now() + DEADLINE;
    loop {
        let stored = api.get(&name).await.map_err(apply_error)?;
        let faults = faults(&stored);
        if faults.is_empty() {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Error::NotEstablished {
                name,
                conditions: faults.join("; "),
            });
        }
        sleep(POLL).await;
    }
}

/// What stands between `crd` and being served.
fn faults(crd: &CustomResourceDefinition) -> Vec<String> {
    let conditions = crd
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    let (good, bad): (Vec<_>, Vec<_>) =
        conditions.partition(|condition| !condition.type_.starts_with("NonStructural"));
    let mut faults: Vec<_> = ["NamesAccepted", "Established"]
        .into_iter()
        .filter(|type_| !good.iter().any(|c| c.type_ == *type_ && c.status == "True"))
        .map(|type_| match good.iter().find(|c| c.type_ == type_) {
            Some(c) => format!("{type_}: {}", c.message.as_deref().unwrap_or(&c.status)),
            None => format!("{type_}: not said yet"),
        })
        .collect();
    faults.extend(
        bad.iter()
            .filter(|c| c.status == "True")
            .map(|c| format!("{}: {}", c.type_, c.message.as_deref().unwrap_or_default())),
    );
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn crd(conditions: serde_json::Value) -> CustomResourceDefinition {
        serde_json::from_value(json!({
            "metadata": {"name": "things.example.io"},
            "spec": {
                "group": "example.io", "scope": "Namespaced", "versions": [],
                "names": {"kind": "Thing", "plural": "things"},
            },
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn an_established_crd_with_accepted_names_is_without_fault() {
        let crd = crd(json!([
            {"type": "NamesAccepted", "status": "True"},
            {"type": "Established", "status": "True"},
        ]));
        assert_eq!(faults(&crd), Vec::<String>::new());
    }

    #[test]
    fn a_schema_that_is_not_structural_is_a_fault() {
        let crd = crd(json!([
            {"type": "NamesAccepted", "status": "True"},
            {"type": "Established", "status": "True"},
            {"type": "NonStructuralSchema", "status": "True", "message": "type: Required"},
        ]));
        assert_eq!(faults(&crd), ["NonStructuralSchema: type: Required"]);
    }

    #[test]
    fn silence_is_a_fault() {
        assert_eq!(faults(&crd(json!([]))).len(), 2);
    }
}
