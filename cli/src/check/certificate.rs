//! How long the authorities of a bundle are good for.

use std::time::Duration;

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use x509_parser::pem::Pem;

use crate::report::Verdict;

/// What is to be said of a bundle of authorities in PEM.
///
/// A bundle holds an old one and a new one while they are exchanged, so the one that lasts longest counts.
pub(super) fn judge(bundle: &[u8], now: Timestamp, expiring: Duration) -> (Verdict, String) {
    let mut last: Option<i64> = None;
    let mut count = 0;
    for pem in Pem::iter_from_buffer(bundle) {
        let end = pem
            .ok()
            .and_then(|pem| Some(pem.parse_x509().ok()?.validity().not_after.timestamp()));
        let Some(end) = end else {
            return (
                Verdict::Warn,
                "the caBundle holds something that is no certificate".to_owned(),
            );
        };
        last = last.max(Some(end));
        count += 1;
    }
    let Some(end) = last.and_then(|end| Timestamp::from_second(end).ok()) else {
        return (
            Verdict::Warn,
            "the caBundle holds no certificate, so the API server trusts no webhook".to_owned(),
        );
    };
    let left = end.duration_since(now);
    let limit = SignedDuration::try_from(expiring).unwrap_or(SignedDuration::MAX);
    let text = format!("{count} in the caBundle, the last one until {end}");
    match left {
        left if left.is_negative() => (Verdict::Warn, format!("{text}: expired")),
        left if left < limit => (
            Verdict::Warn,
            format!("{text}: expires in {} days", left.as_hours() / 24),
        ),
        _ => (Verdict::Ok, text),
    }
}

#[cfg(test)]
mod tests {
    use control_plane::certificates::Authority;

    use super::*;

    fn judged(bundle: &str, now: &str) -> (Verdict, String) {
        judge(
            bundle.as_bytes(),
            now.parse().unwrap(),
            Duration::from_secs(30 * 24 * 3600),
        )
    }

    #[test]
    fn an_authority_is_good_until_shortly_before_it_expires() {
        // It ends with the year 4095.
        let pem = Authority::new("test").unwrap().cert_pem();
        for (now, expected, end) in [
            ("2026-01-01T00:00:00Z", Verdict::Ok, "Z"),
            ("4095-12-20T00:00:00Z", Verdict::Warn, "expires in 12 days"),
            ("4096-02-01T00:00:00Z", Verdict::Warn, "expired"),
        ] {
            let (verdict, text) = judged(&pem, now);
            assert_eq!(verdict, expected, "{now}");
            assert!(text.ends_with(end), "{text}");
        }
    }

    #[test]
    fn a_bundle_without_a_certificate_is_told() {
        let now = "2026-01-01T00:00:00Z";
        assert!(judged("", now).1.contains("no certificate"));
        let broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
        assert!(judged(broken, now).1.contains("is no certificate"));
    }
}
