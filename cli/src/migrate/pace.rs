//! Not more requests a second than the person allows.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::{Interval, MissedTickBehavior, interval};

/// Lets so many requests a second pass.
pub struct Pace(Option<Mutex<Interval>>);

impl Pace {
    /// So many a second; 0: as many as come.
    #[must_use]
    pub fn of(per_second: u32) -> Self {
        let apart = Duration::from_secs(1).checked_div(per_second);
        Self(apart.map(|apart| {
            let mut interval = interval(apart);
            // What was missed is not made up for all at once.
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Mutex::new(interval)
        }))
    }

    /// Waits until one more request may be made.
    pub async fn wait(&self) {
        if let Some(interval) = &self.0 {
            interval.lock().await.tick().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    async fn time_of(requests: u32, per_second: u32) -> Duration {
        let pace = Pace::of(per_second);
        let begin = Instant::now();
        for _ in 0..requests {
            pace.wait().await;
        }
        begin.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_pass_than_are_allowed() {
        assert_eq!(time_of(101, 50).await.as_secs(), 2);
        assert_eq!(time_of(1000, 0).await, Duration::ZERO);
    }
}
