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
    body::{Body, HttpBody},
    extract::{Path, Request, State},
    http::{
        HeaderMap, StatusCode,
        header::{CONNECTION, RETRY_AFTER},
    },
    response::{IntoResponse, Response},
    routing::post,
};
use futures::TryStreamExt;
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

/// The longest body that is too long of which the rest is taken and forgotten, in bytes.
const FORGOTTEN_LENGTH_MAX: usize = 4 * BODY_LENGTH_MAX;

/// How many callbacks are read and judged at the same time: that many bodies are held in memory at most.
const CONCURRENCY: usize = 32;

/// How long a callback waits for its turn, and how long its body may take.
const PATIENCE: Duration = Duration::from_secs(5);

struct Desk {
    inbox: Arc<Inbox>,
    turns: Semaphore,
}

/// Answers callbacks.
pub fn router(inbox: Arc<Inbox>) -> Router {
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
    let body = match timeout(PATIENCE, read(body)).await {
        Ok(Some(body)) => body,
        Ok(None) => {
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
        return unproved();
    };
    let Some(told) = connection.settings.provider.reported(&body) else {
        count("malformed");
        let text = "the body does not say how the operation stands\n";
        return (StatusCode::BAD_REQUEST, text).into_response();
    };
    if !report::is_name(&namespace) || !report::is_name(&name) {
        count("foreign");
        return unproved();
    }
    let task = ObjectRef::new(&name).within(&namespace);
    let signal = Signal { event_id, told };
    match desk
        .inbox
        .take(Source::Callback, &task, &operation, signal)
        .await
    {
        Ok(Taken::Written | Taken::Known) => StatusCode::NO_CONTENT.into_response(),
        Ok(Taken::Foreign) => unproved(),
        Err(_) => again(),
    }
}

/// The whole body; `None` if it is too long, or the client is gone. Of one that is not much too long the rest is taken and forgotten: a client that is still
/// sending when the connection is closed may never see the answer.
async fn read(body: Body) -> Option<Vec<u8>> {
    if body.size_hint().lower() > FORGOTTEN_LENGTH_MAX as u64 {
        return None;
    }
    let mut chunks = body.into_data_stream();
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(chunk) = chunks.try_next().await.ok()? {
        length += chunk.len();
        if length <= BODY_LENGTH_MAX {
            bytes.extend_from_slice(&chunk);
        } else {
            bytes = Vec::new();
            if length > FORGOTTEN_LENGTH_MAX {
                break;
            }
        }
    }
    (length <= BODY_LENGTH_MAX).then_some(bytes)
}

/// The operation that a callback is about, the provider that it is from, and its own id; `None` if any of that is not certain.
///
/// The operation's name tells the provider, and with it the secrets. That it is read before it is proved gives nothing away: it is proved by
/// the secrets of that very provider.
fn proved(
    inbox: &Inbox,
    headers: &HeaderMap,
    body: &[u8],
) -> Option<(Key, Arc<Connection>, String)> {
    let operation = report::operation(body)?;
    let connection = inbox.operations().providers.get(operation.provider()?)?;
    let secrets = connection.settings.callbacks()?;
    let event_id = secrets.verify(headers, body, Timestamp::now()).ok()?;
    Some((operation, connection, event_id))
}

/// Whoever is not proved has no use of the connection any more.
fn unproved() -> Response {
    (StatusCode::UNAUTHORIZED, [(CONNECTION, "close")]).into_response()
}

fn again() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "1")]).into_response()
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        sync::atomic::{AtomicU32, Ordering},
    };

    use axum::body::to_bytes;
    use kube::Client;
    use operation_signals::signature::{Scheme, Secrets};
    use tempfile::TempDir;
    use tower::{ServiceExt, service_fn};

    use super::*;
    use crate::{
        cache::Cache,
        events,
        metrics::Metrics,
        operations::{driver::Operations, providers::registry::Registry, signals::Ways},
        shards::{Identity, Replica},
        work_queue::Limits,
    };

    const SECRET: &str = "a secret of volumes";

    /// The callbacks of a provider, and how many requests are made of an API server that knows no Task.
    fn desk() -> (Router, Arc<AtomicU32>) {
        let folder = TempDir::new().unwrap();
        let [file, secret] = ["providers.yaml", "secret"].map(|name| folder.path().join(name));
        fs::write(&secret, SECRET).unwrap();
        let text = format!(
            "providers: [{{name: volumes, url: \"https://v.example\", callbacks: {{scheme: HmacSha256, secretFile: {}}}}}, {{name: silent, url: \"https://s.example\"}}]",
            secret.display()
        );
        fs::write(&file, text).unwrap();
        let metrics = Metrics::new(false).operations();
        let (operations, _) = Operations::new(
            Replica::new(Identity::drawn(), 1).0.shards(),
            Cache::of([]),
            Registry::load(&file).unwrap(),
            Limits {
                workers: 1,
                queue_size: 1,
            },
            events::channel().0,
            metrics.clone(),
            Ways::default(),
        );
        let requests = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&requests);
        let api_server = service_fn(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            let status = kube::core::Status::failure("no", "NotFound").with_code(404);
            let answer = axum::http::Response::builder()
                .status(404)
                .body(Body::from(serde_json::to_vec(&status).unwrap()));
            std::future::ready(answer)
        });
        let client = Client::new(api_server, "default");
        let inbox = Inbox::new(operations, client, metrics, None);
        (router(Arc::new(inbox)), requests)
    }

    async fn answered(
        desk: &Router,
        secret: &str,
        path: &str,
        body: impl Into<Vec<u8>>,
    ) -> (u16, usize) {
        let body = body.into();
        let secrets = Secrets::parse(Scheme::HmacSha256, secret).unwrap();
        let mut request = Request::post(path).body(Body::from(body.clone())).unwrap();
        *request.headers_mut() = secrets.sign("", &body, Timestamp::now());
        let response = desk.clone().oneshot(request).await.unwrap();
        let code = response.status().as_u16();
        (
            code,
            to_bytes(response.into_body(), 1000).await.unwrap().len(),
        )
    }

    #[tokio::test]
    async fn nothing_is_asked_of_the_api_server_before_a_callback_is_proved() {
        let (desk, requests) = desk();
        let path = "/callbacks/default/web";
        let good = r#"{"operationId": "volumes.0.0", "status": "Succeeded"}"#;
        for (secret, path, body) in [
            ("another one of theirs", path, good.to_owned()),
            (SECRET, path, good.replace("volumes", "silent")),
            (SECRET, path, good.replace("volumes", "unknown")),
            (SECRET, path, good.replace("operationId", "other")),
            (SECRET, path, String::new()),
            (SECRET, "/callbacks/default/..%2fweb", good.to_owned()),
        ] {
            let answer = answered(&desk, secret, path, body.as_str()).await;
            assert_eq!(answer, (401, 0), "{path}: {body}");
        }
        assert_eq!(requests.load(Ordering::Relaxed), 0);
        // Of a Task that is not there no more is told.
        assert_eq!(answered(&desk, SECRET, path, good).await, (401, 0));
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn who_is_not_proved_loses_the_connection() {
        let (desk, _) = desk();
        let forged = r#"{"operationId": "volumes.0.0", "status": "Succeeded"}"#;
        let request = Request::post("/callbacks/default/web").body(Body::from(forged));
        let response = desk.oneshot(request.unwrap()).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(response.headers()[CONNECTION], "close");
    }

    #[tokio::test]
    async fn what_is_proved_and_says_nothing_is_told_so() {
        let (desk, _) = desk();
        let body = r#"{"operationId": "volumes.0.0"}"#;
        let (code, _) = answered(&desk, SECRET, "/callbacks/default/web", body).await;
        assert_eq!(code, 400);
    }

    #[tokio::test]
    async fn a_body_that_is_too_long_is_refused_before_all_else() {
        let (desk, _) = desk();
        let body = vec![b' '; BODY_LENGTH_MAX + 1];
        let (code, _) = answered(&desk, SECRET, "/callbacks/default/web", body).await;
        assert_eq!(code, 413);
    }
}
