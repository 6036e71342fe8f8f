//! `timeout`, a duration as Go writes it, and `timeoutSeconds`, whole seconds.

use task_api_v1::duration;

use crate::json::{Node, decode, encode};
use crate::lens::{Forms, Unexpected};

/// Seconds are a part of a second rounded up; a duration is its shortest writing in hours, minutes and seconds. What is no timeout
/// has no seconds.
pub(super) const TIMEOUT: Forms = Forms { down, up };

fn down(timeout: &Node<'_>) -> Result<Option<String>, Unexpected> {
    let raw = timeout
        .string()
        .ok_or_else(|| Unexpected::at_top("a duration such as \"90s\"", timeout))?;
    let Ok(timeout) = duration::parse_timeout(&decode(raw)) else {
        return Ok(None);
    };
    let part = u64::from(timeout.subsec_nanos() > 0);
    Ok(Some((timeout.as_secs() + part).to_string()))
}

fn up(seconds: &Node<'_>) -> Result<Option<String>, Unexpected> {
    if seconds.kind() != "number" {
        return Err(Unexpected::at_top("a number of seconds", seconds));
    }
    Ok(whole_number(&seconds.text()).map(|seconds| encode(&shortest(seconds))))
}

/// The whole number that a JSON number is, in whatever way it is written.
fn whole_number(text: &str) -> Option<i64> {
    text.parse().ok().or_else(|| {
        let number: f64 = text.parse().ok()?;
        // Beyond this, a double does not tell whole numbers apart.
        (number.fract() == 0.0 && number.abs() < 9.0e15).then_some(number as i64)
    })
}

fn shortest(seconds: i64) -> String {
    let (sign, seconds) = (if seconds < 0 { "-" } else { "" }, seconds.unsigned_abs());
    let units = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let mut text = sign.to_owned();
    for (count, unit) in units {
        if count > 0 {
            text += &count.to_string();
            text += unit;
        }
    }
    if text.is_empty() {
        text += "0s";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_second_is_rounded_up() {
        for (timeout, seconds) in [
            ("1h", Some("3600")),
            ("90s", Some("90")),
            ("1.5s", Some("2")),
            ("1ns", Some("1")),
            ("720h", Some("2592000")),
            ("719h59m59.000000001s", Some("2592000")),
            ("0s", None),
            ("-1s", None),
            ("721h", None),
            ("soon", None),
        ] {
            assert_eq!(
                down(&Node::from(encode(timeout))).unwrap().as_deref(),
                seconds,
                "{timeout}"
            );
        }
    }

    #[test]
    fn seconds_become_their_shortest_writing() {
        for (seconds, timeout) in [
            ("3600", Some("\"1h\"")),
            ("90", Some("\"1m30s\"")),
            ("3601", Some("\"1h1s\"")),
            ("2592000", Some("\"720h\"")),
            ("1e3", Some("\"16m40s\"")),
            ("0", Some("\"0s\"")),
            ("-61", Some("\"-1m1s\"")),
            ("1.5", None),
            ("1e300", None),
        ] {
            assert_eq!(
                up(&Node::from(seconds)).unwrap().as_deref(),
                timeout,
                "{seconds}"
            );
        }
    }
}
