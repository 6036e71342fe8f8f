//! Whether the API server gets Tasks converted, and would tomorrow.

use std::collections::BTreeSet;
use std::time::Duration;

use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, ServiceReference,
};
use k8s_openapi::jiff::Timestamp;
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::json;
use task_api_v1::names::{GROUP, KIND, PLURAL};

use super::certificate;
use crate::report::{Report, Verdict};

/// While none answers nobody reads or writes a Task, so there should be more than one.
const ENOUGH: usize = 2;

pub(super) async fn look(
    client: &Client,
    crd: &CustomResourceDefinition,
    expiring: Duration,
    report: &mut Report,
) {
    let versions = versions(crd);
    if versions.len() < 2 {
        report.add(
            Verdict::Ok,
            "webhook",
            "",
            "one version only is served and stored, so nothing is converted",
        );
        return;
    }
    let versions = versions.into_iter().collect::<Vec<_>>().join(" and ");
    let conversion = crd.spec.conversion.as_ref();
    let webhook = conversion.and_then(|conversion| conversion.webhook.as_ref());
    let Some(config) = webhook.and_then(|webhook| webhook.client_config.as_ref()) else {
        report.add(
            Verdict::Loss,
            "webhook",
            "",
            format!(
                "Tasks are served or stored at {versions} and none converts: the API server drops the fields that the other version does not have"
            ),
        );
        return;
    };
    let mut served = crd.spec.versions.iter().filter(|version| version.served);
    match served.find(|version| !version.storage) {
        Some(other) => converts(client, &other.name, report).await,
        None => report.add(
            Verdict::Note,
            "webhook",
            "",
            format!("it was not tried, as the only version served is that of storage; Tasks are stored at {versions}"),
        ),
    }
    let bundle = config.ca_bundle.as_ref().map(|bundle| bundle.0.as_slice());
    match bundle {
        None => report.add(
            Verdict::Note,
            "authority",
            "",
            "there is no caBundle: the API server trusts the authorities of its own machine",
        ),
        Some(bundle) => {
            let (verdict, text) = certificate::judge(bundle, Timestamp::now(), expiring);
            report.add(verdict, "authority", "", text);
        }
    }
    match &config.service {
        Some(service) => endpoints(client, service, report).await,
        None => report.add(
            Verdict::Note,
            "endpoints",
            config.url.clone().unwrap_or_default(),
            "it is called by its URL, so it cannot be told how many answer there",
        ),
    }
}

/// The versions that Tasks are read, written or stored at: of more than one, some have to be converted.
fn versions(crd: &CustomResourceDefinition) -> BTreeSet<&str> {
    let versions = crd.spec.versions.iter();
    let used = versions.filter(|version| version.served || version.storage);
    let status = crd.status.as_ref();
    let stored = status.and_then(|status| status.stored_versions.as_ref());
    let stored = stored.into_iter().flatten().map(String::as_str);
    used.map(|version| version.name.as_str())
        .chain(stored)
        .collect()
}

/// Has the API server judge a new Task at a version that is not stored, so that it has to convert it, and store nothing.
async fn converts(client: &Client, version: &str, report: &mut Report) {
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, version, KIND), PLURAL);
    let mut task = DynamicObject::new("kubectl-task-check", &resource);
    task.data = json!({"spec": {}});
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
    match api.create(&params, &task).await {
        Ok(_) => report.add(
            Verdict::Ok,
            "webhook",
            "",
            format!("the API server gets a Task of {version} converted"),
        ),
        Err(kube::Error::Api(status)) if status.is_forbidden() => report.add(
            Verdict::Note,
            "webhook",
            "",
            format!(
                "it was not tried, as you may not create Tasks: {}",
                status.message
            ),
        ),
        Err(error) => {
            let error = error.to_string();
            let advice = if error.contains("x509") || error.contains("certificate") {
                ": the caBundle is not that of the authority whose certificate the webhook has"
            } else {
                ""
            };
            report.add(
                Verdict::Warn,
                "webhook",
                "",
                format!("the API server gets no Task converted{advice}: {error}"),
            );
        }
    }
}

async fn endpoints(client: &Client, service: &ServiceReference, report: &mut Report) {
    let name = format!("{}/{}", service.namespace, service.name);
    let api: Api<EndpointSlice> = Api::namespaced(client.clone(), &service.namespace);
    let params =
        ListParams::default().labels(&format!("kubernetes.io/service-name={}", service.name));
    match api.list(&params).await {
        Ok(slices) => {
            let ready = ready(&slices.items);
            let verdict = if ready < ENOUGH {
                Verdict::Warn
            } else {
                Verdict::Ok
            };
            report.add(
                verdict,
                "endpoints",
                name,
                format!("{ready} ready; {ENOUGH} or more should be"),
            );
        }
        Err(error) => report.add(
            Verdict::Note,
            "endpoints",
            name,
            format!("they cannot be counted: {error}"),
        ),
    }
}

/// How many addresses are ready; each is in one slice for IPv4 and in another for IPv6.
fn ready(slices: &[EndpointSlice]) -> usize {
    let count = |family: &str| {
        let slices = slices.iter().filter(|slice| slice.address_type == family);
        let endpoints = slices.flat_map(|slice| slice.endpoints.iter().flatten());
        // Not told is ready.
        let ready = endpoints.filter(|endpoint| {
            let conditions = endpoint.conditions.as_ref();
            conditions
                .and_then(|conditions| conditions.ready)
                .unwrap_or(true)
        });
        ready
            .map(|endpoint| endpoint.addresses.len())
            .sum::<usize>()
    };
    count("IPv4").max(count("IPv6"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(family: &str, ready: &[Option<bool>]) -> EndpointSlice {
        let endpoints: Vec<_> = ready
            .iter()
            .map(|ready| json!({"addresses": ["a"], "conditions": {"ready": ready}}))
            .collect();
        serde_json::from_value(
            json!({"addressType": family, "endpoints": endpoints, "metadata": {}}),
        )
        .unwrap()
    }

    #[test]
    fn whatever_is_served_or_stored_may_have_to_be_converted() {
        for (served, stored, expected) in [
            (["v1", "v1alpha1"], vec!["v1"], 2),
            (["v1", "v1"], vec!["v1"], 1),
            (["v1", "v1"], vec!["v1", "v1alpha1"], 2),
        ] {
            let mut crd = task_crds::crd();
            for version in &mut crd.spec.versions {
                version.served = served.contains(&version.name.as_str());
                version.storage = version.name == "v1";
            }
            let stored = stored.into_iter().map(str::to_owned).collect();
            crd.status.get_or_insert_default().stored_versions = Some(stored);
            assert_eq!(versions(&crd).len(), expected, "{served:?}");
        }
        let mut crd = task_crds::crd();
        for version in &mut crd.spec.versions {
            version.served = version.name == "v1";
            version.storage = version.name == "v1alpha1";
        }
        assert_eq!(versions(&crd).len(), 2);
    }

    #[test]
    fn an_address_counts_once_and_where_it_is_ready() {
        let slices = [
            slice("IPv4", &[Some(true), None, Some(false)]),
            slice("IPv4", &[Some(true)]),
            slice("IPv6", &[Some(true), Some(true)]),
        ];
        assert_eq!(ready(&slices), 3);
        assert_eq!(ready(&[]), 0);
    }
}
