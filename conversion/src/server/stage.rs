//! How far the server has got with stopping.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tracing::{info, warn};

/// How long late requests are still answered at the least, with a 503 that makes the API server try another replica. A connection
/// that was just closed, in contrast, fails the request of somebody in the cluster.
const LATE: Duration = Duration::from_secs(1);

/// How long requests in flight may take once the delay is over.
const GRACE: Duration = Duration::from_secs(30);

/// How often it is looked whether any request is left.
const INTERVAL: Duration = Duration::from_millis(20);

/// A stage of the server's life; each comes after the one before it, and none comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// All is well.
    Serving,
    /// Not ready any more, but every request is served: not everybody has heard of it yet.
    Draining,
    /// What is in flight finishes, and later requests are told to try elsewhere.
    Closing,
    /// Connections are closed as soon as nothing is in flight on them.
    Ended,
}

/// The server's stage, and its requests in flight.
#[derive(Debug)]
pub(super) struct Life {
    stage: watch::Sender<Stage>,
    in_flight: AtomicUsize,
}

/// A request in flight, until it is dropped.
#[derive(Debug)]
#[must_use = "the request is in flight while this lives"]
pub(super) struct InFlight(Arc<Life>);

impl Life {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            stage: watch::Sender::new(Stage::Serving),
            in_flight: AtomicUsize::new(0),
        })
    }

    pub(super) fn stage(&self) -> Stage {
        *self.stage.borrow()
    }

    /// To be told of each new stage.
    pub(super) fn watch(&self) -> watch::Receiver<Stage> {
        self.stage.subscribe()
    }

    /// Counts a request as in flight.
    pub(super) fn begin(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::SeqCst);
        InFlight(Arc::clone(self))
    }

    /// Goes from stage to stage, until all requests are answered or the grace is over.
    pub(super) async fn end(&self, delay: Duration) {
        info!(
            "stopping: not ready any more, serving for {} s",
            delay.as_secs_f32()
        );
        self.stage.send_replace(Stage::Draining);
        sleep(delay).await;
        self.stage.send_replace(Stage::Closing);
        let start = Instant::now();
        sleep(LATE).await;
        while self.in_flight.load(Ordering::SeqCst) > 0 {
            if start.elapsed() > GRACE {
                warn!("requests were still in flight after {} s", GRACE.as_secs());
                break;
            }
            sleep(INTERVAL).await;
        }
        self.stage.send_replace(Stage::Ended);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn took(life: Arc<Life>) -> Duration {
        let start = Instant::now();
        life.end(Duration::from_secs(10)).await;
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn without_requests_it_ends_a_second_after_the_delay() {
        assert_eq!(took(Life::new()).await.as_secs(), 11);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_in_flight_are_waited_for() {
        let life = Life::new();
        let request = life.begin();
        tokio::spawn(async move {
            sleep(Duration::from_secs(15)).await;
            drop(request);
        });
        assert_eq!(took(life).await.as_secs(), 15);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_does_not_end_is_waited_for_no_longer_than_the_grace() {
        let life = Life::new();
        let _request = life.begin();
        assert_eq!(took(life).await.as_secs(), 40);
    }
}
