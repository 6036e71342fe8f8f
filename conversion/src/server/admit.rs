//! The admission webhooks.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tracing::warn;

use super::metrics::Request;
use super::routes::{Counted, json};
use super::service::Webhook;
use super::state::{Answered, State};
use crate::admission::Outcome;

/// Answers an AdmissionReview.
pub(super) async fn admit(
    Shared(state): Shared<Arc<State>>,
    Extension(webhook): Extension<Webhook>,
    body: Body,
) -> Response {
    let Webhook {
        endpoint, judge, ..
    } = webhook;
    let Answered { held, answer, took } = match state.review(body, judge).await {
        Ok(answered) => answered,
        Err(error) => return error.into_response(),
    };
    state.metrics.reviewed(endpoint, held.bytes().len(), took);
    if answer.outcome == Outcome::Panicked {
        state.metrics.panicked(1);
    }
    if let Outcome::Failed(why) = &answer.outcome {
        warn!(
            object = answer.object,
            "an admission review was not judged: {why}"
        );
    }
    let counted = Counted(Request {
        endpoint,
        from: answer.version.unwrap_or_default(),
        to: "",
        result: result(&answer.outcome),
    });
    let body = held.answered_with(answer.body);
    let mut response = match StatusCode::from_u16(answer.http_status) {
        Ok(StatusCode::OK) => json(body),
        status => (status.unwrap_or(StatusCode::BAD_REQUEST), body).into_response(),
    };
    response.extensions_mut().insert(counted);
    response
}

fn result(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Allowed | Outcome::Patched => "success",
        Outcome::Denied => "denied",
        Outcome::Failed(_) | Outcome::Panicked => "failure",
    }
}
