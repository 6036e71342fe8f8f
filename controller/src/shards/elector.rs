//! Sees the Leases, has [`Candidate`] decide, and writes.

use std::{collections::BTreeSet, pin::pin, sync::Arc, time::Duration};

use futures::{StreamExt, stream::FuturesUnordered};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{
    Api, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use tokio::{
    sync::{Notify, mpsc, watch},
    time::{MissedTickBehavior, interval, timeout},
};

use super::{
    candidate::{Candidate, Outcome, Step, Write},
    clock::Moment,
    lease::DURATION,
    metrics::Metrics,
    ownership::Shard,
    record::{Id, Record},
};
use crate::names;

/// How often it is looked what is due.
const TICK: Duration = Duration::from_millis(500);

/// How long a request may take. Three of them fit into the time in which a Lease must be renewed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// How long the API server keeps one watch open, in seconds. Half a minute later the client gives up one that was cut off without a word; what
/// depends on it is only how soon a change is noticed.
const WATCH_SECONDS: u32 = 60;

/// What looks after the Leases of one replica.
pub(super) struct Elector<F> {
    pub(super) candidate: Candidate,
    pub(super) leases: Api<Lease>,
    pub(super) shards: Arc<[Arc<Shard>]>,
    /// Told by a shard that may be given up.
    pub(super) idle: Arc<Notify>,
    /// Told which shards have come to be owned.
    pub(super) gained: mpsc::UnboundedSender<u32>,
    pub(super) metrics: Metrics,
    /// How many Tasks there are in a shard.
    pub(super) tasks_in: F,
}

/// What came of a step.
enum Done {
    Wrote(Write, Outcome),
    Listed(Option<Vec<(Id, u64, Record)>>),
}

impl<F: Fn(&BTreeSet<u32>) -> usize> Elector<F> {
    /// Looks after the Leases until `stop` says so and all have been given up.
    pub(super) async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let config = watcher::Config::default()
            .labels(names::LEASE)
            .timeout(WATCH_SECONDS);
        let mut events = pin!(watcher(self.leases.clone(), config).default_backoff());
        let mut under_way = FuturesUnordered::new();
        let mut listing = BTreeSet::new();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = Moment::now();
            if self.candidate.has_left(now) {
                return;
            }
            let shards = Arc::clone(&self.shards);
            let is_idle = |shard: u32| shards[shard as usize].close(now);
            for step in self.candidate.steps(now, is_idle) {
                under_way.push(perform(self.leases.clone(), step));
            }
            self.publish(now);
            tokio::select! {
                Some(event) = events.next() => match event {
                    Ok(event) => self.hear(event, &mut listing),
                    Err(error) => tracing::debug!(
                        error = &error as &dyn std::error::Error,
                        "the watch of the Leases was interrupted and is taken up again"
                    ),
                },
                Some(done) = under_way.next() => self.end(done),
                _ = ticks.tick() => {}
                () = self.idle.notified() => {}
                stopped = stop.wait_for(|stop| *stop), if !self.candidate.is_leaving() => {
                    // An error says that nobody is left who could say stop.
                    drop(stopped);
                    self.candidate.leave();
                }
            }
        }
    }

    fn hear(&mut self, event: Event<Lease>, listing: &mut BTreeSet<Id>) {
        let now = Moment::now();
        match event {
            Event::Init => listing.clear(),
            Event::InitApply(lease) => {
                if let Some((id, version, record)) = read(&lease) {
                    listing.insert(id.clone());
                    self.candidate.heard(id, version, record, now);
                }
            }
            Event::InitDone => self.candidate.heard_all(&std::mem::take(listing), now),
            Event::Apply(lease) => {
                if let Some((id, version, record)) = read(&lease) {
                    self.candidate.heard(id, version, record, now);
                }
            }
            Event::Delete(lease) => {
                if let Some((id, version, _)) = read(&lease) {
                    self.candidate.heard_gone(&id, Some(version), now);
                }
            }
        }
    }

    fn end(&mut self, done: Done) {
        let now = Moment::now();
        match done {
            Done::Wrote(write, outcome) => self.candidate.ended(write, outcome, now),
            Done::Listed(all) => self.candidate.checked(all, now),
        }
    }

    /// Tells the passes, and who looks at the metrics, what the replica owns.
    fn publish(&self, now: Moment) {
        let mut owned = 0;
        let mut orphans = BTreeSet::new();
        for (number, shard) in (0..).zip(self.shards.iter()) {
            let since = self.candidate.acting_since(number, now);
            let was_owned = shard.set(since, self.candidate.is_closing(number));
            match (was_owned, since.is_some()) {
                (false, true) => {
                    tracing::info!(shard = number, "owns the shard");
                    // Nobody listens any more only when the process stops.
                    let _ = self.gained.send(number);
                }
                (true, false) => tracing::info!(shard = number, "does not own the shard any more"),
                _ => {}
            }
            owned += i64::from(since.is_some());
            if since.is_none() && !self.candidate.is_owned(number, now) {
                orphans.insert(number);
            }
        }
        let tasks = if orphans.is_empty() {
            0
        } else {
            (self.tasks_in)(&orphans)
        };
        self.metrics.set(owned, tasks);
    }
}

fn read(lease: &Lease) -> Option<(Id, u64, Record)> {
    let id = Id::of(lease.metadata.name.as_deref()?)?;
    let version = lease.resource_version()?.parse().ok()?;
    Some((id, version, Record::read(lease, DURATION)))
}

async fn perform(leases: Api<Lease>, step: Step) -> Done {
    match step {
        Step::Write(write) => {
            let outcome = outcome(&leases, &write).await;
            Done::Wrote(write, outcome)
        }
        Step::Check => {
            // Without a version: as the Leases are now.
            let params = ListParams::default().labels(names::LEASE);
            let list = in_time(leases.list(&params)).await;
            Done::Listed(list.map(|list| list.iter().filter_map(read).collect()))
        }
    }
}

async fn outcome(leases: &Api<Lease>, write: &Write) -> Outcome {
    let name = write.id.name();
    let now = Timestamp::now();
    let written = match (&write.record, write.version) {
        (Some(record), Some(version)) => {
            let patch = record.patch(&write.id, version, write.is_taken, now);
            let params = PatchParams::default();
            timeout(
                REQUEST_TIMEOUT,
                leases.patch(&name, &params, &Patch::Merge(patch)),
            )
            .await
        }
        (Some(record), None) => {
            let lease = record.create(&write.id, now);
            timeout(
                REQUEST_TIMEOUT,
                leases.create(&PostParams::default(), &lease),
            )
            .await
        }
        (None, version) => {
            let only_this = Preconditions {
                resource_version: version.map(|version| version.to_string()),
                uid: None,
            };
            let params = DeleteParams::default().preconditions(only_this);
            match timeout(REQUEST_TIMEOUT, leases.delete(&name, &params)).await {
                Ok(Ok(_)) => return Outcome::Deleted,
                Ok(Err(error)) => Ok(Err(error)),
                Err(elapsed) => Err(elapsed),
            }
        }
    };
    match written {
        Ok(Ok(lease)) => match read(&lease) {
            Some((_, version, _)) => Outcome::Written(version),
            None => Outcome::Failed,
        },
        Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => {
            match in_time(leases.get_opt(&name)).await {
                Some(Some(lease)) => match read(&lease) {
                    Some((_, version, record)) => Outcome::Late(Some((version, record))),
                    None => Outcome::Failed,
                },
                Some(None) => Outcome::Late(None),
                None => Outcome::Failed,
            }
        }
        Ok(Err(error)) => {
            tracing::warn!(
                lease = name,
                error = &error as &dyn std::error::Error,
                "cannot write the Lease"
            );
            Outcome::Failed
        }
        Err(_) => {
            tracing::warn!(
                lease = name,
                "cannot write the Lease: no answer within {REQUEST_TIMEOUT:?}"
            );
            Outcome::Failed
        }
    }
}

/// The answer, if there is one in time.
async fn in_time<T>(request: impl Future<Output = kube::Result<T>>) -> Option<T> {
    match timeout(REQUEST_TIMEOUT, request).await {
        Ok(Ok(answer)) => Some(answer),
        Ok(Err(error)) => {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot read the Leases"
            );
            None
        }
        Err(_) => None,
    }
}
