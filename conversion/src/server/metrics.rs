//! What is counted, for Prometheus.

use std::collections::BTreeMap;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::review::EventCounts;

/// Every metric of the server.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Request, Counter>,
    objects: Family<Versions, Counter>,
    rests: Family<RestEvent, Counter>,
    panics: Counter,
    seconds: Family<Endpoint, Histogram>,
    bytes: Family<Endpoint, Histogram>,
    reloads: Family<Reload, Counter>,
    inflight_bytes: Gauge,
    connections: Gauge,
    expiry: Gauge,
}

/// How a request is counted.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct Request {
    /// The path it came to, in a word.
    pub(super) endpoint: &'static str,
    /// The version that its objects came in; empty when there is none, `mixed` when there are several.
    pub(super) from: &'static str,
    /// The version that they went out.
    pub(super) to: &'static str,
    /// How it went.
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Versions {
    from: &'static str,
    to: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Endpoint {
    endpoint: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RestEvent {
    event: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Reload {
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BuildInfo {
    version: &'static str,
}

/// What is measured when the metrics are asked for, and not when it changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels {
    pub(super) inflight_bytes: usize,
    pub(super) connections: usize,
    /// In seconds since 1970.
    pub(super) certificate_expiry: i64,
}

impl Metrics {
    pub(super) fn new(prefix: &str) -> Self {
        let metrics = Self {
            registry: Registry::default(),
            requests: Family::default(),
            objects: Family::default(),
            rests: Family::default(),
            panics: Counter::default(),
            seconds: Family::new_with_constructor(|| {
                Histogram::new([0.0005, 0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 25.0])
            }),
            bytes: Family::new_with_constructor(|| {
                Histogram::new([1e3, 1e4, 1e5, 1e6, 1e7, 6.4e7])
            }),
            reloads: Family::default(),
            inflight_bytes: Gauge::default(),
            connections: Gauge::default(),
            expiry: Gauge::default(),
        };
        let mut registry = Registry::with_prefix(prefix);
        registry.register(
            "requests",
            "Requests by endpoint, versions and result: success, failure (of the review, whose status is 200 all the same), \
             denied (by admission), refused (4xx), busy (503) or error",
            metrics.requests.clone(),
        );
        registry.register(
            "objects",
            "Objects converted, by the versions that they came in and went out",
            metrics.objects.clone(),
        );
        registry.register(
            "rests",
            "What happened to the annotations that keep what a version cannot show: written, restored, or ignored as they were \
             broken, misplaced or (omitted) too large",
            metrics.rests.clone(),
        );
        registry.register(
            "panics",
            "Reviews, and objects in them, whose answer panicked",
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
            "certificate_reloads",
            "Changes of the certificate's folder: success, or failure when the last good one is still served",
            metrics.reloads.clone(),
        );
        registry.register(
            "certificate_expiry_timestamp_seconds",
            "When the certificate that is served expires, in seconds since 1970",
            metrics.expiry.clone(),
        );
        registry.register(
            "inflight_bytes",
            "Memory set aside for the reviews that are being read or answered, in bytes",
            metrics.inflight_bytes.clone(),
        );
        registry.register(
            "connections",
            "Connections that are open",
            metrics.connections.clone(),
        );
        let build = Family::<BuildInfo, Gauge>::default();
        let version = env!("CARGO_PKG_VERSION");
        build.get_or_create(&BuildInfo { version }).set(1);
        registry.register("build_info", "The version that runs", build);
        // Both are there from the start, so that an alert on the rise of one has something to start from.
        for result in ["success", "failure"] {
            drop(metrics.reloads.get_or_create(&Reload { result }));
        }
        Self {
            registry,
            ..metrics
        }
    }

    /// Counts a request.
    pub(super) fn requested(&self, request: &Request) {
        self.requests.get_or_create(request).inc();
    }

    /// Counts a review of `bytes` bytes, answered in `took`.
    pub(super) fn reviewed(&self, endpoint: &'static str, bytes: usize, took: Duration) {
        let endpoint = Endpoint { endpoint };
        self.seconds
            .get_or_create(&endpoint)
            .observe(took.as_secs_f64());
        self.bytes.get_or_create(&endpoint).observe(bytes as f64);
    }

    /// Counts objects that were converted from one version to another.
    pub(super) fn converted(&self, converted: &BTreeMap<(&'static str, &'static str), usize>) {
        for ((from, to), count) in converted {
            self.objects
                .get_or_create(&Versions { from, to })
                .inc_by(*count as u64);
        }
    }

    /// Counts what happened to the reserved annotations.
    pub(super) fn rests(&self, events: EventCounts) {
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

    /// Counts panics.
    pub(super) fn panicked(&self, count: usize) {
        self.panics.inc_by(count as u64);
    }

    /// Counts a change of the certificate.
    pub(super) fn reloaded(&self, is_served: bool) {
        let result = if is_served { "success" } else { "failure" };
        self.reloads.get_or_create(&Reload { result }).inc();
    }

    /// The metrics in the OpenMetrics text format.
    pub(super) fn text(&self, levels: Levels) -> String {
        let level = |level: usize| i64::try_from(level).unwrap_or(i64::MAX);
        self.inflight_bytes.set(level(levels.inflight_bytes));
        self.connections.set(level(levels.connections));
        self.expiry.set(levels.certificate_expiry);
        let mut text = String::new();
        // Writing to a String does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
