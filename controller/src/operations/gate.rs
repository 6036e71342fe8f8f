//! How much a provider is asked: one budget, one limit and one circuit breaker for all of its operations.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use super::{
    providers::file::{Limits, Retry},
    schedule::Pressure,
};

/// The wait for a place where all are taken: calls end after a while, and none says when.
const CROWDED: Duration = Duration::from_secs(1);

/// How much the newest call weighs in the averages.
const WEIGHT: f64 = 0.1;

/// How often the pause of the breaker is doubled, so that it grows to eight times.
const DOUBLINGS: u32 = 3;

/// The gate before a provider, which every call passes.
#[derive(Debug)]
pub struct Gate {
    limits: Limits,
    retry: Retry,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    under_way: u32,
    /// When the budget will be whole again: it is spent as far as that lies ahead.
    whole_at: Instant,
    /// The place in time that was promised last to a call that had to wait.
    promised: Instant,
    failures: u32,
    openings: u32,
    /// Until when no call is made; one that is made after is a trial.
    open_until: Option<Instant>,
    on_trial: bool,
    latency: f64,
    error_rate: f64,
}

/// What a call came to, as far as the gate has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider answered.
    Answered,
    /// It did not, or said that it cannot.
    Failed,
}

/// The permission to make one call.
#[derive(Debug)]
#[must_use = "a call that is not made takes the place of another"]
pub struct Permit {
    gate: Arc<Gate>,
    since: Instant,
    is_over: bool,
}

impl Gate {
    /// A gate that nobody has passed yet.
    pub fn new(limits: Limits, retry: Retry) -> Self {
        let now = Instant::now();
        Self {
            limits,
            retry,
            state: Mutex::new(State {
                under_way: 0,
                whole_at: now,
                promised: now,
                failures: 0,
                openings: 0,
                open_until: None,
                on_trial: false,
                latency: 0.0,
                error_rate: 0.0,
            }),
        }
    }

    /// The permission to make a call now.
    ///
    /// # Errors
    /// How long to wait before asking again. Those who wait for the budget are told different times, so that they do not come together.
    pub fn enter(self: &Arc<Self>) -> Result<Permit, Duration> {
        let now = Instant::now();
        self.lock().enter(&self.limits, now).map(|()| Permit {
            gate: Arc::clone(self),
            since: now,
            is_over: false,
        })
    }

    /// How the provider fares.
    pub fn pressure(&self, queue_depth: usize) -> Pressure {
        let state = self.lock();
        Pressure {
            latency: Duration::from_secs_f64(state.latency),
            error_rate: state.error_rate * 100.0,
            queue_depth,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn enter(&mut self, limits: &Limits, now: Instant) -> Result<(), Duration> {
        let tried = self.open_until.is_some();
        match self.open_until {
            Some(until) if now < until => return Err(until - now),
            Some(_) if self.on_trial => return Err(CROWDED),
            _ => {}
        }
        if self.under_way >= limits.concurrency {
            return Err(CROWDED);
        }
        let each = Duration::from_secs_f64(1.0 / limits.requests_per_second);
        let ahead = each.saturating_mul(limits.burst - 1);
        let whole_at = self.whole_at.max(now);
        if let Some(wait) = (whole_at - now)
            .checked_sub(ahead)
            .filter(|wait| !wait.is_zero())
        {
            self.promised = self.promised.max(now + wait) + each;
            return Err(self.promised - now);
        }
        self.whole_at = whole_at + each;
        self.on_trial = tried;
        self.under_way += 1;
        Ok(())
    }

    fn leave(&mut self, retry: &Retry, outcome: Option<Outcome>, took: Duration, now: Instant) {
        self.under_way = self.under_way.saturating_sub(1);
        self.on_trial = false;
        let Some(outcome) = outcome else {
            return;
        };
        let failed = outcome == Outcome::Failed;
        self.latency += WEIGHT * (took.as_secs_f64() - self.latency);
        self.error_rate += WEIGHT * (f64::from(u8::from(failed)) - self.error_rate);
        if !failed {
            (self.failures, self.openings, self.open_until) = (0, 0, None);
            return;
        }
        self.failures = self.failures.saturating_add(1);
        if self.failures >= retry.breaker_failures {
            let pause = retry.breaker_pause.0 * 2_u32.pow(self.openings.min(DOUBLINGS));
            // Calls that were under way when it opened do not count for more.
            if self.open_until.is_none_or(|until| until <= now) {
                self.openings += 1;
                self.open_until = Some(now + pause);
            }
        }
    }
}

impl Permit {
    /// Tells what the call came to.
    pub fn end(mut self, outcome: Outcome) {
        self.leave(Some(outcome));
    }

    fn leave(&mut self, outcome: Option<Outcome>) {
        if !std::mem::replace(&mut self.is_over, true) {
            let now = Instant::now();
            let took = now - self.since;
            let retry = &self.gate.retry;
            self.gate.lock().leave(retry, outcome, took, now);
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        // A call that was broken off, or never made, says nothing of the provider.
        self.leave(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(concurrency: u32, requests_per_second: f64, burst: u32) -> Limits {
        Limits {
            concurrency,
            requests_per_second,
            burst,
        }
    }

    fn gate(limits: Limits) -> Arc<Gate> {
        Arc::new(Gate::new(limits, Retry::default()))
    }

    fn call(gate: &Gate, now: Instant, outcome: Outcome) -> Result<(), Duration> {
        let mut state = gate.lock();
        state.enter(&gate.limits, now)?;
        state.leave(&gate.retry, Some(outcome), Duration::ZERO, now);
        Ok(())
    }

    #[test]
    fn no_more_calls_are_made_at_once_than_the_limit_says() {
        let gate = gate(limits(2, 1000.0, 100));
        let [first, _second] = [(); 2].map(|()| gate.enter().unwrap());
        assert_eq!(gate.enter().unwrap_err(), CROWDED);
        drop(first);
        assert!(gate.enter().is_ok());
    }

    #[test]
    fn the_budget_is_kept_however_many_ask() {
        let gate = gate(limits(1000, 10.0, 5));
        let start = Instant::now();
        let mut calls = 0;
        // A thousand ask every tenth of a second for ten seconds.
        for tenth in 0..=100 {
            let now = start + Duration::from_millis(100) * tenth;
            for _ in 0..1000 {
                calls += u32::from(call(&gate, now, Outcome::Answered).is_ok());
            }
        }
        assert!((100..=106).contains(&calls), "{calls}");
    }

    #[test]
    fn those_who_have_to_wait_are_told_different_times() {
        let gate = gate(limits(1000, 10.0, 1));
        let now = Instant::now();
        call(&gate, now, Outcome::Answered).unwrap();
        let waits: Vec<_> = (0..10)
            .map(|_| call(&gate, now, Outcome::Answered).unwrap_err().as_millis())
            .collect();
        assert!(
            waits.windows(2).all(|pair| pair[1] >= pair[0] + 99),
            "{waits:?}"
        );
    }

    #[test]
    fn after_failures_in_a_row_one_call_is_tried_now_and_then() {
        let gate = gate(limits(1000, 1000.0, 1000));
        let mut now = Instant::now();
        for _ in 0..5 {
            call(&gate, now, Outcome::Failed).unwrap();
        }
        for pause in [30, 60, 120, 240, 240] {
            let pause = Duration::from_secs(pause);
            assert_eq!(call(&gate, now, Outcome::Failed), Err(pause));
            now += pause;
            assert_eq!(call(&gate, now, Outcome::Failed), Ok(()));
        }
        now += Duration::from_secs(240);
        assert_eq!(call(&gate, now, Outcome::Answered), Ok(()));
        assert_eq!(call(&gate, now, Outcome::Answered), Ok(()));
    }

    #[test]
    fn only_one_call_is_a_trial() {
        let gate = gate(limits(1000, 1000.0, 1000));
        let now = Instant::now();
        for _ in 0..5 {
            call(&gate, now, Outcome::Failed).unwrap();
        }
        let after = now + Duration::from_secs(30);
        let mut state = gate.lock();
        assert_eq!(state.enter(&gate.limits, after), Ok(()));
        assert_eq!(state.enter(&gate.limits, after), Err(CROWDED));
    }

    #[test]
    fn a_call_that_was_never_made_says_nothing_of_the_provider() {
        let gate = gate(limits(1, 1000.0, 100));
        for _ in 0..10 {
            drop(gate.enter().unwrap());
        }
        assert_eq!(gate.pressure(0), Pressure::default());
    }

    #[test]
    fn failures_and_slow_answers_are_pressure() {
        let gate = gate(limits(1, 1000.0, 100));
        let now = Instant::now();
        for _ in 0..50 {
            let mut state = gate.lock();
            state.leave(
                &gate.retry,
                Some(Outcome::Failed),
                Duration::from_secs(2),
                now,
            );
        }
        let pressure = gate.pressure(7);
        assert!(
            pressure.latency > Duration::from_millis(1900),
            "{pressure:?}"
        );
        assert!(pressure.error_rate > 95.0, "{pressure:?}");
        assert_eq!(pressure.queue_depth, 7);
    }
}
