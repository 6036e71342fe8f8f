//! Which Helm releases name v1alpha1: the next upgrade of such a release asks the API server for that version.

use std::io::Read;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::GzDecoder;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::Value;
use task_api_v1::names::{GROUP, VERSION};

use super::Step;
use crate::cluster::told;
use crate::convert::object::{is_list, is_task, named_by_list};
use crate::manifest::{self, Document, documents, read};
use crate::report::{Report, Verdict};

/// A release may be a megabyte; so few are held in memory.
const PAGE: u32 = 20;

/// What a release may unfold to: a Secret holds a megabyte, and what it unfolds to is written by whoever may write Secrets.
const MAX_RELEASE: u64 = 64 * 1024 * 1024;

pub(super) async fn look(client: &Client, step: Step, report: &mut Report) {
    let api: Api<Secret> = Api::all(client.clone());
    // Helm marks the release that an upgrade starts from.
    let base = ListParams::default()
        .fields("type=helm.sh/release.v1")
        .labels("owner=helm,status=deployed")
        .limit(PAGE);
    let mut params = base.clone();
    let mut found = false;
    loop {
        let page = match api.list(&params).await {
            Ok(page) => page,
            Err(error) => {
                let why = told(&error);
                report.add(
                    step.needs_old(),
                    "helm",
                    "",
                    format!("the releases cannot be read: {why}"),
                );
                return;
            }
        };
        for secret in &page.items {
            let message = match tasks_of_old_version(secret) {
                Some(0) => continue,
                Some(count) => format!(
                    "the deployed release has {count} Tasks of v1alpha1; upgrade it with a chart that has v1 while both are served"
                ),
                None => "the deployed release cannot be read, so it may have Tasks of v1alpha1"
                    .to_owned(),
            };
            found = true;
            let labels = secret.labels();
            let name = labels.get("name").map(String::as_str).unwrap_or_default();
            let subject = format!("{}/{name}", secret.namespace().unwrap_or_default());
            report.add(step.needs_old(), "helm", subject, message);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = base.clone().continue_token(&token),
            None => break,
        }
    }
    if !found {
        report.add(
            Verdict::Ok,
            "helm",
            "",
            "no deployed release has a Task of another version than v1",
        );
    }
}

/// How many Tasks of a version other than v1 a release has; `None` where it cannot be read.
fn tasks_of_old_version(secret: &Secret) -> Option<usize> {
    let release = &secret.data.as_ref()?.get("release")?.0;
    let mut json = Vec::new();
    let zipped = BASE64_STANDARD.decode(release).ok()?;
    GzDecoder::new(zipped.as_slice())
        .take(MAX_RELEASE)
        .read_to_end(&mut json)
        .ok()?;
    let release: Value = serde_json::from_slice(&json).ok()?;
    let mut old = 0;
    for part in documents(release["manifest"].as_str()?) {
        if matches!(part, Document::Between(_)) {
            continue;
        }
        let document = read::read(part.text()).ok()?;
        old += document.as_ref().map_or(0, old_in);
    }
    Some(old)
}

/// How many Tasks of a version other than v1 a document is or lists.
fn old_in(document: &manifest::Value) -> usize {
    if is_list(document) {
        let items = document.get("items").and_then(manifest::Value::items);
        return items
            .into_iter()
            .flatten()
            .map(|item| match named_by_list(document, item) {
                Some(named) => old_in(&named),
                None => old_in(item),
            })
            .sum();
    }
    let is_new = document.text("apiVersion") == Some(&format!("{GROUP}/{VERSION}"));
    usize::from(is_task(document) && !is_new)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;
    use k8s_openapi::ByteString;
    use serde_json::json;

    use super::*;

    fn secret(manifest: &str) -> Secret {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder
            .write_all(json!({"manifest": manifest}).to_string().as_bytes())
            .unwrap();
        let release = BASE64_STANDARD.encode(encoder.finish().unwrap());
        Secret {
            data: Some([("release".to_owned(), ByteString(release.into_bytes()))].into()),
            ..Secret::default()
        }
    }

    #[test]
    fn the_tasks_of_v1alpha1_in_a_release_are_counted() {
        let manifest = "---\n# Source: a\nkind: Pod\n---\napiVersion: task.example.io/v1alpha1\nkind: Task\n---\napiVersion: task.example.io/v1\nkind: Task\n";
        assert_eq!(tasks_of_old_version(&secret(manifest)), Some(1));
        assert_eq!(tasks_of_old_version(&Secret::default()), None);
        assert_eq!(tasks_of_old_version(&secret("a: {{ .b }}: c")), None);
    }

    #[test]
    fn so_are_those_in_a_list() {
        let manifest = "apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n- {apiVersion: task.example.io/v1alpha1, kind: Task}\n- {apiVersion: task.example.io/v1, kind: Task}\n- {apiVersion: task.example.io/v1alpha1, kind: TaskList, items: [{metadata: {name: a}}]}\n";
        assert_eq!(tasks_of_old_version(&secret(manifest)), Some(2));
    }
}
