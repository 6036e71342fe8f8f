//! Counters of each Task, of which there may be many thousand: a `Family` takes three times as much room.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
};

use kube::runtime::reflector::ObjectRef;
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeMetric},
    metrics::{MetricType, counter::ConstCounter},
};

use crate::{cache::Key, watched::Watched};

/// The phases that a pass may be counted under: those of a Task, and none where the pass failed.
pub(super) const PHASES: [&str; 5] = ["Pending", "Running", "Succeeded", "Failed", ""];

/// The passes over each Task, by the phase that they left it in.
#[derive(Debug)]
pub(super) struct PerTask {
    name: &'static str,
    help: &'static str,
    counts: Mutex<HashMap<Key, [u64; PHASES.len()]>>,
}

impl PerTask {
    /// A metric of this name.
    pub(super) fn new(name: &'static str, help: &'static str) -> Self {
        Self {
            name,
            help,
            counts: Mutex::default(),
        }
    }

    /// Counts a pass that left the Task in one of the [`PHASES`].
    pub(super) fn count(&self, task: &ObjectRef<Watched>, phase: &str) {
        if let Some(phase) = PHASES.iter().position(|known| *known == phase) {
            self.counts().entry(Key::of(task)).or_default()[phase] += 1;
        }
    }

    /// Takes the numbers of a Task away.
    pub(super) fn forget(&self, task: &ObjectRef<Watched>) {
        self.counts().remove(&Key::of(task));
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<Key, [u64; PHASES.len()]>> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for PerTask {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let mut metric =
            encoder.encode_descriptor(self.name, self.help, None, MetricType::Counter)?;
        for (task, counts) in &*self.counts() {
            let (namespace, name) = task.parts();
            for (phase, count) in PHASES
                .into_iter()
                .zip(counts)
                .filter(|(_, count)| **count > 0)
            {
                let labels = [("namespace", namespace), ("name", name), ("phase", phase)];
                ConstCounter::new(*count).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}
