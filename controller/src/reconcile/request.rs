//! How long a request to the API server may take, how often it is repeated at once, and what came of it in words.

use std::time::Duration;

/// How long one request may take. A pass is never held longer by an API server that does not answer.
pub const TIMEOUT: Duration = Duration::from_secs(15);

/// How often a write that met a newer object is tried again at once.
pub const IMMEDIATE_RETRIES: u32 = 3;

/// Why a request came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The API server did not do as it was asked.
    // Its Display says everything twice, once as Rust prints structures.
    #[error("{}", .0.message)]
    Refused(Box<kube::core::Status>),
    /// The API server could not be asked.
    #[error("{0}")]
    Failed(#[source] kube::Error),
    /// The API server did not answer in time.
    #[error("no answer within {TIMEOUT:?}")]
    Timeout,
}

impl Error {
    /// The HTTP status of the answer, if there was one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused(status) => Some(status.code),
            Self::Failed(_) | Self::Timeout => None,
        }
    }
}

/// Waits for a request, but not for ever.
///
/// # Errors
/// See [`Error`].
pub async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(kube::Error::Api(status))) => Err(Error::Refused(status)),
        Ok(Err(error)) => Err(Error::Failed(error)),
        Err(_) => Err(Error::Timeout),
    }
}
