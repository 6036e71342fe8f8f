//! The Tasks of a cluster, a page at a time.

use kube::Client;
use kube::api::ListParams;
use kube::core::{ListMeta, Request, Status};
use serde::Deserialize;
use serde_json::Value;
use task_api_v1::names::{GROUP, PLURAL};

/// The Tasks of all namespaces, or of one, at a version.
#[derive(Clone)]
pub struct Tasks {
    client: Client,
    version: &'static str,
    namespace: Option<String>,
}

/// Some of the Tasks.
#[derive(Debug, Deserialize)]
pub struct Page {
    /// Of the list: how to go on, and how many remain.
    #[serde(default)]
    pub metadata: ListMeta,
    /// The Tasks, whole.
    pub items: Vec<Value>,
}

impl Page {
    /// How to ask for the next page; `None` where this is the last.
    #[must_use]
    pub fn next(&self) -> Option<&str> {
        let token = self.metadata.continue_.as_deref();
        token.filter(|token| !token.is_empty())
    }

    /// How many Tasks there are from this page on, as far as the API server tells.
    #[must_use]
    pub fn total(&self) -> u64 {
        let remaining = self.metadata.remaining_item_count.unwrap_or_default();
        self.items.len() as u64 + u64::try_from(remaining).unwrap_or_default()
    }
}

impl Tasks {
    /// Those of one namespace, or of all.
    #[must_use]
    pub fn new(client: Client, version: &'static str, namespace: Option<String>) -> Self {
        Self {
            client,
            version,
            namespace,
        }
    }

    /// The page that `from` says, or the first.
    ///
    /// Where `from` is too old the API server tells how to go on with the Tasks as they are now, from the same name on, and that is
    /// what this does: no page is given twice, and no Task that is there all the while is missed.
    ///
    /// # Errors
    /// When the API server does not give it.
    pub async fn page(&self, limit: u32, from: Option<&str>) -> kube::Result<Page> {
        let page = self.page_at(limit, from).await;
        let newer = match &page {
            Err(kube::Error::Api(status)) => newer_token(status),
            _ => None,
        };
        match newer {
            Some(newer) => self.page_at(limit, Some(newer)).await,
            None => page,
        }
    }

    async fn page_at(&self, limit: u32, from: Option<&str>) -> kube::Result<Page> {
        let params = ListParams {
            continue_token: from.map(str::to_owned),
            ..ListParams::default().limit(limit)
        };
        let path = self.path(self.namespace.as_deref());
        let request = Request::new(path).list(&params);
        self.client
            .request(request.map_err(kube::Error::BuildRequest)?)
            .await
    }

    /// One Task; `None` where there is none.
    ///
    /// # Errors
    /// When the API server does not give it, or does not serve the version.
    pub async fn get(&self, namespace: &str, name: &str) -> kube::Result<Option<Value>> {
        let request = Request::new(self.path(Some(namespace)));
        let request = request.get(name, &kube::api::GetParams::default());
        let request = request.map_err(kube::Error::BuildRequest)?;
        match self.client.request(request).await {
            Err(kube::Error::Api(status)) if names_object(&status) => Ok(None),
            other => other.map(Some),
        }
    }

    /// The path of the list of a namespace, or of all.
    #[must_use]
    pub fn path(&self, namespace: Option<&str>) -> String {
        let version = self.version;
        match namespace {
            Some(namespace) => format!("/apis/{GROUP}/{version}/namespaces/{namespace}/{PLURAL}"),
            None => format!("/apis/{GROUP}/{version}/{PLURAL}"),
        }
    }
}

/// How to go on with a list whose token is too old: the answer says it (`ResourceExpired` in the API concepts, "410 Gone").
fn newer_token(status: &Status) -> Option<&str> {
    let metadata = status.metadata.as_ref().filter(|_| status.code == 410)?;
    let token = metadata.continue_.as_deref();
    token.filter(|token| !token.is_empty())
}

/// Whether it is the object that was not found: of a version that is not served the API server names none.
fn names_object(status: &Status) -> bool {
    let details = status.details.as_ref();
    status.code == 404 && details.is_some_and(|details| !details.name.is_empty())
}

/// Namespace and name of an object.
#[must_use]
pub fn names(object: &Value) -> (&str, &str) {
    let text = |name| object["metadata"][name].as_str().unwrap_or_default();
    (text("namespace"), text("name"))
}

/// Namespace and name of an object, as people write them.
#[must_use]
pub fn full_name(object: &Value) -> String {
    let (namespace, name) = names(object);
    format!("{namespace}/{name}")
}

/// Whether the first resource version is newer than the second: both are decimal numbers of any length (KEP-5504).
#[must_use]
pub fn is_newer(version: &str, than: &str) -> bool {
    (version.len(), version) > (than.len(), than)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_list_whose_token_is_too_old_goes_on_with_the_one_that_is_told() {
        for (code, token, newer) in [(410, "t", Some("t")), (410, "", None), (500, "t", None)] {
            let status = json!({"code": code, "metadata": {"continue": token}});
            let status = serde_json::from_value(status).unwrap();
            assert_eq!(newer_token(&status), newer, "{code} {token}");
        }
    }

    #[test]
    fn a_version_that_is_not_served_is_not_an_object_that_is_not_there() {
        let object = json!({"code": 404, "details": {"name": "a", "kind": "tasks"}});
        assert!(names_object(&serde_json::from_value(object).unwrap()));
        let version = Status::failure("404 page not found", "").with_code(404);
        assert!(!names_object(&version));
    }

    #[test]
    fn resource_versions_are_compared_as_numbers() {
        for (a, b, newer) in [
            ("10", "9", true),
            ("9", "10", false),
            ("7", "7", false),
            ("18446744073709551617", "18446744073709551616", true),
        ] {
            assert_eq!(is_newer(a, b), newer, "{a} {b}");
        }
    }
}
