//! The clock that Leases are judged by.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// A moment of this machine's life, as the time since it was started.
///
/// The time that the machine is suspended counts (`CLOCK_BOOTTIME`, where `std::time::Instant` is `CLOCK_MONOTONIC`), so that a machine
/// that wakes up knows that its Leases have expired. Nobody can set it. It says nothing to other machines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(Duration);

impl Moment {
    /// The moment that it is.
    #[must_use]
    pub fn now() -> Self {
        // Linux has this clock since 2.6.39. Where there is none, every Lease of this replica has expired.
        Self(clock_gettime(ClockId::CLOCK_BOOTTIME).map_or(Duration::MAX, Duration::from))
    }

    /// The moment that much later.
    #[must_use]
    pub fn after(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }

    /// How long it is from `earlier` to this; nothing if that is not earlier.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes() {
        let start = Moment::now();
        std::thread::sleep(Duration::from_millis(5));
        let passed = Moment::now().since(start);
        assert!(passed >= Duration::from_millis(5), "{passed:?}");
        assert_eq!(start.since(Moment::now()), Duration::ZERO);
    }
}
