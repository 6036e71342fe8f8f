//! The numbers of the shards.

use prometheus_client::{metrics::gauge::Gauge, registry::Registry};

/// What this replica owns, and what nobody does.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    owned: Gauge,
    orphans: Gauge,
}

impl Metrics {
    /// The numbers, which `registry` tells from now on.
    pub fn registered(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "task_shards_owned",
            "Shards that this replica owns",
            metrics.owned.clone(),
        );
        registry.register(
            "task_without_owner",
            "Tasks whose shard no replica owns, as far as this one knows",
            metrics.orphans.clone(),
        );
        metrics
    }

    pub(super) fn set(&self, owned: i64, orphans: usize) {
        self.owned.set(owned);
        self.orphans.set(i64::try_from(orphans).unwrap_or(i64::MAX));
    }
}
