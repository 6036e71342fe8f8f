//! The wire protocol.

use std::time::Duration;

use axum::{
    Json, Router,
    body::Body,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use bytes::Bytes;
use futures::{StreamExt, stream};
use serde_json::{Value, json};

use crate::{
    Shared,
    ledger::{Kind, Operation, Refusal},
    script::Fault,
    tell,
};

const OPERATION_LOCATION: HeaderName = HeaderName::from_static("operation-location");

/// Answers the calls.
pub fn router(shared: Shared) -> Router {
    Router::new()
        .route("/operations", post(start))
        .route("/operations/{id}", get(poll).delete(cancel))
        .with_state(shared)
}

async fn start(State(shared): State<Shared>, headers: HeaderMap, body: Bytes) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let key = header("idempotency-key").map(|key| key.trim_matches('"'));
    let (Some(key), Some(id)) = (key, header("operation-id")) else {
        return refused(
            StatusCode::BAD_REQUEST,
            "Idempotency-Key and Operation-Id are required",
        );
    };
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return refused(StatusCode::BAD_REQUEST, "the body is no JSON");
    };
    let (fault, answer, is_new) = {
        let mut ledger = shared.lock();
        ledger.calls += 1;
        let trouble = ledger.trouble.clone();
        let operation = match ledger.asked(key, id, &body) {
            Ok(operation) => operation,
            Err(Refusal::OtherRequest) => {
                return refused(
                    StatusCode::UNPROCESSABLE_ENTITY,
                    "the key stands for another request",
                );
            }
            Err(Refusal::BadBody) => {
                return refused(StatusCode::BAD_REQUEST, "the body names no Task");
            }
        };
        let fault = trouble.or_else(|| operation.fault(Kind::Start));
        let is_new = has_effect(fault.as_ref()) && operation.accept();
        (fault, accepted(operation), is_new)
    };
    if is_new {
        tell::of_a_new_one(&shared, id).await;
    }
    with_fault(fault, answer).await
}

async fn poll(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    about(&shared, &id, Kind::Poll).await
}

async fn cancel(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    about(&shared, &id, Kind::Cancel).await
}

async fn about(shared: &Shared, id: &str, kind: Kind) -> Response {
    let (fault, answer) = {
        let mut ledger = shared.lock();
        ledger.calls += 1;
        let trouble = ledger.trouble.clone();
        match ledger.find(id) {
            None => (trouble, unknown()),
            Some(operation) => {
                let fault = trouble.or_else(|| operation.fault(kind));
                let is_over =
                    kind == Kind::Cancel && has_effect(fault.as_ref()) && operation.cancel();
                if is_over {
                    tell::at_the_end(shared.clone(), id.to_owned());
                }
                let answer = match operation.accepted_at {
                    Some(_) => Json(operation.stands()).into_response(),
                    None => unknown(),
                };
                (fault, answer)
            }
        }
    };
    with_fault(fault, answer).await
}

fn has_effect(fault: Option<&Fault>) -> bool {
    fault.is_none_or(|fault| fault.accept || fault.is_harmless())
}

fn accepted(operation: &Operation) -> Response {
    let location = format!("/operations/{}", operation.id);
    let mut answer = (StatusCode::ACCEPTED, Json(operation.stands())).into_response();
    if let Ok(location) = HeaderValue::from_str(&location) {
        answer.headers_mut().insert(OPERATION_LOCATION, location);
    }
    answer
        .headers_mut()
        .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

fn unknown() -> Response {
    refused(StatusCode::NOT_FOUND, "there is no such operation")
}

fn refused(code: StatusCode, message: &str) -> Response {
    let body = json!({"error": {"code": "", "message": message}});
    (code, Json(body)).into_response()
}

/// The answer, or what a fault makes of it.
async fn with_fault(fault: Option<Fault>, answer: Response) -> Response {
    let Some(fault) = fault else {
        return answer;
    };
    tokio::time::sleep(Duration::from_millis(fault.delay_ms)).await;
    if fault.hang {
        return std::future::pending().await;
    }
    if fault.drop {
        let broken = stream::once(async { Ok::<_, Broken>(Bytes::from_static(b"{")) })
            .chain(stream::once(async { Err(Broken) }));
        return (StatusCode::ACCEPTED, Body::from_stream(broken)).into_response();
    }
    let Some(code) = fault
        .status
        .and_then(|code| StatusCode::from_u16(code).ok())
    else {
        return answer;
    };
    let mut failed = refused(code, "it was to fail");
    if let Some(value) = fault
        .retry_after
        .and_then(|text| HeaderValue::from_str(&text).ok())
    {
        failed.headers_mut().insert(RETRY_AFTER, value);
    }
    failed
}

/// The connection breaks.
#[derive(Debug, thiserror::Error)]
#[error("it was to break")]
struct Broken;
