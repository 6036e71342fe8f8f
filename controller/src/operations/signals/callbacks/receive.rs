//! What a callback is answered.
//!
//! | answer | when |
//! |---|---|
//! | 204 | the status says what follows from it, or nothing does |
//! | 400 | it is from the provider, and says nothing of how the operation stands |
//! | 401 | it is not proved, or is about no operation that the Task has now: which of these is not told |
//! | 408, 413 | its body comes too slowly, or is too long |
//! | 503 | it is to be sent again |
//!
//! Nothing is asked of the API server before it is proved whom the callback is from: to make up callbacks costs nobody else
//! anything, and finds out nothing.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Bytes, HttpBody, to_bytes},
    extract::{Path, Request, State},
    http::{HeaderMap, StatusCode, header::RETRY_AFTER},
    response::{IntoResponse, Response},
    routing::post,
};
use jiff::Timestamp;
use kube::runtime::reflector::ObjectRef;
use tokio::{sync::Semaphore, time::timeout};

use crate::operations::{
    client::Connection,
    decide::Signal,
    key::Key,
    signals::{
        inbox::{Inbox, Source, Taken},
        report,
    },
};

/// The longest body that is taken, in bytes.
const BODY_LENGTH_MAX: usize = 1024 * 1024;

/// How many callbacks are read and judged at the same time: that many bodies are held in memory at most.
const CONCURRENCY: usize = 32;

/// How long a callback waits for its turn, and how long its body may take.
const PATIENCE: Duration = Duration::from_secs(5);

struct Desk {
    inbox: Inbox,
    turns: Semaphore,
}

/// Answers callbacks.
pub fn router(inbox: Inbox) -> Router {
    let desk = Desk {
        inbox,
        turns: Semaphore::new(CONCURRENCY),
    };
    Router::new()
        .route("/callbacks/{namespace}/{name}", post(receive))
        .with_state(Arc::new(desk))
}

async fn receive(
    State(desk): State<Arc<Desk>>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let count = |result| desk.inbox.count(Source::Callback, result);
    let Ok(Ok(_turn)) = timeout(PATIENCE, desk.turns.acquire()).await else {
        count("busy");
        return again();
    };
    let (head, body) = request.into_parts();
    if body.size_hint().lower() > BODY_LENGTH_MAX as u64 {
        count("too_long");
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    }
    let body = match timeout(PATIENCE, to_bytes(body, BODY_LENGTH_MAX)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => {
            count("too_long");
            return StatusCode::PAYLOAD_TOO_LARGE.into_response();
        }
        Err(_) => {
            count("too_slow");
            return StatusCode::REQUEST_TIMEOUT.into_response();
        }
    };
    let Some((operation, connection, event_id)) = proved(&desk.inbox, &head.headers, &body) else {
        count("unproved");
        return StatusCode::UNAUTHORIZED.into_response();
    };
    let Some(told) = connection.settings.provider.reported(&body) else {
        count("malformed");
        let text = "the body does not say how the operation stands\n";
        return (StatusCode::BAD_REQUEST, text).into_response();
    };
    if !report::is_name(&namespace) || !report::is_name(&name) {
        count("foreign");
        return StatusCode::UNAUTHORIZED.into_response();
    }
    let task = ObjectRef::new(&name).within(&namespace);
    let signal = Signal { event_id, told };
    match desk
        .inbox
        .take(Source::Callback, &task, &operation, signal)
        .await
    {
        Ok(Taken::Written | Taken::Known) => StatusCode::NO_CONTENT.into_response(),
        Ok(Taken::Foreign) => StatusCode::UNAUTHORIZED.into_response(),
        Err(_) => again(),
    }
}

/// The operation that a callback is about, the provider that it is from, and its own id; `None` if any of that is not certain.
///
/// The operation's name tells the provider, and with it the secrets. That it is read before it is proved gives nothing away: it is proved by
/// the secrets of that very provider.
fn proved(
    inbox: &Inbox,
    headers: &HeaderMap,
    body: &Bytes,
) -> Option<(Key, Arc<Connection>, String)> {
    let operation = report::operation(body)?;
    let connection = inbox.operations().providers.get(operation.provider()?)?;
    let secrets = connection.settings.callbacks()?;
    let event_id = secrets.verify(headers, body, Timestamp::now()).ok()?;
    Some((operation, connection, event_id))
}

fn again() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")]).into_response()
}
