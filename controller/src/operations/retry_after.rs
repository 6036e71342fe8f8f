//! The header `Retry-After` (RFC 9110, section 10.2.3). Pure.

use std::time::Duration;

use jiff::{Timestamp, fmt::rfc2822};

/// How long the header asks to wait, at most `cap`: a number of seconds, or a date, which asks for nothing once it is past.
///
/// `None` for what is neither.
pub fn parse(text: &str, now: Timestamp, cap: Duration) -> Option<Duration> {
    let text = text.trim();
    let wait = if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than a number has are a long time too.
        Duration::from_secs(text.parse().unwrap_or(u64::MAX))
    } else {
        let date = rfc2822::parse(text).ok()?.timestamp();
        Duration::try_from(date.duration_since(now)).unwrap_or(Duration::ZERO)
    };
    Some(wait.min(cap))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CAP: Duration = Duration::from_secs(600);

    fn seconds(text: &str) -> Option<u64> {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        parse(text, now, CAP).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_and_dates_are_read() {
        for (text, wait) in [
            ("0", Some(0)),
            ("120", Some(120)),
            (" 7 ", Some(7)),
            ("Fri, 02 Jan 2026 03:05:05 GMT", Some(60)),
            ("Fri, 02 Jan 2026 03:04:05 GMT", Some(0)),
        ] {
            assert_eq!(seconds(text), wait, "{text}");
        }
    }

    #[test]
    fn what_is_past_asks_for_nothing() {
        assert_eq!(seconds("Thu, 01 Jan 2026 00:00:00 GMT"), Some(0));
    }

    #[test]
    fn what_is_too_long_is_capped() {
        for text in [
            "601",
            "99999999999999999999999",
            "Fri, 01 Jan 2027 00:00:00 GMT",
        ] {
            assert_eq!(seconds(text), Some(600), "{text}");
        }
    }

    #[test]
    fn garbage_says_nothing() {
        for text in [
            "",
            "soon",
            "-5",
            "1.5",
            "5s",
            "+3",
            "Fri, 99 Jan 2026 03:04:05 GMT",
        ] {
            assert_eq!(seconds(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_or_wait_longer_than_the_cap(text: String) {
            let wait = parse(&text, Timestamp::now(), CAP);
            prop_assert!(wait.is_none_or(|wait| wait <= CAP));
        }
    }
}
