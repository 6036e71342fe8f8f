//! What requests share.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serving_certificate::Certificate;
use tokio::time::{Instant, timeout_at};

use super::body::{BodyError, Held, read, try_again};
use super::budget::Budget;
use super::live::Running;
use super::metrics::Metrics;
use super::ready::Readiness;
use crate::Kind;

/// How long a request may take, from its headers to its answer: the API server gives up after 30 s.
const DEADLINE: Duration = Duration::from_secs(25);

/// A body longer than this, in bytes, is answered on a thread of its own, so that short requests need not wait for it.
const LONG: usize = 256 * 1024;

/// What requests share.
pub(super) struct State {
    pub(super) kind: &'static Kind,
    pub(super) metrics: Metrics,
    pub(super) budget: Arc<Budget>,
    pub(super) max_body_bytes: usize,
    pub(super) running: Arc<Running>,
    pub(super) readiness: Readiness,
    pub(super) certificate: Arc<Certificate>,
    pub(super) connections: Arc<AtomicUsize>,
}

/// A review that was read and answered.
pub(super) struct Answered<A> {
    pub(super) held: Held,
    pub(super) answer: A,
    pub(super) took: Duration,
}

/// Why a review was not answered.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReviewError {
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error("other reviews take all the time: try again")]
    NoTime,
    #[error("the answer was abandoned")]
    Abandoned,
}

impl State {
    /// Reads a review and answers it by `answer`, which must not panic.
    pub(super) async fn review<A: Send + 'static>(
        &self,
        body: Body,
        answer: impl FnOnce(&[u8]) -> A + Send + 'static,
    ) -> Result<Answered<A>, ReviewError> {
        let deadline = Instant::now() + DEADLINE;
        let held = read(body, self.max_body_bytes, &self.budget, deadline).await?;
        let start = Instant::now();
        let is_long = held.bytes().len() > LONG;
        let running = Arc::clone(&self.running);
        let answer = move || {
            let _run = running.begin();
            let answer = answer(held.bytes());
            (held, answer)
        };
        let (held, answer) = if is_long {
            let answered = tokio::task::spawn_blocking(answer);
            match timeout_at(deadline, answered).await {
                Ok(Ok(answered)) => answered,
                // Only when the server stops before it was begun.
                Ok(Err(_)) => return Err(ReviewError::Abandoned),
                Err(_) => return Err(ReviewError::NoTime),
            }
        } else {
            answer()
        };
        Ok(Answered {
            held,
            answer,
            took: start.elapsed(),
        })
    }
}

impl IntoResponse for ReviewError {
    fn into_response(self) -> Response {
        match self {
            Self::Body(error) => error.into_response(),
            Self::NoTime => try_again(format!("{self}\n")),
            Self::Abandoned => {
                (StatusCode::INTERNAL_SERVER_ERROR, format!("{self}\n")).into_response()
            }
        }
    }
}
