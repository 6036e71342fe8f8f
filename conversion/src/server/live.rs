//! Whether the server is alive: that it answers at all says most of it, the rest is whether some thread is stuck.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A review that takes longer than this will never be answered: the largest takes a second.
const STUCK: Duration = Duration::from_secs(60);

/// The reviews that some thread is answering now.
#[derive(Debug, Default)]
pub(super) struct Running {
    begun: Mutex<Begun>,
}

#[derive(Debug, Default)]
struct Begun {
    next: u64,
    running: HashMap<u64, Instant>,
}

/// A review that a thread is answering, until this is dropped.
#[derive(Debug)]
#[must_use = "the review counts as running while this lives"]
pub(super) struct Run {
    all: Arc<Running>,
    id: u64,
}

impl Running {
    /// Tells that a thread begins to answer a review.
    pub(super) fn begin(self: &Arc<Self>) -> Run {
        let mut begun = self.begun();
        let id = begun.next;
        begun.next += 1;
        begun.running.insert(id, Instant::now());
        drop(begun);
        Run {
            all: Arc::clone(self),
            id,
        }
    }

    /// How long the oldest review has been running, when that is so long that its thread must be stuck.
    pub(super) fn stuck(&self) -> Option<Duration> {
        let begun = self.begun();
        let oldest = begun.running.values().map(Instant::elapsed).max()?;
        (oldest > STUCK).then_some(oldest)
    }

    fn begun(&self) -> MutexGuard<'_, Begun> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        self.all.begun().running.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_that_runs_for_over_a_minute_is_stuck() {
        let running = Arc::new(Running::default());
        let run = running.begin();
        assert_eq!(running.stuck(), None);
        let long_ago = Instant::now()
            .checked_sub(STUCK + Duration::from_secs(1))
            .unwrap();
        running.begun().running.insert(run.id, long_ago);
        assert_eq!(running.stuck().unwrap().as_secs(), 61);
        drop(run);
        assert_eq!(running.stuck(), None);
    }
}
