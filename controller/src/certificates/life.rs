//! From when to when a certificate is good.

use std::time::Duration;

use jiff::Timestamp;

/// How long before it is made a certificate begins to be good, for those whose clock is slow.
pub(super) const BACKDATED: Duration = Duration::from_secs(5 * 60);

/// The time within which a certificate is good, in whole seconds as certificates have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Life {
    /// From when on it is good.
    pub(super) begins: Timestamp,
    /// Until when.
    pub(super) ends: Timestamp,
}

impl Life {
    /// That of a certificate that is made now, to be used for `validity`.
    pub(super) fn from_now(now: Timestamp, validity: Duration) -> Self {
        Self {
            begins: earlier(now, BACKDATED),
            ends: later(now, validity),
        }
    }

    /// When the certificate was made.
    pub(super) fn made(&self) -> Timestamp {
        later(self.begins, BACKDATED)
    }

    /// When it is to be replaced: after two thirds of the time that it is used.
    pub(super) fn due(&self) -> Timestamp {
        let used = self.ends.duration_since(self.made());
        let used = Duration::try_from(used).unwrap_or_default();
        later(self.made(), used * 2 / 3)
    }

    /// Whether it is good now. One that is not yet was made by a clock that was wrong.
    pub(super) fn is_good(&self, now: Timestamp) -> bool {
        self.begins <= now && now < self.ends
    }
}

/// `time` after `now`, or the end of time.
pub(super) fn later(now: Timestamp, time: Duration) -> Timestamp {
    now.saturating_add(time).unwrap_or(Timestamp::MAX)
}

fn earlier(now: Timestamp, time: Duration) -> Timestamp {
    now.saturating_sub(time).unwrap_or(Timestamp::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_due_after_two_thirds_of_its_use() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let life = Life::from_now(now, Duration::from_secs(90));
        assert_eq!(life.made(), now);
        assert_eq!(life.due(), later(now, Duration::from_secs(60)));
        for (seconds, is_good) in [(0, true), (89, true), (90, false)] {
            let then = later(now, Duration::from_secs(seconds));
            assert_eq!(life.is_good(then), is_good, "{seconds}");
        }
    }

    #[test]
    fn one_of_another_maker_that_is_shorter_than_the_backdating_is_due_at_once() {
        let now = Timestamp::from_second(1_000_000).unwrap();
        let life = Life {
            begins: now,
            ends: later(now, Duration::from_secs(60)),
        };
        assert!(life.due() >= life.ends);
        assert!(!life.is_good(life.due()));
    }
}
