//! Which versions are served and stored.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use task_api_v1::names::VERSION;

use super::Step;
use crate::report::{Report, Verdict};

pub(super) fn look(crd: &CustomResourceDefinition, step: Step, report: &mut Report) {
    let versions = &crd.spec.versions;
    let list = |of: &dyn Fn(bool, bool) -> bool| -> Vec<&str> {
        versions
            .iter()
            .filter(|version| of(version.served, version.storage))
            .map(|version| version.name.as_str())
            .collect()
    };
    let served = list(&|served, _| served);
    let storage = list(&|_, storage| storage).join("");

    let verdict = match (served.contains(&VERSION), step) {
        (true, Step::V1 | Step::Uninstall) => Verdict::Ok,
        (true, Step::RemoveV1alpha1) if served.len() == 1 => Verdict::Ok,
        (true, Step::RemoveV1alpha1) => Verdict::Note,
        (false, _) => Verdict::Warn,
    };
    let advice = match verdict {
        Verdict::Warn => "; install the definition that serves v1",
        Verdict::Note => {
            "; stop serving v1alpha1 for a while before it is dropped: that can be undone"
        }
        _ => "",
    };
    report.add(
        verdict,
        "served versions",
        "",
        format!("{}{advice}", served.join(", ")),
    );

    let (verdict, advice) = match storage == VERSION {
        true => (Verdict::Ok, ""),
        false => (step.needs_old(), "; v1 is to become it"),
    };
    report.add(verdict, "storage version", "", format!("{storage}{advice}"));

    let status = crd.status.as_ref();
    let stored = status
        .and_then(|status| status.stored_versions.clone())
        .unwrap_or_default();
    let (verdict, advice) = match stored.iter().all(|version| version == VERSION) {
        true => (Verdict::Ok, ""),
        false => (
            step.needs_old(),
            "; kubectl task migrate rewrites what is stored at another version than v1",
        ),
    };
    report.add(
        verdict,
        "stored versions",
        "",
        format!("{}{advice}", stored.join(", ")),
    );
}
