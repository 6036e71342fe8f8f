//! The loop: see how things stand, decide, do it.

use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::time::{Instant, sleep};

use super::api::{Error, Store};
use super::args::Args;
use super::certificate::Certificate;
use super::events::Events;
use super::metrics::Metrics;
use super::plan::{Delays, State, Step, plan};

/// The pause between two steps, so that nothing that undoes them all the time makes the loop run hot.
const PAUSE: Duration = Duration::from_millis(500);

/// Looks after the certificates for ever. What fails is logged, counted and repeated.
pub async fn keep(client: Client, args: Args, metrics: Metrics) {
    let interval = args.certs_interval;
    let mut keeper = Keeper {
        delays: args.delays(),
        events: Events::new(client.clone(), &args),
        store: Store::new(client, args),
        metrics,
        shown: Shown::default(),
        is_left_alone: false,
        failure: None,
    };
    loop {
        let wait = match keeper.step().await {
            Ok(Step::Wait(wait)) => wait.clamp(PAUSE, interval.max(PAUSE)),
            Ok(Step::LeaveAlone) => interval,
            Ok(_) => PAUSE,
            Err(error) if error.is_conflict() => {
                tracing::debug!(error = &error as &dyn std::error::Error, "was not first");
                PAUSE
            }
            Err(error) => {
                keeper.failed(&error).await;
                interval
            }
        };
        sleep(wait).await;
    }
}

struct Keeper {
    delays: Delays,
    store: Store,
    events: Events,
    metrics: Metrics,
    shown: Shown,
    is_left_alone: bool,
    failure: Option<String>,
}

impl Keeper {
    /// Does the next step, and tells which it was.
    async fn step(&mut self) -> Result<Step, Error> {
        let seen = self.store.read().await?;
        let mut state = self.store.state(&seen);
        state.shown_for = self.shown.see(&state, Instant::now());
        let step = plan(&state, self.delays, Timestamp::now());
        if step != Step::LeaveAlone {
            self.measure(&state);
        }
        let (change, reason, note) = match &step {
            Step::LeaveAlone => {
                self.tell_once_that_it_is_left_alone();
                return Ok(step);
            }
            Step::Wait(_) => return Ok(self.settled(step)),
            Step::Add { older } => {
                self.store.add(&seen, older).await?;
                (
                    "authority_added",
                    "AuthorityAdded",
                    "made a new certificate authority for the webhooks",
                )
            }
            Step::Record { older } if older.is_empty() => {
                self.store.keep(&seen, older).await?;
                (
                    "authorities_retired",
                    "AuthoritiesRetired",
                    "the older certificate authorities are trusted no more",
                )
            }
            Step::Record { older } => {
                self.store.keep(&seen, older).await?;
                (
                    "authorities_kept",
                    "AuthoritiesKept",
                    "put on record whom the serving certificate is from",
                )
            }
            Step::Publish(authorities) => {
                self.store.publish(&seen, authorities).await?;
                (
                    "published",
                    "AuthoritiesPublished",
                    "told the API server which certificate authorities to trust",
                )
            }
            Step::Issue => {
                self.store.issue(&seen).await?;
                (
                    "issued",
                    "CertificateIssued",
                    "issued a new serving certificate",
                )
            }
        };
        tracing::info!(change, "certificates: {note}");
        self.metrics.changed(change);
        self.events.done(reason, note).await;
        Ok(self.settled(step))
    }

    fn settled(&mut self, step: Step) -> Step {
        self.failure = None;
        self.is_left_alone = false;
        step
    }

    fn measure(&self, state: &State) {
        if let Some(authorities) = &state.authorities {
            self.metrics.authority(authorities.newest.life());
        }
        if let Some(serving) = &state.serving {
            self.metrics.serving(&serving.life);
        }
    }

    fn tell_once_that_it_is_left_alone(&mut self) {
        if !self.is_left_alone {
            tracing::warn!("certificates: cert-manager looks after them, so they are left alone");
        }
        self.is_left_alone = true;
        self.failure = None;
    }

    async fn failed(&mut self, error: &Error) {
        self.metrics.failed();
        tracing::error!(
            error = error as &dyn std::error::Error,
            "certificates: a step failed and is repeated"
        );
        let text = error.to_string();
        if self.failure.as_ref() != Some(&text) {
            self.events.failed(&text).await;
        }
        self.failure = Some(text);
    }
}

/// Since when the newest authority has been seen in every bundle. It is measured by what the process has lived through, so a clock that
/// is set, or a process that starts again, makes it no longer than it was.
#[derive(Debug, Default)]
struct Shown(Option<(Certificate, Instant)>);

impl Shown {
    fn see(&mut self, state: &State, now: Instant) -> Duration {
        let newest = state
            .authorities
            .as_ref()
            .map(|authorities| &authorities.newest)
            .filter(|newest| state.bundles.iter().all(|bundle| bundle.contains(newest)));
        let Some(newest) = newest else {
            self.0 = None;
            return Duration::ZERO;
        };
        match &self.0 {
            Some((shown, since)) if shown == newest => now.duration_since(*since),
            _ => {
                self.0 = Some((newest.clone(), now));
                Duration::ZERO
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::life::Life;
    use super::super::plan::Authorities;
    use super::*;

    #[test]
    fn a_bundle_without_the_newest_authority_begins_the_time_anew() {
        let life = Life::from_now(Timestamp::UNIX_EPOCH, Duration::from_secs(60));
        let [old, newest] = [1, 2].map(|id| Certificate::stand_in(id, life));
        let state = |bundles| State {
            is_cert_managers: false,
            authorities: Some(Authorities {
                newest: newest.clone(),
                older: vec![],
            }),
            serving: None,
            bundles,
            shown_for: Duration::ZERO,
        };
        let both = state(vec![
            vec![newest.clone(), old.clone()],
            vec![newest.clone()],
        ]);
        let one = state(vec![vec![newest.clone()], vec![old]]);
        let (mut shown, start) = (Shown::default(), Instant::now());
        let mut see = |state, second| {
            shown
                .see(state, start + Duration::from_secs(second))
                .as_secs()
        };
        assert_eq!([see(&both, 1), see(&both, 3)], [0, 2]);
        assert_eq!([see(&one, 4), see(&both, 5), see(&both, 9)], [0, 0, 4]);
    }
}
