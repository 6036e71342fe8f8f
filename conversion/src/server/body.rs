//! Reading the body of a request into memory.

use std::ops::Deref;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use prometheus_client::metrics::gauge::Gauge;

/// What a client's word about the length of its body is believed for, in bytes.
const BELIEVED: u64 = 1024 * 1024;

/// A body that was read whole. Its bytes count as in flight from when they arrive until it is dropped.
#[derive(Debug)]
pub(super) struct Held {
    bytes: Vec<u8>,
    inflight: Gauge,
}

/// Why a body was not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum BodyError {
    #[error("the body is larger than {limit} bytes")]
    TooLarge { limit: usize },
    #[error("the body ended before its time")]
    Unreadable(#[source] axum::Error),
}

/// Reads `body`, as long as it has no more than `limit` bytes.
pub(super) async fn read(mut body: Body, limit: usize, inflight: Gauge) -> Result<Held, BodyError> {
    let said = body.size_hint().lower();
    if usize::try_from(said).map_or(true, |said| said > limit) {
        return Err(BodyError::TooLarge { limit });
    }
    let mut held = Held {
        bytes: Vec::with_capacity(usize::try_from(said.min(BELIEVED)).unwrap_or(0)),
        inflight,
    };
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(BodyError::Unreadable)?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if data.len() > limit - held.len() {
            return Err(BodyError::TooLarge { limit });
        }
        held.extend(data);
    }
    Ok(held)
}

impl Held {
    fn extend(&mut self, data: &[u8]) {
        self.bytes.extend_from_slice(data);
        self.inflight.inc_by(gauged(data.len()));
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.inflight.dec_by(gauged(self.bytes.len()));
    }
}

fn gauged(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

impl IntoResponse for BodyError {
    fn into_response(self) -> Response {
        let status = match self {
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Unreadable(_) => StatusCode::BAD_REQUEST,
        };
        (status, format!("{self}\n")).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_of_the_limit_is_read_and_one_of_a_byte_more_is_not() {
        let read = |body: &'static str| read(Body::from(body), 4, Gauge::default());
        assert_eq!(&*read("1234").await.unwrap(), b"1234");
        assert!(matches!(
            read("12345").await,
            Err(BodyError::TooLarge { limit: 4 })
        ));
    }

    #[tokio::test]
    async fn a_body_is_in_flight_until_it_is_dropped() {
        let inflight = Gauge::default();
        let held = read(Body::from("1234"), 4, inflight.clone()).await.unwrap();
        assert_eq!(inflight.get(), 4);
        drop(held);
        assert_eq!(inflight.get(), 0);
    }
}
