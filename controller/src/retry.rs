//! When a Task whose pass failed is tried again: later each time, counted per Task.
//!
//! Between two tries events go on to come in (of the child that did succeed, say), and each makes a pass. Such a
//! pass must not ask the API server again for what it just refused. So the setback is remembered: until
//! the next try is due the children are left alone, unless the Task's spec changes.

use std::{
    collections::HashMap,
    hash::{BuildHasher, RandomState},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::reflector::ObjectRef;

use crate::{
    reconcile::setback::{Setback, SetbackKind},
    watched::Watched,
};

/// The wait before the first repetition of what may pass by itself.
pub(crate) const FIRST_WAIT_PASSING: Duration = Duration::from_secs(1);

/// The wait before the first repetition of what somebody has to act on.
const FIRST_WAIT_LASTING: Duration = Duration::from_secs(5);

/// The longest wait, before jitter.
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// The Tasks whose last pass failed.
#[derive(Default)]
pub struct Retries {
    failing: Mutex<HashMap<ObjectRef<Watched>, Failing>>,
    jitter: RandomState,
}

/// Whether the children of a Task may be applied now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// They may.
    Now,
    /// They were refused a short while ago.
    NotYet(Before),
}

/// What came in the way before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Before {
    /// How long is left to wait.
    pub wait: Duration,
    /// What it was.
    pub setback: Setback,
    /// Whether it was not the first time.
    pub again: bool,
}

struct Failing {
    uid: Option<String>,
    generation: Option<i64>,
    failures: u32,
    due: Instant,
    /// From when on a success is believed in.
    quiet: Instant,
    setback: Option<Setback>,
}

impl Retries {
    /// Whether the children of this Task may be applied now. A new spec always may.
    pub fn attempt(&self, key: &ObjectRef<Watched>, metadata: &ObjectMeta) -> Attempt {
        self.attempt_at(key, metadata, Instant::now())
    }

    /// Notes that the children could not be applied, or had to be put right, and tells whether it is not for the first time.
    pub fn set_back(
        &self,
        key: &ObjectRef<Watched>,
        metadata: &ObjectMeta,
        setback: &Setback,
    ) -> bool {
        self.set_back_at(key, metadata, setback, Instant::now())
    }

    /// How long to wait after a pass that failed, for whatever reason.
    pub fn wait_after_failure(&self, key: &ObjectRef<Watched>, metadata: &ObjectMeta) -> Duration {
        self.wait_after_failure_at(key, metadata, Instant::now())
    }

    /// How often in a row a pass over this Task has failed, or something had to be put right.
    pub fn failures(&self, key: &ObjectRef<Watched>) -> u32 {
        self.failing().get(key).map_or(0, |last| last.failures)
    }

    /// Forgets the failures of a Task of which a whole pass succeeded; not yet so where others may undo it.
    pub fn succeeded(&self, key: &ObjectRef<Watched>) {
        self.succeeded_at(key, Instant::now());
    }

    /// Forgets the failures of a Task, which is gone or is left alone.
    pub fn forget(&self, key: &ObjectRef<Watched>) {
        self.failing().remove(key);
    }

    /// Lets the time pass until every Task may be tried again.
    #[cfg(test)]
    pub fn come_due(&self) {
        let now = Instant::now();
        for failing in self.failing().values_mut() {
            failing.due = now;
        }
    }

    fn set_back_at(
        &self,
        key: &ObjectRef<Watched>,
        metadata: &ObjectMeta,
        setback: &Setback,
        now: Instant,
    ) -> bool {
        let again = self
            .failing()
            .get(key)
            .is_some_and(|last| last.is_about(metadata) && last.kind() == Some(setback.kind));
        self.failed_at(key, metadata, Some(setback), now);
        again
    }

    fn succeeded_at(&self, key: &ObjectRef<Watched>, now: Instant) {
        let mut failing = self.failing();
        if failing.get(key).is_some_and(|last| last.quiet <= now) {
            failing.remove(key);
        }
    }

    fn attempt_at(&self, key: &ObjectRef<Watched>, metadata: &ObjectMeta, now: Instant) -> Attempt {
        let failing = self.failing();
        let last = failing
            .get(key)
            .filter(|last| last.is_about(metadata) && last.due > now);
        let before = last.and_then(|last| {
            Some(Before {
                wait: last.due - now,
                setback: last.setback.clone()?,
                again: last.failures > 1,
            })
        });
        before.map_or(Attempt::Now, Attempt::NotYet)
    }

    fn wait_after_failure_at(
        &self,
        key: &ObjectRef<Watched>,
        metadata: &ObjectMeta,
        now: Instant,
    ) -> Duration {
        let noted = self
            .failing()
            .get(key)
            .filter(|last| last.is_about(metadata) && last.due > now)
            .map(|last| last.due - now);
        // A failure beside the children, such as to write the status, was not noted yet.
        noted.unwrap_or_else(|| self.failed_at(key, metadata, None, now))
    }

    fn failed_at(
        &self,
        key: &ObjectRef<Watched>,
        metadata: &ObjectMeta,
        setback: Option<&Setback>,
        now: Instant,
    ) -> Duration {
        let kind = setback.map(|setback| setback.kind);
        let mut failing = self.failing();
        let before = failing
            .get(key)
            .filter(|last| last.is_about(metadata))
            // Nothing failed where something was put right, so what failed before does not count.
            .filter(|last| kind != Some(SetbackKind::Undone) || last.kind() == kind)
            .map_or(0, |last| last.failures);
        let first = match kind {
            // The watch tells when it is over: no try is held back.
            Some(SetbackKind::Waiting) => return Duration::ZERO,
            Some(SetbackKind::Lasting) => FIRST_WAIT_LASTING,
            Some(SetbackKind::Passing | SetbackKind::Undone) | None => FIRST_WAIT_PASSING,
        };
        let wait = backoff(first, before, self.jitter.hash_one((key, before)));
        let entry = Failing {
            uid: metadata.uid.clone(),
            generation: metadata.generation,
            failures: before.saturating_add(1),
            due: now + wait,
            quiet: match kind {
                // As soon as it may be put right again it is seen whether it needs to be.
                Some(SetbackKind::Undone) => now + 2 * wait,
                _ => now,
            },
            setback: setback.cloned(),
        };
        failing.insert(key.clone(), entry);
        wait
    }

    fn failing(&self) -> MutexGuard<'_, HashMap<ObjectRef<Watched>, Failing>> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Failing {
    fn kind(&self) -> Option<SetbackKind> {
        self.setback.as_ref().map(|setback| setback.kind)
    }

    fn is_about(&self, metadata: &ObjectMeta) -> bool {
        self.uid == metadata.uid && self.generation == metadata.generation
    }
}

/// The wait after `failures` earlier ones: doubled for each up to [`LONGEST_WAIT`], and up to a quarter longer, as
/// `random` has it, so that Tasks that failed together are not tried again together.
fn backoff(first: Duration, failures: u32, random: u64) -> Duration {
    let wait = first
        .saturating_mul(2_u32.saturating_pow(failures))
        .min(LONGEST_WAIT);
    wait + wait.mul_f64((random % 1024) as f64 / 4096.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LASTING: SetbackKind = SetbackKind::Lasting;

    fn key() -> ObjectRef<Watched> {
        ObjectRef::new("web").within("default")
    }

    fn generation(generation: i64) -> ObjectMeta {
        ObjectMeta {
            uid: Some("uid".to_owned()),
            generation: Some(generation),
            ..ObjectMeta::default()
        }
    }

    fn setback(kind: SetbackKind) -> Setback {
        Setback {
            kind,
            reason: "Because".to_owned(),
            message: "so it is".to_owned(),
        }
    }

    #[test]
    fn each_wait_is_twice_the_last_up_to_minutes() {
        let waits: Vec<_> = (0..9)
            .map(|failures| backoff(FIRST_WAIT_LASTING, failures, 0).as_secs())
            .collect();
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
        assert_eq!(backoff(FIRST_WAIT_PASSING, u32::MAX, 0), LONGEST_WAIT);
    }

    #[test]
    fn jitter_adds_less_than_a_quarter() {
        for random in 0..2048 {
            let wait = backoff(LONGEST_WAIT, 0, random);
            assert!(
                wait >= LONGEST_WAIT && wait < LONGEST_WAIT.mul_f64(1.25),
                "{wait:?}"
            );
        }
    }

    #[test]
    fn refused_children_are_left_alone_until_the_next_try_is_due() {
        let (retries, start) = (Retries::default(), Instant::now());
        let wait = retries.failed_at(&key(), &generation(1), Some(&setback(LASTING)), start);
        let expected = Attempt::NotYet(Before {
            wait,
            setback: setback(LASTING),
            again: false,
        });
        assert_eq!(retries.attempt_at(&key(), &generation(1), start), expected);
        assert_eq!(
            retries.attempt_at(&key(), &generation(1), start + wait),
            Attempt::Now
        );
    }

    #[test]
    fn a_new_spec_is_tried_at_once() {
        let (retries, start) = (Retries::default(), Instant::now());
        retries.failed_at(&key(), &generation(1), Some(&setback(LASTING)), start);
        assert_eq!(
            retries.attempt_at(&key(), &generation(2), start),
            Attempt::Now
        );
    }

    #[test]
    fn a_failed_pass_is_counted_once() {
        let (retries, start) = (Retries::default(), Instant::now());
        let wait = retries.failed_at(&key(), &generation(1), Some(&setback(LASTING)), start);
        assert_eq!(
            retries.wait_after_failure_at(&key(), &generation(1), start),
            wait
        );
    }

    #[test]
    fn a_status_that_could_not_be_written_holds_no_child_back() {
        let (retries, start) = (Retries::default(), Instant::now());
        let wait = retries.wait_after_failure_at(&key(), &generation(1), start);
        assert!(wait >= FIRST_WAIT_PASSING);
        assert_eq!(
            retries.attempt_at(&key(), &generation(1), start),
            Attempt::Now
        );
    }

    #[test]
    fn waiting_for_a_deletion_holds_nothing_back() {
        let (retries, start) = (Retries::default(), Instant::now());
        retries.failed_at(
            &key(),
            &generation(1),
            Some(&setback(SetbackKind::Waiting)),
            start,
        );
        assert_eq!(
            retries.attempt_at(&key(), &generation(1), start),
            Attempt::Now
        );
    }

    #[test]
    fn success_starts_the_count_anew() {
        let (retries, start) = (Retries::default(), Instant::now());
        for _ in 0..5 {
            retries.failed_at(&key(), &generation(1), Some(&setback(LASTING)), start);
        }
        retries.succeeded_at(&key(), start);
        let wait = retries.failed_at(&key(), &generation(1), Some(&setback(LASTING)), start);
        assert!(wait < FIRST_WAIT_LASTING * 2, "{wait:?}");
    }

    #[test]
    fn what_is_put_right_after_failures_is_put_right_for_the_first_time() {
        let (retries, start) = (Retries::default(), Instant::now());
        let set_back = |kind| {
            retries.set_back_at(&key(), &generation(1), &setback(kind), start);
            retries.wait_after_failure_at(&key(), &generation(1), start)
        };
        assert!(set_back(LASTING) < set_back(LASTING));
        assert!(set_back(SetbackKind::Undone) < 2 * FIRST_WAIT_PASSING);
    }

    #[test]
    fn what_others_undo_at_once_is_put_right_later_each_time_until_they_leave_it_alone() {
        let (retries, mut now) = (Retries::default(), Instant::now());
        let set_back =
            |now| retries.set_back_at(&key(), &generation(1), &setback(SetbackKind::Undone), now);
        let wait = |now| match retries.attempt_at(&key(), &generation(1), now) {
            Attempt::NotYet(before) => before.wait,
            Attempt::Now => Duration::ZERO,
        };
        let mut waits = Vec::new();
        for round in 0..9 {
            assert_eq!(set_back(now), round > 0);
            waits.push(wait(now));
            retries.succeeded_at(&key(), now);
            now += waits[round];
        }
        assert!(
            waits.is_sorted() && waits[8] >= Duration::from_secs(256),
            "{waits:?}"
        );
        retries.succeeded_at(&key(), now + waits[8]);
        assert!(!set_back(now));
    }
}
