//! Durations as Go writes them: `90s`, `1h30m`, `1.5s`.
//!
//! The API server decides with Go's `time.ParseDuration` (through CEL's `duration()`) whether a
//! timeout is admitted. [`parse`] therefore gives Go's answer for every text, to the nanosecond and
//! including the corners: an object that was admitted must never be unreadable to the operator.

use std::time::Duration;

use crate::rules;

const NANOSECOND: u64 = 1;
const MICROSECOND: u64 = 1_000 * NANOSECOND;
const MILLISECOND: u64 = 1_000 * MICROSECOND;
const SECOND: u64 = 1_000 * MILLISECOND;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

/// The magnitude of the most negative duration; one more than that of the longest positive one.
const LIMIT: u64 = 1 << 63;

/// Why a text is not a duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// There is nothing but perhaps a sign.
    #[error("a duration is empty: expected a number and a unit, such as 90s or 1h30m")]
    Empty,
    /// A number was expected here: the rest of the text is given.
    #[error("expected a number at {0:?} in a duration")]
    ExpectedNumber(String),
    /// A number is followed by no unit.
    #[error("a number without a unit in a duration: expected one of ns, us, ms, s, m, h")]
    MissingUnit,
    /// A unit that does not exist.
    #[error("unknown unit {0:?} in a duration: expected one of ns, us, ms, s, m, h")]
    UnknownUnit(String),
    /// More nanoseconds than 64 bits hold, about 292 years.
    #[error("a duration is longer than 292 years")]
    Overflow,
    /// A duration, but not one that a timeout may have.
    #[error("a timeout must be {}", rules::TIMEOUT_RANGE)]
    OutOfRange,
}

/// Reads a duration: the nanoseconds that Go's `time.ParseDuration` gives.
///
/// The grammar is `[-+]?([0-9]*(\.[0-9]*)?[a-z]+)+` with at least one digit in each number, or `0`;
/// the units are ns, us (also with either Unicode micro sign), ms, s, m and h. A fraction of a
/// nanosecond is cut off.
///
/// # Errors
/// What is wrong with the text, and where.
pub fn parse(text: &str) -> Result<i64, DurationError> {
    let (negative, magnitude) = match text.strip_prefix(['-', '+']) {
        Some(rest) => (text.starts_with('-'), rest),
        None => (false, text),
    };
    if magnitude.is_empty() {
        return Err(DurationError::Empty);
    }
    if magnitude == "0" {
        return Ok(0);
    }

    let mut total: u64 = 0;
    let mut rest = magnitude;
    while !rest.is_empty() {
        let (term, after) = take_term(rest)?;
        // Go adds without a carry, so twice the limit is nothing. That is odd, but it is its answer.
        total = total.wrapping_add(term);
        if total > LIMIT {
            return Err(DurationError::Overflow);
        }
        rest = after;
    }
    if negative {
        Ok((total as i64).wrapping_neg())
    } else {
        i64::try_from(total).map_err(|_| DurationError::Overflow)
    }
}

/// Reads a timeout: a duration above zero and at most [`rules::TIMEOUT_MAX`].
///
/// # Errors
/// What is wrong with the text, or [`DurationError::OutOfRange`].
pub fn parse_timeout(text: &str) -> Result<Duration, DurationError> {
    let nanoseconds = parse(text)?;
    match u64::try_from(nanoseconds).map(Duration::from_nanos) {
        Ok(timeout) if !timeout.is_zero() && timeout <= rules::TIMEOUT_MAX => Ok(timeout),
        _ => Err(DurationError::OutOfRange),
    }
}

/// Takes one number with its unit off the front: its nanoseconds, and what follows.
fn take_term(text: &str) -> Result<(u64, &str), DurationError> {
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => split_digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError::ExpectedNumber(text.to_owned()));
    }
    let end = rest
        .find(|c: char| c == '.' || c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (name, rest) = rest.split_at(end);
    let unit = unit(name)?;

    let whole = whole
        .bytes()
        .try_fold(0u64, |sum, digit| {
            sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'))
        })
        .and_then(|count| count.checked_mul(unit))
        .filter(|&nanoseconds| nanoseconds <= LIMIT)
        .ok_or(DurationError::Overflow)?;
    let nanoseconds = whole + fraction_of(fraction, unit);
    if nanoseconds > LIMIT {
        return Err(DurationError::Overflow);
    }
    Ok((nanoseconds, rest))
}

fn split_digits(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn unit(name: &str) -> Result<u64, DurationError> {
    match name {
        "ns" => Ok(NANOSECOND),
        // As ASCII, with the micro sign (U+00B5), and with the Greek letter (U+03BC).
        "us" | "\u{b5}s" | "\u{3bc}s" => Ok(MICROSECOND),
        "ms" => Ok(MILLISECOND),
        "s" => Ok(SECOND),
        "m" => Ok(MINUTE),
        "h" => Ok(HOUR),
        "" => Err(DurationError::MissingUnit),
        _ => Err(DurationError::UnknownUnit(name.to_owned())),
    }
}

/// The nanoseconds of `0.digits` units, less than one unit or, by rounding, just one.
///
/// Go computes this in floating point, and digits beyond what 63 bits hold do not count; the same
/// steps are taken here because a result at the very edge of a range depends on them.
fn fraction_of(digits: &str, unit: u64) -> u64 {
    let mut count: u64 = 0;
    let mut scale: f64 = 1.0;
    for digit in digits.bytes() {
        if count > (LIMIT - 1) / 10 {
            break;
        }
        let next = count * 10 + u64::from(digit - b'0');
        if next > LIMIT {
            break;
        }
        count = next;
        scale *= 10.0;
    }
    (count as f64 * (unit as f64 / scale)) as u64
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_duration_is_read_as_go_reads_it() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("+0", 0),
            ("-0", 0),
            ("0s", 0),
            ("90s", 90_000_000_000),
            ("1h30m", 5_400_000_000_000),
            ("1.5s", 1_500_000_000),
            ("+5s", 5_000_000_000),
            ("-5s", -5_000_000_000),
            (".5s", 500_000_000),
            ("5.s", 5_000_000_000),
            ("1us1\u{b5}s1\u{3bc}s", 3_000),
            ("1m1h1m", 3_720_000_000_000),
            ("0.9ns", 0),
            ("0.3333333333333333333h", 1_200_000_000_000),
            ("0.830103483285477580700h", 2_988_372_539_827),
            ("0.100000000000000000000h", 360_000_000_000),
            ("9223372036854775807ns", i64::MAX),
            ("-9223372036854775808ns", i64::MIN),
            (
                "9223372036854775808ns9223372036854775808ns1h",
                3_600_000_000_000,
            ),
        ] {
            assert_eq!(parse(text), Ok(nanoseconds), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_refused_with_a_reason() {
        use DurationError::{Empty, ExpectedNumber, MissingUnit, Overflow, UnknownUnit};
        for (text, error) in [
            ("", Empty),
            ("-", Empty),
            ("3", MissingUnit),
            ("00", MissingUnit),
            ("1s2", MissingUnit),
            ("s", ExpectedNumber("s".into())),
            (".s", ExpectedNumber(".s".into())),
            ("--1s", ExpectedNumber("-1s".into())),
            (" 1s", ExpectedNumber(" 1s".into())),
            ("1s ", UnknownUnit("s ".into())),
            ("1 s", UnknownUnit(" s".into())),
            ("1d", UnknownUnit("d".into())),
            ("1H", UnknownUnit("H".into())),
            ("1h-1m", UnknownUnit("h-".into())),
            ("1.2.3s", MissingUnit),
            ("9223372036854775808ns", Overflow),
            ("-9223372036854775809ns", Overflow),
            ("9223372036854775808h", Overflow),
            ("99999999999999999999s", Overflow),
            ("2562048h", Overflow),
        ] {
            assert_eq!(parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_timeout_is_above_zero_and_at_most_720_hours() {
        for text in [
            "1ns",
            "1s",
            "720h",
            "719h60m",
            "2592000s",
            "2592000000000000ns",
        ] {
            assert!(parse_timeout(text).is_ok(), "{text}");
        }
        for text in ["0", "0s", "0.9ns", "-1s", "720h1ns", "721h", "2592001s"] {
            assert_eq!(
                parse_timeout(text),
                Err(DurationError::OutOfRange),
                "{text}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in r"[-+]?([0-9]{0,22}(\.[0-9]{0,22})?(ns|us|ms|s|m|h|d|µs)?){0,4}|\PC*") {
            let _ = parse(&text);
            let _ = parse_timeout(&text);
        }

        #[test]
        fn the_sign_changes_nothing_else(text in r"([0-9]{1,12}(\.[0-9]{0,12})?(ns|us|ms|s|m)){1,3}") {
            let plain = parse(&text);
            prop_assert_eq!(&parse(&format!("+{text}")), &plain);
            prop_assert_eq!(parse(&format!("-{text}")), plain.map(|nanoseconds| -nanoseconds));
        }
    }
}
