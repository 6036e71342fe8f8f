//! Reading the body of a request into memory, within the budget.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::{Instant, timeout, timeout_at};

use super::budget::{Budget, Reservation, cost};

/// What a client's word about the length of its body is believed for, in bytes. Beyond it, memory is set aside for at most [`AHEAD`] times
/// what has arrived, so that nobody takes the budget from others by a word.
const BELIEVED: usize = 64 * 1024;

/// The less it is, the more often what has arrived is copied to a larger buffer.
const AHEAD: usize = 8;

/// How long what is left of a body is thrown away.
const DISCARD: Duration = Duration::from_secs(10);

/// A body that was read whole, with the memory that is set aside for it and its answer.
#[derive(Debug)]
pub(super) struct Held {
    bytes: Vec<u8>,
    reservation: Reservation,
}

/// Why a body was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("other reviews take all the memory: try again")]
    NoRoom,
    #[error("the body took too long to come: try again")]
    TooSlow,
    #[error("the body ended before its time")]
    Unreadable(#[source] axum::Error),
}

/// Reads `body`, as long as it has no more than `limit` bytes, there is room for it, and it is there by `deadline`.
///
/// What is left of a body that is refused is read and thrown away for a while: an answer to a client that is still sending would be lost
/// if the connection were closed under its hands.
pub(super) async fn read(
    mut body: Body,
    limit: usize,
    budget: &Arc<Budget>,
    deadline: Instant,
) -> Result<Held, BodyError> {
    let read = timeout_at(deadline, collect(&mut body, limit, budget)).await;
    let result = read.unwrap_or(Err(BodyError::TooSlow));
    if result.is_err() {
        discard(body);
    }
    result
}

/// Reads the rest of `body` for 10 s at the most, and throws it away.
pub(super) fn discard(mut body: Body) {
    if body.is_end_stream() {
        return;
    }
    tokio::spawn(timeout(DISCARD, async move {
        while let Some(Ok(_)) = body.frame().await {}
    }));
}

async fn collect(body: &mut Body, limit: usize, budget: &Arc<Budget>) -> Result<Held, BodyError> {
    let said = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if said > limit {
        return Err(BodyError::TooLarge { limit });
    }
    if !budget.has_room_for(cost(said)) {
        return Err(BodyError::NoRoom);
    }
    let mut held = Held {
        bytes: Vec::new(),
        reservation: budget.open(),
    };
    held.make_room(said.min(BELIEVED))?;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(BodyError::Unreadable)?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        let length = held.bytes.len() + data.len();
        if length > limit {
            return Err(BodyError::TooLarge { limit });
        }
        if length > held.bytes.capacity() {
            let room = match said >= length {
                true => (AHEAD * length).min(said),
                // The client did not say, and it may end at any time.
                false => (2 * length).min(limit),
            };
            held.make_room(room)?;
        }
        held.bytes.extend_from_slice(data);
    }
    Ok(held)
}

impl Held {
    fn make_room(&mut self, capacity: usize) -> Result<(), BodyError> {
        if !self.reservation.grow_to(cost(capacity)) {
            return Err(BodyError::NoRoom);
        }
        self.bytes.reserve_exact(capacity - self.bytes.len());
        Ok(())
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The answer to this body, which takes its place in the budget until it is sent.
    pub(super) fn answered_with(self, answer: String) -> Bytes {
        let mut reservation = self.reservation;
        drop(self.bytes);
        reservation.set(answer.capacity());
        Bytes::from_owner(Sending {
            answer,
            _reservation: reservation,
        })
    }
}

/// An answer on its way to the client.
struct Sending {
    answer: String,
    _reservation: Reservation,
}

impl AsRef<[u8]> for Sending {
    fn as_ref(&self) -> &[u8] {
        self.answer.as_bytes()
    }
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        let text = format!("{self}\n");
        match self {
            Self::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, text).into_response(),
            // Who is slow may be this server: the client is not told that it was itself, as it would not try again.
            Self::NoRoom | Self::TooSlow => try_again(text),
            Self::Unreadable(_) => (StatusCode::BAD_REQUEST, text).into_response(),
        }
    }
}

/// A 503 that makes the API server try again after a second; without the header it would give up.
pub(super) fn try_again(text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    let headers = response.headers_mut();
    headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::{Frame, SizeHint};

    use super::*;

    async fn read_of(body: Body, limit: usize, budget: &Arc<Budget>) -> Result<Held, BodyError> {
        read(body, limit, budget, Instant::now() + Duration::from_secs(1)).await
    }

    #[tokio::test]
    async fn a_body_of_the_limit_is_read_and_one_of_a_byte_more_is_not() {
        let budget = Budget::new(1000);
        let held = read_of(Body::from("1234"), 4, &budget).await.unwrap();
        assert_eq!(held.bytes(), b"1234");
        assert!(matches!(
            read_of(Body::from("12345"), 4, &budget).await,
            Err(BodyError::TooLarge { limit: 4 })
        ));
    }

    #[tokio::test]
    async fn a_body_takes_its_part_of_the_budget_until_its_answer_is_sent() {
        let budget = Budget::new(1000);
        let held = read_of(Body::from("1234"), 4, &budget).await.unwrap();
        assert_eq!(budget.held(), cost(4));
        let sending = held.answered_with("12".to_owned());
        assert_eq!(budget.held(), 2);
        drop(sending);
        assert_eq!(budget.held(), 0);
    }

    #[tokio::test]
    async fn a_body_that_does_not_fit_is_put_off_and_holds_nothing() {
        let budget = Budget::new(cost(7));
        let held = read_of(Body::from("1234"), 10, &budget).await.unwrap();
        let put_off = read_of(Body::from("1234"), 10, &budget).await;
        assert!(matches!(put_off, Err(BodyError::NoRoom)));
        drop(held);
        assert_eq!(budget.held(), 0);
        assert!(read_of(Body::from("1234"), 10, &budget).await.is_ok());
    }

    /// A body that says it has `length` bytes and sends none.
    struct Silent {
        length: u64,
    }

    impl hyper::body::Body for Silent {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Pending
        }

        fn size_hint(&self) -> SizeHint {
            SizeHint::with_exact(self.length)
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_word_about_the_length_takes_no_more_than_is_believed() {
        let budget = Budget::new(cost(1 << 30));
        let body = Body::new(Silent { length: 1 << 20 });
        let reading = tokio::spawn({
            let budget = Arc::clone(&budget);
            async move { read_of(body, 1 << 20, &budget).await }
        });
        tokio::task::yield_now().await;
        assert_eq!(budget.held(), cost(BELIEVED));
        assert!(matches!(reading.await.unwrap(), Err(BodyError::TooSlow)));
        assert_eq!(budget.held(), 0);
    }
}
