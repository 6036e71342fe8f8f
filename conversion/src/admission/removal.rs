//! An operation that a client of the older version has removed.
//!
//! There an operation is removed by taking `provider` out of the file. But v1 gives `timeout` a default, which the older version shows as a
//! `timeoutSeconds` that stands in no file. `kubectl apply` leaves it where it is, and a rule refuses it without a provider: what was
//! once applied could not be removed by applying. Mutation comes before the rules, so here is where the rest of it goes.

use json_patch::jsonptr::PointerBuf;
use json_patch::{PatchOperation, RemoveOperation};
use serde_json::value::RawValue;
use task_api_v1::names::GROUP;

use super::fit::OLDER;
use super::place::{given, value_at};
use super::request::{Operation, Request};

/// The fields of the older version that make no sense without a provider, as the API server records who has set what.
const NEEDS_PROVIDER: [&str; 2] = ["f:timeoutSeconds", "f:parameters"];

/// The removal of what is left of an operation that has lost its provider; `None` when the request leaves no such thing.
///
/// Nor does it where a client of the older version has itself set what is left: then its file asks for parameters or a timeout without a
/// provider, and the rules refuse that.
pub(super) fn rest_of_operation(request: &Request<'_>) -> Option<PatchOperation> {
    let (object, old) = (request.object?, request.old_object?);
    let is_removed = request.operation == Operation::Update
        && !request.is_at_v1()
        && given(old, "spec.operation.provider").is_some()
        && given(object, "spec.operation").is_some_and(|operation| operation.starts_with('{'))
        && given(object, "spec.operation.provider").is_none()
        && !is_set_at_older(object);
    is_removed.then(|| {
        PatchOperation::Remove(RemoveOperation {
            path: PointerBuf::from_tokens(["spec", "operation"]),
        })
    })
}

/// Whether a client has set one of these fields at the older version, and neither another client nor a default since.
fn is_set_at_older(object: &str) -> bool {
    let managers = value_at(object, "metadata.managedFields").unwrap_or("[]");
    let managers: Vec<&RawValue> = serde_json::from_str(managers).unwrap_or_default();
    let version = format!("\"{GROUP}/{OLDER}\"");
    managers.iter().any(|manager| {
        let manager = manager.get();
        value_at(manager, "apiVersion") == Some(&*version)
            && NEEDS_PROVIDER
                .iter()
                .any(|field| value_at(manager, &format!("fieldsV1.f:spec.{field}")).is_some())
    })
}
