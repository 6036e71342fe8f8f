//! The numbers at `/metrics`, in the OpenMetrics text format.

use std::{fmt, sync::Arc};

use axum::{
    Router,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

pub use passes::Passes;
pub use requests::Requests;

use crate::{certificates, operations, shards};

mod passes;
mod per_task;
mod requests;

/// The media type of the OpenMetrics text format.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the controller counts.
pub struct Metrics {
    registry: Registry,
    passes: Passes,
    requests: Requests,
    undecodable: Counter,
    certificates: certificates::Metrics,
    operations: operations::metrics::Metrics,
    shards: shards::Metrics,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Build {
    version: &'static str,
}

impl Metrics {
    /// All at nought. `per_task`: passes are counted for each Task.
    #[must_use]
    pub fn new(per_task: bool) -> Self {
        let mut registry = Registry::default();
        // The encoder appends `_total` to the names of counters.
        let passes = Passes::registered(&mut registry, per_task);
        let requests = Requests::registered(&mut registry);
        let undecodable = Counter::default();
        registry.register(
            "task_undecodable",
            "Tasks seen that could not be decoded and were skipped",
            undecodable.clone(),
        );
        let certificates = certificates::Metrics::registered(&mut registry);
        let operations = operations::metrics::Metrics::registered(&mut registry);
        let shards = shards::Metrics::registered(&mut registry);
        let build = Family::<Build, Gauge>::default();
        let version = env!("CARGO_PKG_VERSION");
        build.get_or_create(&Build { version }).set(1);
        registry.register("task_controller_build_info", "The version that runs", build);
        Self {
            registry,
            passes,
            requests,
            undecodable,
            certificates,
            operations,
            shards,
        }
    }

    /// The numbers of the passes.
    pub fn passes(&self) -> &Passes {
        &self.passes
    }

    /// The numbers of the requests to the API server.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Counts a Task that could not be decoded.
    pub fn undecodable(&self) {
        self.undecodable.inc();
    }

    /// The numbers of the webhooks' certificates.
    pub fn certificates(&self) -> certificates::Metrics {
        self.certificates.clone()
    }

    /// The numbers of the shards.
    pub fn shards(&self) -> shards::Metrics {
        self.shards.clone()
    }

    /// The numbers of operations.
    pub fn operations(&self) -> operations::metrics::Metrics {
        self.operations.clone()
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
        let metrics = Metrics::new(true);
        metrics.undecodable();
        let text = metrics.encode().unwrap();
        let version = env!("CARGO_PKG_VERSION");
        for line in [
            "task_undecodable_total 1",
            "task_reconcile_queue_depth 0",
            &format!("task_controller_build_info{{version=\"{version}\"}} 1"),
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
