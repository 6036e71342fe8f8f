//! Trying again what fails only for the moment.

use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// What each try is given at the least: an API server that has much to do answers late.
const ONE_TRY: Duration = Duration::from_secs(10);

/// How long a request is tried again that fails for a reason that may pass: the API server, or a webhook that it asks, does not answer.
#[derive(Clone, Copy, Debug)]
pub struct Patience(pub Duration);

/// Nothing came, not even an error.
#[derive(Debug, thiserror::Error)]
#[error("no answer within {} s", .0.as_secs())]
struct NoAnswer(Duration);

impl Patience {
    /// Makes a request until it is answered.
    ///
    /// A try that is not answered at all ends when time is up, or after ten seconds where that is later.
    ///
    /// # Errors
    /// That of the last try that was answered: one that will not pass, or had not when time was up.
    pub async fn insist<T>(self, request: impl AsyncFn() -> kube::Result<T>) -> kube::Result<T> {
        let begin = Instant::now();
        let deadline = begin + self.0;
        let mut pause = FIRST_PAUSE;
        let mut last = None;
        loop {
            let end = deadline.max(Instant::now() + ONE_TRY);
            let Ok(answer) = timeout_at(end, request()).await else {
                let time = end - begin;
                return Err(last.unwrap_or_else(|| kube::Error::Service(NoAnswer(time).into())));
            };
            match answer {
                Err(error) if may_pass(&error) && Instant::now() + pause < deadline => {
                    last = Some(error);
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
    use std::future::pending;
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

    #[tokio::test(start_paused = true)]
    async fn what_is_not_answered_at_all_is_not_waited_for_longer() {
        for (patience, waited) in [(30, 30), (1, 10)] {
            let begin = Instant::now();
            let hangs = async || pending::<kube::Result<()>>().await;
            let error = Patience(Duration::from_secs(patience)).insist(hangs).await;
            assert_eq!(begin.elapsed().as_secs(), waited);
            let told = crate::cluster::told(&error.unwrap_err());
            assert_eq!(told, format!("no answer within {waited} s"));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_answered_says_more_than_what_was_not() {
        let tries = AtomicUsize::new(0);
        let request = async || match tries.fetch_add(1, Ordering::Relaxed) {
            0 => Err(failure(500)),
            _ => pending::<kube::Result<()>>().await,
        };
        let error = Patience(Duration::from_secs(30)).insist(request).await;
        assert!(matches!(error, Err(kube::Error::Api(status)) if status.code == 500));
    }
}
