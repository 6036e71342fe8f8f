//! Which replica looks after which Task.
//!
//! The Tasks are divided into shards ([`shard_of`]), and a replica owns a shard while it holds that shard's Lease. With one shard that is leader
//! election. What holds, whatever the clocks say and the network does:
//!
//! - **No two replicas act on a Task at the same time** ([`lease`] tells why). A replica that cannot renew a Lease stops before another
//!   may begin: the [`fenced`] client sends no further write and waits for none. A shard that is given up is so only once no pass
//!   over one of its Tasks is under way and no write is unanswered.
//! - **A shard that was given up is taken at once**, since the Leases are watched; one whose owner is gone within 15 s, and a little.
//! - **Each replica owns as many shards as every other, or one more** ([`share`]). Where there is more than one shard, each makes itself known by a
//!   Lease of its own, a member Lease.
//! - **While replicas run that divide the Tasks into different numbers of shards**, those that own shards go on, and the others wait until none is owned.
//!
//! A Lease is only believed to be given up if its holder says so in the way that client-go does. Whatever else is done to it, by hand say, is waited
//! out. Two things are not: a replica that starts right after somebody *deleted* a Lease cannot know that there was one, nor one that was given
//! its name, and has just started, who wrote that name into a Lease.
//!
//! | module | holds |
//! |---|---|
//! | [`candidate`] | what one replica does about all Leases; pure |
//! | [`lease`] | one Lease, as one replica knows it; pure |
//! | [`share`] | who should own which shard; pure |
//! | [`placement`] | which shard a Task belongs to; pure |
//! | [`record`] | what a Lease says |
//! | [`elector`] | sees the Leases, and writes them |
//! | [`ownership`], [`fence`] | what holds the passes and their writes back |
//! | [`clock`], [`identity`], [`args`], [`metrics`] | |

use std::{collections::BTreeSet, sync::Arc};

use futures::Stream;
use kube::{Api, Client, runtime::reflector::ObjectRef};
use tokio::sync::{Notify, mpsc, watch};

use crate::watched::Watched;
use candidate::Candidate;
use elector::Elector;

mod args;
mod candidate;
mod clock;
mod elector;
mod fence;
mod identity;
mod lease;
mod metrics;
mod ownership;
mod placement;
mod record;
mod share;

pub use args::Args;
pub use fence::{NotOwned, fenced};
pub use identity::Identity;
pub use metrics::Metrics;
pub use ownership::{Pass, Shard};
pub use placement::shard_of;

/// All shards, as this replica owns them.
#[derive(Clone, Debug)]
pub struct Shards(Arc<[Arc<Shard>]>);

impl Shards {
    /// The shard of that number.
    ///
    /// # Panics
    /// When there is none.
    #[must_use]
    pub fn get(&self, shard: u32) -> &Arc<Shard> {
        &self.0[shard as usize]
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        // It was one when they were made.
        self.0.len() as u32
    }

    /// The number of the shard that the Task belongs to.
    #[must_use]
    pub fn of(&self, task: &ObjectRef<Watched>) -> u32 {
        let namespace = task.namespace.as_deref().unwrap_or_default();
        shard_of(namespace, &task.name, self.count())
    }
}

/// What takes and keeps this replica's share of the shards.
pub struct Replica {
    identity: Identity,
    shards: Shards,
    idle: Arc<Notify>,
    gained: mpsc::UnboundedSender<u32>,
}

impl Replica {
    /// The replica `identity`, which owns nothing yet; and the shards that it comes to own, each when it does.
    pub fn new(identity: Identity, shards: u32) -> (Self, impl Stream<Item = u32> + Send + use<>) {
        let idle = Arc::new(Notify::new());
        let (gained, receiver) = mpsc::unbounded_channel();
        let shard = |_| Arc::new(Shard::new(Arc::clone(&idle)));
        let replica = Self {
            identity,
            shards: Shards((0..shards).map(shard).collect()),
            idle: Arc::clone(&idle),
            gained,
        };
        let gained = futures::stream::unfold(receiver, async |mut receiver| {
            let shard = receiver.recv().await?;
            Some((shard, receiver))
        });
        (replica, gained)
    }

    /// The shards.
    #[must_use]
    pub fn shards(&self) -> Shards {
        self.shards.clone()
    }

    /// Takes part until `stop` says so, and gives everything up then: the member Lease at once, and each shard as soon as nobody acts on it.
    ///
    /// `tasks_in` tells how many Tasks there are in some shards; it is asked only while nobody owns those.
    pub async fn run(
        self,
        client: Client,
        args: Args,
        metrics: Metrics,
        tasks_in: impl Fn(&BTreeSet<u32>) -> usize + Send + Sync + 'static,
        stop: watch::Receiver<bool>,
    ) {
        let namespace = args.lease_namespace(client.default_namespace()).to_owned();
        let elector = Elector {
            candidate: Candidate::new(&self.identity, self.shards.count()),
            leases: Api::namespaced(client, &namespace),
            shards: self.shards.0,
            idle: self.idle,
            gained: self.gained,
            metrics,
            tasks_in,
        };
        elector.run(stop).await;
    }
}
