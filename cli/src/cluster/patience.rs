//! Trying again what fails only for the moment.

use std::time::Duration;

use tokio::time::{Instant, sleep};

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long a request is tried again that fails for a reason that may pass: the API server, or a webhook that it asks, does not answer.
#[derive(Clone, Copy, Debug)]
pub struct Patience(pub Duration);

impl Patience {
    /// Makes a request until it is answered.
    ///
    /// # Errors
    /// That of the last try: one that will not pass, or had not when time was up.
    pub async fn insist<T>(self, request: impl AsyncFn() -> kube::Result<T>) -> kube::Result<T> {
        let deadline = Instant::now() + self.0;
        let mut pause = FIRST_PAUSE;
        loop {
            match request().await {
                Err(error) if may_pass(&error) && Instant::now() + pause < deadline => {
                    sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }
}

/// Whether the same request may be answered in a while.
#[must_use]
pub fn may_pass(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => matches!(status.code, 429 | 500 | 502 | 503 | 504),
        kube::Error::Service(_) | kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use kube::core::Status;

    use super::*;

    fn failure(code: u16) -> kube::Error {
        kube::Error::Api(Status::failure("no", "").with_code(code).boxed())
    }

    async fn tries(code: u16, succeeds_at: usize) -> (usize, bool) {
        let tries = AtomicUsize::new(0);
        let patience = Patience(Duration::from_secs(30));
        let outcome = patience
            .insist(async || match tries.fetch_add(1, Ordering::Relaxed) + 1 {
                number if number == succeeds_at => Ok(()),
                _ => Err(failure(code)),
            })
            .await;
        (tries.into_inner(), outcome.is_ok())
    }

    #[tokio::test(start_paused = true)]
    async fn what_may_pass_is_tried_again_until_time_is_up() {
        assert_eq!(tries(503, 3).await, (3, true));
        let (tries, succeeded) = tries(500, usize::MAX).await;
        assert!(!succeeded && (5..20).contains(&tries), "{tries}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_will_not_pass_is_not_tried_again() {
        assert_eq!(tries(422, 2).await, (1, false));
        assert_eq!(tries(404, 2).await, (1, false));
    }
}
