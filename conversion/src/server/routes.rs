//! What each path answers.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tracing::warn;

use super::body::{self, Held};
use super::metrics::Metrics;
use super::ready;
use crate::Event;
use crate::review::{Answer, answer};
use crate::task::TASK;

/// A body longer than this, in bytes, is answered on a thread of its own, so that short requests need not wait for it.
const LONG: usize = 256 * 1024;

/// What requests share.
pub struct State {
    metrics: Metrics,
    max_body_bytes: usize,
}

impl State {
    /// The state of a server that reads bodies of up to `max_body_bytes` bytes.
    pub fn new(max_body_bytes: usize) -> Self {
        Self {
            metrics: Metrics::new(),
            max_body_bytes,
        }
    }
}

/// The paths that are served. Any other is 404, and another method 405.
///
/// A body that was read whole is always answered with 200 at `/convert`, as the API server wants it: failures are told in the answer.
pub fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/convert", post(convert))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(|| async {
            (StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n")
        })
        .fallback(|| async {
            (
                StatusCode::NOT_FOUND,
                "not found: reviews are answered at /convert\n",
            )
        })
        .layer(middleware::from_fn_with_state(Arc::clone(&state), count))
        .with_state(state)
}

type Shared = axum::extract::State<Arc<State>>;

/// Marks the response to a review that failed, whose status is 200 all the same.
#[derive(Clone, Copy)]
struct ReviewFailed;

async fn count(axum::extract::State(state): Shared, request: Request, next: Next) -> Response {
    let endpoint = match request.uri().path() {
        "/convert" => "convert",
        "/healthz" => "healthz",
        "/readyz" => "readyz",
        "/metrics" => "metrics",
        _ => "other",
    };
    let response = next.run(request).await;
    let result = match response.status() {
        StatusCode::OK if response.extensions().get::<ReviewFailed>().is_some() => "failure",
        StatusCode::OK => "success",
        status if status.is_client_error() => "refused",
        _ => "error",
    };
    state.metrics.requested(endpoint, result);
    response
}

async fn convert(
    axum::extract::State(state): Shared,
    headers: HeaderMap,
    body: axum::body::Body,
) -> Response {
    let encoding = headers.get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| !encoding.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let refusal = "a compressed body is not accepted\n";
        return (StatusCode::UNSUPPORTED_MEDIA_TYPE, refusal).into_response();
    }
    let inflight = state.metrics.inflight_bytes.clone();
    let body = match body::read(body, state.max_body_bytes, inflight).await {
        Ok(body) => body,
        Err(error) => return error.into_response(),
    };

    let length = body.len();
    let start = Instant::now();
    let Some(answer) = answer_apart(body).await else {
        let message = "the conversion was abandoned\n";
        return (StatusCode::INTERNAL_SERVER_ERROR, message).into_response();
    };
    state.metrics.answered(&answer, length, start.elapsed());
    tell(&answer);
    let failed = answer.failure.is_some();
    let mut response = ([(header::CONTENT_TYPE, "application/json")], answer.body).into_response();
    if failed {
        response.extensions_mut().insert(ReviewFailed);
    }
    response
}

/// The answer; `None` only when the runtime stops before it was begun.
async fn answer_apart(body: Held) -> Option<Answer> {
    if body.len() <= LONG {
        return Some(answer(&TASK, &body));
    }
    tokio::task::spawn_blocking(move || answer(&TASK, &body))
        .await
        .ok()
}

/// Logs what an administrator may want to look into, and no content of any object.
fn tell(answer: &Answer) {
    if let Some(failure) = &answer.failure {
        warn!("a conversion failed: {failure}");
    }
    for note in &answer.notes {
        let object = &note.object;
        match &note.event {
            Event::Broken(why) => warn!(
                object,
                "an annotation under a reserved key was ignored: {why}"
            ),
            Event::Misplaced => warn!(
                object,
                "an annotation under the reserved key of the object's own version was dropped"
            ),
            Event::Omitted => warn!(
                object,
                "the annotations are too large: what v1 alone can say was left out"
            ),
            Event::Written | Event::Restored => {}
        }
    }
}

async fn readyz() -> Response {
    match ready::check() {
        Ok(()) => "ok\n".into_response(),
        Err(message) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("not ready: {message}\n"),
        )
            .into_response(),
    }
}

async fn metrics(axum::extract::State(state): Shared) -> Response {
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], state.metrics.text()).into_response()
}
