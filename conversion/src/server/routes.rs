//! What each path answers.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::body::Bytes;
use axum::extract::{Request, State as Shared};
use axum::http::{StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Extension, Router};

use super::admit::admit;
use super::body::try_again;
use super::convert::convert;
use super::metrics::{self, Levels};
use super::ready::USER_AGENT;
use super::service::Webhook;
use super::state::State;

/// The paths that are served. Any other is 404, and another method 405.
pub(super) fn router(state: Arc<State>, webhooks: &'static [Webhook]) -> Router {
    let reviews = webhooks
        .iter()
        .fold(Router::new(), |router, webhook| {
            router.route(webhook.path, post(admit).layer(Extension(*webhook)))
        })
        .route("/convert", post(convert))
        .layer(middleware::from_fn(refuse_compressed));
    Router::new()
        .merge(reviews)
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .method_not_allowed_fallback(|| async {
            (StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n")
        })
        .fallback(|| async {
            let text = "not found: reviews are answered at /convert\n";
            (StatusCode::NOT_FOUND, text)
        })
        .layer(middleware::from_fn_with_state(
            (Arc::clone(&state), webhooks),
            count,
        ))
        .with_state(state)
}

/// On a response that knows better than its status how its request is to be counted.
#[derive(Clone)]
pub(super) struct Counted(pub(super) metrics::Request);

async fn count(
    Shared((state, webhooks)): Shared<(Arc<State>, &'static [Webhook])>,
    request: Request,
    next: Next,
) -> Response {
    let is_own = |agent: &header::HeaderValue| agent == USER_AGENT;
    let endpoint = match request.uri().path() {
        // What the server asks itself is nobody's conversion.
        _ if request
            .headers()
            .get(header::USER_AGENT)
            .is_some_and(is_own) =>
        {
            "self"
        }
        "/convert" => "convert",
        "/healthz" => "healthz",
        "/readyz" => "readyz",
        "/metrics" => "metrics",
        path => webhooks
            .iter()
            .find(|webhook| webhook.path == path)
            .map_or("other", |webhook| webhook.endpoint),
    };
    let mut response = next.run(request).await;
    let mut counted = match response.extensions_mut().remove() {
        Some(Counted(request)) => request,
        None => metrics::Request {
            result: match response.status() {
                StatusCode::OK => "success",
                StatusCode::SERVICE_UNAVAILABLE => "busy",
                status if status.is_client_error() => "refused",
                _ => "error",
            },
            ..metrics::Request::default()
        },
    };
    counted.endpoint = endpoint;
    state.metrics.requested(&counted);
    response
}

async fn refuse_compressed(request: Request, next: Next) -> Response {
    let is_plain =
        |encoding: &header::HeaderValue| encoding.as_bytes().eq_ignore_ascii_case(b"identity");
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    if encoding.is_none_or(is_plain) {
        return next.run(request).await;
    }
    let text = "a compressed body is not accepted\n";
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, text).into_response()
}

/// A response of JSON.
pub(super) fn json(body: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

async fn healthz(Shared(state): Shared<Arc<State>>) -> Response {
    match state.running.stuck() {
        None => "ok\n".into_response(),
        Some(time) => {
            let text = format!(
                "stuck: a review has been running for {} s\n",
                time.as_secs()
            );
            (StatusCode::INTERNAL_SERVER_ERROR, text).into_response()
        }
    }
}

async fn readyz(Shared(state): Shared<Arc<State>>) -> Response {
    match state.readiness.check().await {
        Ok(()) => "ok\n".into_response(),
        Err(why) => try_again(format!("not ready: {why}\n")),
    }
}

async fn metrics(Shared(state): Shared<Arc<State>>) -> Response {
    let text = state.metrics.text(Levels {
        inflight_bytes: state.budget.held(),
        connections: state.connections.load(Ordering::Relaxed),
        certificate_expiry: state.certificate.expires(),
    });
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, kind)], text).into_response()
}
