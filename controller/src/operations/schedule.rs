//! When a provider is called next. Pure.

use std::time::Duration;

use jiff::Timestamp;

/// The longest interval between two polls, before jitter.
const POLL_LONGEST: Duration = Duration::from_secs(600);

/// The longest wait before a call is repeated, before jitter.
const RETRY_LONGEST: Duration = Duration::from_secs(3600);

/// The longest wait before a connection is tried again, before jitter.
const RECONNECT_LONGEST: Duration = Duration::from_secs(60);

/// How much a wait is lengthened at most, so that what failed together is not repeated together.
const JITTER: f64 = 0.25;

/// How a provider fares, as measured by the calls that this process made to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pressure {
    /// How long an answer takes.
    pub latency: Duration,
    /// The part of the calls that fail, in percent.
    pub error_rate: f64,
    /// How many Tasks wait for their turn.
    pub queue_depth: usize,
}

/// The wait before a call is repeated that failed `failures` times in a row: 10 s after each of the first three, 1 min after each of
/// the next three, then 5 min, doubled up to 1 h. `random`, from 0 to 1, lengthens it by up to a quarter.
pub fn retry(failures: u32, random: f64) -> Duration {
    let wait = match failures {
        0..=3 => Duration::from_secs(10),
        4..=6 => Duration::from_secs(60),
        more => Duration::from_secs(300).saturating_mul(2_u32.saturating_pow(more - 7)),
    };
    jittered(wait.min(RETRY_LONGEST), random)
}

/// The wait before a connection that failed `failures` times in a row is tried again: 1 s, doubled up to 1 min. `random`, from 0 to 1, lengthens
/// it by up to a quarter.
pub fn reconnect(failures: u32, random: f64) -> Duration {
    let doublings = failures.saturating_sub(1);
    let wait = Duration::from_secs(1).saturating_mul(2_u32.saturating_pow(doublings));
    jittered(wait.min(RECONNECT_LONGEST), random)
}

/// The interval between two polls, longer the worse the provider fares:
/// `base` × 2^(0.5·latency/1 s + 0.3·error rate/100 + 0.2·queue depth/1000), at most 10 min. `random`, from 0 to 1, lengthens it by up to
/// a quarter.
pub fn poll(base: Duration, pressure: Pressure, random: f64) -> Duration {
    let exponent = 0.5 * pressure.latency.as_secs_f64()
        + 0.3 * pressure.error_rate / 100.0
        + 0.2 * pressure.queue_depth as f64 / 1000.0;
    let seconds = base.as_secs_f64() * exponent.exp2();
    let interval = Duration::try_from_secs_f64(seconds).unwrap_or(POLL_LONGEST);
    jittered(interval.min(POLL_LONGEST), random)
}

/// The time that long after `start`, in whole seconds, which is how Kubernetes keeps it; not before it is over.
pub fn after(start: Timestamp, wait: Duration) -> Timestamp {
    let end = start.saturating_add(wait).unwrap_or(Timestamp::MAX);
    let whole = end.as_second() + i64::from(end.subsec_nanosecond() > 0);
    Timestamp::from_second(whole).unwrap_or(Timestamp::MAX)
}

fn jittered(wait: Duration, random: f64) -> Duration {
    wait.mul_f64(1.0 + JITTER * random.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn retries_follow_the_schedule() {
        let waits: Vec<_> = (1..=12).map(|n| retry(n, 0.0).as_secs()).collect();
        assert_eq!(
            waits,
            [10, 10, 10, 60, 60, 60, 300, 600, 1200, 2400, 3600, 3600]
        );
        assert_eq!(retry(u32::MAX, 0.0), RETRY_LONGEST);
    }

    #[test]
    fn a_connection_is_tried_again_later_each_time_up_to_a_minute() {
        let waits = [0, 1, 2, 6, 7, u32::MAX].map(|n| reconnect(n, 0.0).as_secs());
        assert_eq!(waits, [1, 1, 2, 32, 60, 60]);
    }

    #[test]
    fn an_idle_provider_is_polled_at_the_base_interval() {
        let base = Duration::from_secs(30);
        assert_eq!(poll(base, Pressure::default(), 0.0), base);
    }

    #[test]
    fn pressure_lengthens_the_interval() {
        let base = Duration::from_secs(30);
        for (latency, error_rate, queue_depth, seconds) in [
            (2, 0.0, 0, 60.0),
            (0, 100.0, 0, 36.9),
            (0, 0.0, 5000, 60.0),
            (2, 0.0, 5000, 120.0),
            (3600, 100.0, 0, 600.0),
        ] {
            let pressure = Pressure {
                latency: Duration::from_secs(latency),
                error_rate,
                queue_depth,
            };
            let interval = poll(base, pressure, 0.0).as_secs_f64();
            assert!((interval - seconds).abs() < 0.1, "{pressure:?}: {interval}");
        }
    }

    #[test]
    fn a_wait_is_over_in_a_whole_second_not_before() {
        let start: Timestamp = "2026-01-02T03:04:05.5Z".parse().unwrap();
        let end = after(start, Duration::from_secs(1));
        assert_eq!(end.to_string(), "2026-01-02T03:04:07Z");
        assert!(after(start, Duration::MAX) > end);
    }

    proptest! {
        #[test]
        fn jitter_lengthens_by_no_more_than_a_quarter(failures in 0..40_u32, random: f64) {
            let plain = retry(failures, 0.0);
            let wait = retry(failures, random);
            prop_assert!(wait >= plain && wait <= plain.mul_f64(1.25));
        }
    }
}
