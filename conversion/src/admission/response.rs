//! Writing the answer to an AdmissionReview.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;
use serde_json::json;

use super::request::API_VERSION;

/// What is answered, but for the uid.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Verdict {
    /// Why the request is refused; `None` when it is not.
    pub(super) refusal: Option<Status>,
    /// The text of a JSON Patch; `None` when there is nothing to change.
    pub(super) patch: Option<String>,
    /// What the client is told although the request may go on.
    pub(super) warnings: Vec<String>,
}

impl Verdict {
    /// A refusal with an HTTP status code and its reason, as the API server names it.
    pub(super) fn refused(code: u16, reason: &str, message: String) -> Self {
        Self {
            refusal: Some(Status {
                status: Some("Failure".to_owned()),
                code: Some(code.into()),
                reason: Some(reason.to_owned()),
                message: Some(message),
                ..Status::default()
            }),
            ..Self::default()
        }
    }

    /// How many problems the refusal names.
    pub(super) fn problems(&self) -> usize {
        let details = self
            .refusal
            .as_ref()
            .and_then(|status| status.details.as_ref());
        let causes = details.and_then(|details| details.causes.as_ref());
        causes.map_or(0, Vec::len)
    }

    /// The AdmissionReview that answers the one with this uid (as it is written in JSON).
    ///
    /// The API server wants patch and patchType both or neither, and does not look at a status beside `allowed`.
    pub(super) fn review(&self, uid: &str) -> String {
        let mut response = json!({"allowed": self.refusal.is_none()});
        if let Some(status) = &self.refusal {
            response["status"] = json!(status);
        }
        if let Some(patch) = &self.patch {
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(patch));
        }
        if !self.warnings.is_empty() {
            response["warnings"] = json!(self.warnings);
        }
        let response = response.to_string();
        let members = response.trim_start_matches('{');
        format!(
            r#"{{"kind":"AdmissionReview","apiVersion":{API_VERSION},"response":{{"uid":{uid},{members}}}"#
        )
    }
}
