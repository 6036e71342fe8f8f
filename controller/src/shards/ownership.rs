//! What a replica owns at this moment: asked by each pass, and before each write.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::{sync::Notify, time::sleep};

use super::{
    clock::Moment,
    lease::{ENDED, RENEW_DEADLINE},
};

/// A shard, as this replica owns it or does not.
#[derive(Debug, Default)]
pub struct Shard {
    state: Mutex<State>,
    changed: Notify,
    /// Told when a shard that is being given up may be.
    idle: Arc<Notify>,
}

#[derive(Debug, Default)]
struct State {
    /// When the write was sent by which the replica owns it, if it does.
    since: Option<Moment>,
    /// Whether it is being given up.
    is_closed: bool,
    /// How many act on it.
    passes: usize,
    /// Until when the API server may be at work on a write whose answer nobody waited for.
    unanswered_until: Moment,
}

impl Shard {
    /// A shard that nobody owns. `idle` is told when it may be given up.
    pub(super) fn new(idle: Arc<Notify>) -> Self {
        Self {
            idle,
            ..Self::default()
        }
    }

    /// Begins to act on a Task of this shard; `None` if this replica does not own it.
    ///
    /// While the result lives the shard is not given up of free will. It may be lost nevertheless.
    #[must_use]
    pub fn begin(self: &Arc<Self>) -> Option<Pass> {
        let mut state = self.state();
        if state.is_closed || !state.is_owned(Moment::now()) {
            return None;
        }
        state.passes += 1;
        Some(Pass(Arc::clone(self)))
    }

    /// Whether this replica owns it.
    #[must_use]
    pub fn is_owned(&self) -> bool {
        self.state().is_owned(Moment::now())
    }

    /// Returns once this replica does not own it.
    pub async fn lost(&self) {
        loop {
            let changed = self.changed.notified();
            let now = Moment::now();
            let Some(until) = self.state().until().filter(|until| now < *until) else {
                return;
            };
            // It may have been renewed by then. The timer stands still while the machine is suspended; the clock does not.
            tokio::select! {
                () = sleep(until.since(now)) => {}
                () = changed => {}
            }
        }
    }

    /// Begins a write; `None` if this replica does not own the shard.
    pub(super) fn begin_write(self: &Arc<Self>) -> Option<Unanswered> {
        let since = self.state().since?;
        let now = Moment::now();
        (now < since.after(RENEW_DEADLINE)).then(|| Unanswered {
            shard: Arc::clone(self),
            until: since.after(ENDED),
        })
    }

    /// Says since when this replica owns it, and whether it goes on to; tells whether it did before.
    pub(super) fn set(&self, since: Option<Moment>, is_closed: bool) -> bool {
        let mut state = self.state();
        let was_owned = state.since.is_some();
        state.since = since;
        state.is_closed = is_closed;
        drop(state);
        if since.is_none() {
            self.changed.notify_waiters();
        }
        was_owned
    }

    /// Lets no more passes begin, and tells whether none is under way nor anything that one has begun.
    pub(super) fn close(&self, now: Moment) -> bool {
        let mut state = self.state();
        state.is_closed = true;
        state.passes == 0 && now >= state.unanswered_until
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn until(&self) -> Option<Moment> {
        self.since.map(|since| since.after(RENEW_DEADLINE))
    }

    fn is_owned(&self, now: Moment) -> bool {
        self.until().is_some_and(|until| now < until)
    }
}

/// Somebody acts on a Task: the shard is not given up until this is dropped.
#[derive(Debug)]
#[must_use = "the shard may be given up when this is dropped"]
pub struct Pass(Arc<Shard>);

impl Pass {
    /// The shard that is acted on.
    #[must_use]
    pub fn shard(&self) -> &Shard {
        &self.0
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.passes -= 1;
        if state.passes == 0 && state.is_closed {
            self.0.idle.notify_one();
        }
    }
}

/// A write that has not been answered. If it is dropped, the API server may still be at work on it.
pub(super) struct Unanswered {
    shard: Arc<Shard>,
    until: Moment,
}

impl Unanswered {
    /// Until when the API server may be at work on it.
    pub(super) fn until(&self) -> Moment {
        self.until
    }

    /// Notes that it was answered.
    pub(super) fn answered(mut self) {
        self.until = Moment::default();
    }
}

impl Drop for Unanswered {
    fn drop(&mut self) {
        let mut state = self.shard.state();
        state.unanswered_until = state.unanswered_until.max(self.until);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::FutureExt;

    use super::*;

    fn owned() -> Arc<Shard> {
        let shard = Arc::new(Shard::default());
        shard.set(Some(Moment::now()), false);
        shard
    }

    fn is_idle(shard: &Shard) -> bool {
        shard.close(Moment::now())
    }

    #[test]
    fn nobody_acts_on_a_shard_that_is_not_owned_or_not_any_more() {
        let shard = Arc::new(Shard::default());
        assert!(shard.begin().is_none() && shard.begin_write().is_none());
        let now = Moment::now();
        shard.set(Some(now), false);
        assert!(shard.begin().is_some() && shard.begin_write().is_some());
        // Long ago, as a machine that was suspended finds it.
        shard.set(Some(Moment::default()), false);
        assert!(now > Moment::default().after(RENEW_DEADLINE));
        assert!(shard.begin().is_none() && shard.begin_write().is_none());
    }

    #[test]
    fn a_shard_that_is_being_given_up_lets_what_is_under_way_end_and_nothing_begin() {
        let shard = owned();
        let pass = shard.begin();
        assert!(!is_idle(&shard));
        assert!(shard.begin().is_none());
        assert!(shard.begin_write().is_some());
        drop(pass);
        shard.begin_write().unwrap().answered();
        shard.set(Some(Moment::now()), false);
    }

    #[test]
    fn a_write_that_nobody_waited_for_keeps_it_from_being_given_up_until_the_api_server_has_ended_it()
     {
        let shard = owned();
        shard.begin_write().unwrap().answered();
        assert!(is_idle(&shard));
        drop(shard.begin_write());
        assert!(!is_idle(&shard));
        assert!(shard.close(Moment::now().after(ENDED)));
    }

    #[tokio::test]
    async fn it_is_lost_when_it_is_taken_away_or_not_renewed() {
        let shard = owned();
        assert!(shard.lost().now_or_never().is_none());
        let lost = tokio::spawn({
            let shard = Arc::clone(&shard);
            async move { shard.lost().await }
        });
        tokio::task::yield_now().await;
        shard.set(None, false);
        lost.await.unwrap();

        let almost = RENEW_DEADLINE - Duration::from_millis(50);
        let past = Moment::now();
        while Moment::now().since(past) < Duration::from_millis(1) {}
        shard.set(Some(before(almost)), false);
        assert!(shard.is_owned());
        shard.lost().await;
        assert!(!shard.is_owned());
    }

    /// The moment that long ago.
    fn before(time: Duration) -> Moment {
        let now = Moment::now();
        let age = now.since(Moment::default());
        Moment::default().after(age - time)
    }
}
