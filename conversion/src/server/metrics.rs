//! What is counted, for Prometheus.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::review::Answer;

/// Every metric of the server.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    objects: Family<Versions, Counter>,
    rests: Family<RestEvent, Counter>,
    panics: Counter,
    seconds: Histogram,
    bytes: Histogram,
    pub(super) inflight_bytes: Gauge,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    endpoint: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Versions {
    from: &'static str,
    to: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RestEvent {
    event: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BuildInfo {
    version: &'static str,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            objects: Family::default(),
            rests: Family::default(),
            panics: Counter::default(),
            seconds: Histogram::new([0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 25.0]),
            bytes: Histogram::new([1e3, 1e4, 1e5, 1e6, 1e7, 6.4e7]),
            inflight_bytes: Gauge::default(),
        };
        let mut registry = Registry::with_prefix("task_conversion");
        registry.register(
            "requests",
            "Requests by endpoint and result: success, failure (a review whose answer is a failure), refused or error",
            metrics.requests.clone(),
        );
        registry.register(
            "objects",
            "Objects converted, by the versions that they came in and went out",
            metrics.objects.clone(),
        );
        registry.register(
            "rests",
            "What happened to the annotations that keep what a version cannot show",
            metrics.rests.clone(),
        );
        registry.register(
            "panics",
            "Conversions that panicked",
            metrics.panics.clone(),
        );
        registry.register(
            "request_duration_seconds",
            "How long a review took to answer, once it was read",
            metrics.seconds.clone(),
        );
        registry.register(
            "request_bytes",
            "The size of reviews",
            metrics.bytes.clone(),
        );
        registry.register(
            "inflight_bytes",
            "Bytes of the reviews that are being read or answered",
            metrics.inflight_bytes.clone(),
        );
        let build = Family::<BuildInfo, Gauge>::default();
        build
            .get_or_create(&BuildInfo {
                version: env!("CARGO_PKG_VERSION"),
            })
            .set(1);
        registry.register("build_info", "The version that runs", build);
        Self {
            registry,
            ..metrics
        }
    }

    /// Counts a request by the path it came to and how it went.
    pub(super) fn requested(&self, endpoint: &'static str, result: &'static str) {
        self.requests
            .get_or_create(&Request { endpoint, result })
            .inc();
    }

    /// Counts a review of `bytes` bytes, answered in `took`.
    pub(super) fn answered(&self, answer: &Answer, bytes: usize, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
        self.bytes.observe(bytes as f64);
        self.panics.inc_by(answer.panics as u64);
        for ((from, to), count) in &answer.converted {
            self.objects
                .get_or_create(&Versions { from, to })
                .inc_by(*count as u64);
        }
        let events = answer.events;
        for (event, count) in [
            ("written", events.written),
            ("restored", events.restored),
            ("broken", events.broken),
            ("misplaced", events.misplaced),
            ("omitted", events.omitted),
        ] {
            if count > 0 {
                self.rests
                    .get_or_create(&RestEvent { event })
                    .inc_by(count as u64);
            }
        }
    }

    /// The metrics in the OpenMetrics text format.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
