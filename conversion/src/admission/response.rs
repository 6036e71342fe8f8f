//! Writing the answer to an AdmissionReview.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use json_patch::Patch;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Status, StatusCause, StatusDetails};
use serde_json::json;
use task_api_v1::names::{GROUP, KIND};
use task_api_v1::problem::Problem;

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
    /// Permission, with a patch that is left out when it is empty.
    pub(super) fn patched(patch: &Patch) -> Self {
        Self {
            patch: (!patch.0.is_empty()).then(|| json!(patch).to_string()),
            ..Self::default()
        }
    }

    /// Permission, with warnings.
    pub(super) fn warned(warnings: Vec<String>) -> Self {
        Self {
            warnings,
            ..Self::default()
        }
    }

    /// The refusal that the API server gives for an invalid object: 422, and each problem as a cause.
    pub(super) fn invalid(name: &str, problems: &[Problem]) -> Self {
        let list: Vec<_> = problems.iter().map(Problem::to_string).collect();
        let told = match list.as_slice() {
            [only] => only.clone(),
            list => format!("[{}]", list.join(", ")),
        };
        let cause = |problem: &Problem| StatusCause {
            field: Some(problem.path.to_string()),
            message: Some(problem.body()),
            reason: Some(problem.kind.reason().to_owned()),
        };
        let message = format!("{KIND}.{GROUP} {name:?} is invalid: {told}");
        let mut verdict = Self::refused(422, "Invalid", message);
        if let Some(status) = &mut verdict.refusal {
            status.details = Some(StatusDetails {
                name: Some(name.to_owned()),
                group: Some(GROUP.to_owned()),
                kind: Some(KIND.to_owned()),
                causes: Some(problems.iter().map(cause).collect()),
                ..StatusDetails::default()
            });
        }
        verdict
    }

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
