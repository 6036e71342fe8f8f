//! The numbers of the passes.

use std::{
    collections::HashSet,
    hash::{BuildHasher, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kube::runtime::reflector::ObjectRef;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge, histogram::Histogram},
    registry::Registry,
};
use task_api_v1::TaskPhase;

use super::per_task::PerTask;
use crate::watched::Watched;

/// The upper bounds of the buckets of `task_reconcile_duration_seconds`.
const DURATION_BUCKETS: [f64; 6] = [0.1, 0.5, 1.0, 2.0, 5.0, 10.0];

/// What is counted of passes. A clone counts the same.
#[derive(Clone)]
pub struct Passes {
    total: Total,
    durations: Histogram,
    /// The hashes of the Tasks that wait. Two of the same hash count as one, which does not happen.
    waiting: Arc<Mutex<HashSet<u64>>>,
    hash: RandomState,
    queue: Gauge,
}

#[derive(Clone)]
enum Total {
    PerTask(Arc<PerTask>),
    Overall(Family<OfAll, Counter>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfAll {
    phase: &'static str,
}

impl Passes {
    /// Those in this registry; with the namespace and the name of the Task if that is asked for.
    pub fn registered(registry: &mut Registry, per_task: bool) -> Self {
        const NAME: &str = "task_reconcile";
        const HELP: &str =
            "Passes over a Task, by the phase they left it in, which is none where the pass failed";
        let total = if per_task {
            let total = Arc::new(PerTask::new(NAME, HELP));
            registry.register_collector(Box::new(Arc::clone(&total)));
            Total::PerTask(total)
        } else {
            let total = Family::default();
            registry.register(NAME, HELP, total.clone());
            Total::Overall(total)
        };
        let durations = Histogram::new(DURATION_BUCKETS);
        registry.register(
            "task_reconcile_duration_seconds",
            "How long a pass over a Task took",
            durations.clone(),
        );
        let queue = Gauge::default();
        registry.register(
            "task_reconcile_queue_depth",
            "Tasks that something happened to and that wait for their pass",
            queue.clone(),
        );
        Self {
            total,
            durations,
            waiting: Arc::default(),
            hash: RandomState::new(),
            queue,
        }
    }

    /// Something happened to a Task, so that there is to be a pass over it.
    pub fn wanted(&self, task: &ObjectRef<Watched>) {
        let mut waiting = self.waiting();
        waiting.insert(self.hash.hash_one(task));
        self.queue.set(waiting.len() as i64);
    }

    /// A pass over a Task begins, or is not to be made any more.
    pub fn begun(&self, task: &ObjectRef<Watched>) {
        let mut waiting = self.waiting();
        waiting.remove(&self.hash.hash_one(task));
        self.queue.set(waiting.len() as i64);
    }

    /// Counts a pass, and the phase that it left the Task in; `None` for one that failed.
    pub fn ended(&self, task: &ObjectRef<Watched>, phase: Option<TaskPhase>, took: Duration) {
        let phase = phase.map_or("", name);
        match &self.total {
            Total::PerTask(total) => total.count(task, phase),
            Total::Overall(total) => {
                total.get_or_create(&OfAll { phase }).inc();
            }
        }
        self.durations.observe(took.as_secs_f64());
    }

    /// Takes the numbers of a Task away, which is gone.
    pub fn forget(&self, task: &ObjectRef<Watched>) {
        if let Total::PerTask(total) = &self.total {
            total.forget(task);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashSet<u64>> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn name(phase: TaskPhase) -> &'static str {
    match phase {
        TaskPhase::Pending => "Pending",
        TaskPhase::Running => "Running",
        TaskPhase::Succeeded => "Succeeded",
        TaskPhase::Failed => "Failed",
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn text(registry: &Registry) -> String {
        let mut text = String::new();
        encode(&mut text, registry).unwrap();
        text
    }

    fn web() -> ObjectRef<Watched> {
        ObjectRef::new("web").within("shop")
    }

    /// Two passes over a Task.
    fn counted(per_task: bool) -> (Registry, Passes) {
        let mut registry = Registry::default();
        let passes = Passes::registered(&mut registry, per_task);
        let took = Duration::from_millis(300);
        passes.ended(&web(), Some(TaskPhase::Succeeded), took);
        passes.ended(&web(), None, took);
        (registry, passes)
    }

    #[test]
    fn passes_are_counted_per_task_and_phase() {
        let (registry, _) = counted(true);
        let text = text(&registry);
        for line in [
            r#"task_reconcile_total{namespace="shop",name="web",phase="Succeeded"} 1"#,
            r#"task_reconcile_total{namespace="shop",name="web",phase=""} 1"#,
            r#"task_reconcile_duration_seconds_bucket{le="0.5"} 2"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }

    #[test]
    fn on_request_they_are_counted_per_phase_alone() {
        let (registry, _) = counted(false);
        let text = text(&registry);
        let line = r#"task_reconcile_total{phase="Succeeded"} 1"#;
        assert!(text.lines().any(|found| found == line), "{text}");
        assert!(!text.contains("web"), "{text}");
    }

    #[test]
    fn of_a_task_that_is_gone_nothing_is_left() {
        let (registry, passes) = counted(true);
        passes.forget(&web());
        assert!(!text(&registry).contains("web"));
    }

    #[test]
    fn a_task_waits_once_however_much_happens_to_it() {
        let (_, passes) = counted(true);
        for _ in 0..3 {
            passes.wanted(&web());
        }
        assert_eq!(passes.queue.get(), 1);
        passes.begun(&web());
        assert_eq!(passes.queue.get(), 0);
    }
}
