//! The numbers of operations at `/metrics`.

use jiff::Timestamp;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use task_api_v1::Task;

use super::{
    signals::queue::judge::DeadLetter,
    situation::{Record, Stage},
};

/// The upper bounds of the buckets of `task_operation_duration_seconds`.
const DURATION_BUCKETS: [f64; 8] = [1.0, 5.0, 30.0, 60.0, 300.0, 1800.0, 7200.0, 86400.0];

/// What is counted.
#[derive(Clone, Debug)]
pub struct Metrics {
    ended: Family<EndLabels, Counter>,
    retries: Family<ProviderLabels, Counter>,
    durations: Family<ProviderLabels, Histogram>,
    signals: Family<SignalLabels, Counter>,
    queue_down: Gauge,
    queue_waits: Histogram,
    dead_letters: Family<DeadLetterLabels, Counter>,
    bad_file: Gauge,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndLabels {
    provider: String,
    mode: String,
    result: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProviderLabels {
    provider: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SignalLabels {
    source: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeadLetterLabels {
    reason: &'static str,
}

impl Metrics {
    /// The numbers, which the registry knows from then on.
    pub fn registered(registry: &mut Registry) -> Self {
        let metrics = Self {
            ended: Family::default(),
            retries: Family::default(),
            durations: Family::new_with_constructor(|| Histogram::new(DURATION_BUCKETS)),
            signals: Family::default(),
            queue_down: Gauge::default(),
            queue_waits: Histogram::new(DURATION_BUCKETS),
            dead_letters: Family::default(),
            bad_file: Gauge::default(),
        };
        // The encoder appends `_total` to the names of counters.
        registry.register(
            "task_operation",
            "Operations that have ended, by how: Succeeded, or the reason of the failure",
            metrics.ended.clone(),
        );
        registry.register(
            "task_operation_retries",
            "Calls to start an operation that were repeated",
            metrics.retries.clone(),
        );
        registry.register(
            "task_operation_duration_seconds",
            "How long operations took from the first call to their end",
            metrics.durations.clone(),
        );
        registry.register(
            "task_operation_signals",
            "Messages by which providers told how operations stand, by what became of them",
            metrics.signals.clone(),
        );
        registry.register(
            "task_operation_queue_down",
            "1 while there is a queue, and it is not to be had",
            metrics.queue_down.clone(),
        );
        registry.register(
            "task_operation_queue_wait_seconds",
            "How long ago messages of the queue were published when they were looked at",
            metrics.queue_waits.clone(),
        );
        registry.register(
            "task_operation_dead_letters",
            "Messages that could not be taken in and were put among the dead letters",
            metrics.dead_letters.clone(),
        );
        // An increase can be seen only of what was 0 before.
        for reason in DeadLetter::ALL.map(DeadLetter::name) {
            drop(
                metrics
                    .dead_letters
                    .get_or_create(&DeadLetterLabels { reason }),
            );
        }
        registry.register(
            "task_providers_file_bad",
            "1 while the file of providers cannot be used, and the providers are those of the last good one",
            metrics.bad_file.clone(),
        );
        metrics
    }

    /// Notes whether the file of providers is bad.
    pub fn file_is_bad(&self, is_bad: bool) {
        self.bad_file.set(i64::from(is_bad));
    }

    /// Counts a message of a provider by the way that it came and by what became of it.
    pub fn signalled(&self, source: &'static str, result: &'static str) {
        let labels = SignalLabels { source, result };
        self.signals.get_or_create(&labels).inc();
    }

    /// Notes whether the queue is not to be had.
    pub fn queue_is_down(&self, is_down: bool) {
        self.queue_down.set(i64::from(is_down));
    }

    /// Counts a message of the queue that was published so many seconds ago.
    pub fn waited(&self, seconds: f64) {
        self.queue_waits.observe(seconds.max(0.0));
    }

    /// Counts a message that was put among the dead letters.
    pub fn dead_letter(&self, reason: DeadLetter) {
        let reason = reason.name();
        self.dead_letters
            .get_or_create(&DeadLetterLabels { reason })
            .inc();
    }

    /// Counts a call to start the operation that was repeated.
    pub fn retried(&self, task: &Task, record: &Record) {
        self.retries.get_or_create(&provider(task, record)).inc();
    }

    /// Counts an operation that has ended.
    pub fn ended(&self, task: &Task, record: &Record) {
        let (at, result) = match &record.stage {
            Stage::Succeeded { at, .. } => (*at, "Succeeded"),
            Stage::Failed { at, reason, .. } => (*at, &**reason),
            _ => (Timestamp::now(), ""),
        };
        let labels = provider(task, record);
        let mode = task
            .spec
            .operation
            .as_ref()
            .map(|operation| format!("{:?}", operation.completion));
        let took = at.duration_since(record.started_at).as_secs_f64();
        self.durations.get_or_create(&labels).observe(took.max(0.0));
        self.ended
            .get_or_create(&EndLabels {
                provider: labels.provider,
                mode: mode.unwrap_or_default(),
                result: result.to_owned(),
            })
            .inc();
    }
}

fn provider(task: &Task, record: &Record) -> ProviderLabels {
    let wanted = task.spec.operation.as_ref();
    let name = record
        .key
        .provider()
        .or_else(|| wanted.map(|operation| &*operation.provider));
    ProviderLabels {
        provider: name.unwrap_or_default().to_owned(),
    }
}
