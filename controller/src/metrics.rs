//! The numbers at `/metrics`, in the OpenMetrics text format.

use std::{fmt, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use task_api_v1::TaskPhase;

use crate::certificates;

/// The media type of the OpenMetrics text format.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The upper bounds of the buckets of `task_reconcile_duration_seconds`.
const DURATION_BUCKETS: [f64; 6] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0];

/// What the controller counts.
pub struct Metrics {
    registry: Registry,
    passes: Family<PassLabels, Counter>,
    durations: Histogram,
    undecodable: Counter,
    certificates: certificates::Metrics,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PassLabels {
    phase: String,
    result: &'static str,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let passes = Family::default();
        let durations = Histogram::new(DURATION_BUCKETS);
        let undecodable = Counter::default();
        // The encoder appends `_total` to the names of counters.
        registry.register(
            "task_reconcile",
            "Passes over a Task, by the phase they left it in and by result: ok or error",
            passes.clone(),
        );
        registry.register(
            "task_reconcile_duration_seconds",
            "How long a pass over a Task took",
            durations.clone(),
        );
        registry.register(
            "task_undecodable",
            "Tasks seen that could not be decoded and were skipped",
            undecodable.clone(),
        );
        let certificates = certificates::Metrics::registered(&mut registry);
        Self {
            registry,
            passes,
            durations,
            undecodable,
            certificates,
        }
    }
}

impl Metrics {
    /// Counts a pass that ended well, and the phase that it left the Task in, if it told one.
    pub fn pass_succeeded(&self, phase: Option<TaskPhase>, took: Duration) {
        let phase = phase.map(|phase| format!("{phase:?}"));
        self.pass(phase.unwrap_or_default(), "ok", took);
    }

    /// Counts a pass that failed.
    pub fn pass_failed(&self, took: Duration) {
        self.pass(String::new(), "error", took);
    }

    /// Counts a Task that could not be decoded.
    pub fn undecodable(&self) {
        self.undecodable.inc();
    }

    /// The numbers of the webhooks' certificates.
    pub fn certificates(&self) -> certificates::Metrics {
        self.certificates.clone()
    }

    fn pass(&self, phase: String, result: &'static str, took: Duration) {
        self.passes
            .get_or_create(&PassLabels { phase, result })
            .inc();
        self.durations.observe(took.as_secs_f64());
    }

    /// All numbers as text.
    fn encode(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// Answers `GET /metrics`.
pub fn router(metrics: Arc<Metrics>) -> Router {
    Router::new().route(
        "/metrics",
        get(move || std::future::ready(answer(&metrics))),
    )
}

fn answer(metrics: &Metrics) -> Response {
    match metrics.encode() {
        Ok(text) => ([(header::CONTENT_TYPE, OPENMETRICS)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_that_are_documented() {
        let metrics = Metrics::default();
        metrics.pass_succeeded(Some(TaskPhase::Succeeded), Duration::from_millis(300));
        metrics.pass_failed(Duration::from_secs(11));
        metrics.undecodable();
        let text = metrics.encode().unwrap();
        for line in [
            "task_reconcile_total{phase=\"Succeeded\",result=\"ok\"} 1",
            "task_reconcile_total{phase=\"\",result=\"error\"} 1",
            "task_reconcile_duration_seconds_bucket{le=\"0.5\"} 1",
            "task_reconcile_duration_seconds_bucket{le=\"10.0\"} 1",
            "task_reconcile_duration_seconds_count 2",
            "task_undecodable_total 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
