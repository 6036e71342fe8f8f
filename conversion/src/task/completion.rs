//! `operation.completion`, which v1alpha1 has not.

use task_api_v1::Completion;

use crate::json::Node;

/// Whether this is a way for the end of an operation to be learnt, or null, which the API server takes for absent.
pub(super) fn is_one(value: &Node<'_>) -> bool {
    let is_one = || serde_json::from_str::<Completion>(&value.text()).is_ok();
    // serde also reads {"Poll":null} as one.
    value.is_null() || (value.string().is_some() && is_one())
}
