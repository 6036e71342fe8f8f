//! What each path answers.

use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tracing::warn;

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
pub fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/convert", post(convert))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .fallback(|| async {
            (
                StatusCode::NOT_FOUND,
                "not found: reviews are answered at /convert\n",
            )
        })
        .with_state(state)
}

type Shared = axum::extract::State<Arc<State>>;

async fn convert(axum::extract::State(state): Shared, headers: HeaderMap, body: Body) -> Response {
    let encoding = headers.get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|encoding| encoding != "identity") {
        state.metrics.refused("convert", "unsupported");
        return (
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "a compressed body is not accepted\n",
        )
            .into_response();
    }
    let body = match Limited::new(body, state.max_body_bytes).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            state.metrics.refused("convert", "too large");
            let message = format!("the body is larger than {} bytes\n", state.max_body_bytes);
            return (StatusCode::PAYLOAD_TOO_LARGE, message).into_response();
        }
        Err(_) => {
            state.metrics.refused("convert", "unreadable");
            return (StatusCode::BAD_REQUEST, "the body ended before its time\n").into_response();
        }
    };

    let length = body.len();
    let inflight = i64::try_from(length).unwrap_or(i64::MAX);
    state.metrics.inflight_bytes.inc_by(inflight);
    let start = Instant::now();
    let answer = answer_apart(body).await;
    state.metrics.inflight_bytes.dec_by(inflight);
    state.metrics.answered(&answer, length, start.elapsed());
    tell(&answer);
    ([(header::CONTENT_TYPE, "application/json")], answer.body).into_response()
}

async fn answer_apart(body: Bytes) -> Answer {
    if body.len() < LONG {
        return answer(&TASK, &body);
    }
    let short = body.clone();
    match tokio::task::spawn_blocking(move || answer(&TASK, &body)).await {
        Ok(answer) => answer,
        // Only a runtime that shuts down drops the task; this request is still to be answered.
        Err(_) => answer(&TASK, &short),
    }
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
