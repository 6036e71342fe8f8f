//! The numbers of the certificates, in the registry of the controller.

use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

use super::life::Life;

/// What is told of the certificates.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    expiry: Family<Which, Gauge>,
    changes: Family<Change, Counter>,
    failures: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Which {
    certificate: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Change {
    change: &'static str,
}

impl Metrics {
    /// The numbers, which `registry` gives out from now on. Those of certificates that are not looked after are not in it.
    pub fn registered(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "task_certificates_expiry_timestamp_seconds",
            "When the newest authority and the serving certificate on record expire, in seconds since 1970",
            metrics.expiry.clone(),
        );
        registry.register(
            "task_certificates_changes",
            "What was done: authority_added, published (to the API server), issued (to the server), authorities_retired, \
             authorities_kept (that were trusted but not on record)",
            metrics.changes.clone(),
        );
        registry.register(
            "task_certificates_failures",
            "Attempts to look after the certificates that failed and were repeated",
            metrics.failures.clone(),
        );
        metrics
    }

    pub(super) fn authority(&self, life: &Life) {
        self.expires("authority", life);
    }

    pub(super) fn serving(&self, life: &Life) {
        self.expires("serving", life);
    }

    pub(super) fn changed(&self, change: &'static str) {
        self.changes.get_or_create(&Change { change }).inc();
    }

    pub(super) fn failed(&self) {
        self.failures.inc();
    }

    fn expires(&self, certificate: &'static str, life: &Life) {
        let which = Which { certificate };
        self.expiry.get_or_create(&which).set(life.ends.as_second());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use prometheus_client::encoding::text::encode;

    use super::*;

    #[test]
    fn the_names_are_those_that_are_documented() {
        let mut registry = Registry::default();
        let metrics = Metrics::registered(&mut registry);
        let life = Life::from_now(Timestamp::UNIX_EPOCH, Duration::from_secs(60));
        metrics.authority(&life);
        metrics.serving(&life);
        metrics.changed("issued");
        metrics.failed();
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "task_certificates_expiry_timestamp_seconds{certificate=\"authority\"} 60",
            "task_certificates_expiry_timestamp_seconds{certificate=\"serving\"} 60",
            "task_certificates_changes_total{change=\"issued\"} 1",
            "task_certificates_failures_total 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
