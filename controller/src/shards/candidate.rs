//! What one replica does about all Leases. Pure: it is told what was seen and what became of its writes, and says what to do next.

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{BuildHasher, RandomState},
    time::Duration,
};

use super::{
    clock::Moment,
    identity::Identity,
    lease::{DURATION, Lease, RETRY},
    record::{Id, Record},
    share::{Share, share},
};

#[cfg(test)]
mod lives;
#[cfg(test)]
mod tests;

/// How long a member Lease that nobody renews is kept, by whoever sees it.
const MEMBER_KEPT: Duration = Duration::from_secs(60);

/// A replica that wants its share of the shards.
pub(super) struct Candidate {
    me: String,
    /// Whether what is held under its name at the start is its own.
    resumes: bool,
    shards: u32,
    leases: BTreeMap<Id, Lease>,
    /// Whether it is known which Leases there are.
    is_listed: bool,
    /// The Leases that were taken, and in which term, before the list was asked for that is not answered yet.
    checking: Option<BTreeMap<Id, u64>>,
    check_at: Moment,
    is_leaving: bool,
    /// Whether it was tried in vain to tell the others so.
    has_left_in_vain: bool,
    share: Share,
    jitter: RandomState,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Write a Lease.
    Write(Write),
    /// List all Leases as they are now.
    Check,
}

/// A write, which is to go through only if the Lease is as it was seen.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Write {
    pub(super) id: Id,
    /// The version that it is at; `None`: it does not exist.
    pub(super) version: Option<u64>,
    /// What it is to say; `None`: it is to be deleted.
    pub(super) record: Option<Record>,
    /// Whether it comes to a new holder.
    pub(super) is_taken: bool,
}

/// What became of a write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    /// It went through, and made this version.
    Written(u64),
    /// The Lease was deleted, as it should be.
    Deleted,
    /// The Lease was not as it had been seen; it is so; `None`: it does not exist.
    Late(Option<(u64, Record)>),
    /// It failed, or it is not known whether it did.
    Failed,
}

impl Candidate {
    /// The replica `me`, which divides the Tasks into so many shards.
    pub(super) fn new(me: &Identity, shards: u32) -> Self {
        Self {
            me: me.name().to_owned(),
            resumes: me.resumes(),
            shards,
            leases: (0..shards)
                .map(|shard| (Id::Shard(shard), Lease::default()))
                .collect(),
            is_listed: false,
            checking: None,
            check_at: Moment::default(),
            is_leaving: false,
            has_left_in_vain: false,
            share: Share::default(),
            jitter: RandomState::new(),
        }
    }

    /// Takes in what a Lease says.
    pub(super) fn heard(&mut self, id: Id, version: u64, record: Record, now: Moment) {
        let lease = self.leases.entry(id).or_default();
        let is_left = self.resumes && !self.is_listed && record.holder.as_ref() == Some(&self.me);
        lease.heard(&self.me, version, record, now);
        if is_left {
            lease.resume();
        }
    }

    /// Takes in that a Lease was deleted.
    pub(super) fn heard_gone(&mut self, id: &Id, version: Option<u64>, now: Moment) {
        if let Some(lease) = self.leases.get_mut(id) {
            lease.heard_gone(version, now);
        }
    }

    /// Takes in that these are all Leases that there are.
    pub(super) fn heard_all(&mut self, all: &BTreeSet<Id>, now: Moment) {
        let gone: Vec<Id> = self
            .leases
            .keys()
            .filter(|id| !all.contains(id))
            .cloned()
            .collect();
        for id in gone {
            self.heard_gone(&id, None, now);
        }
        self.is_listed = true;
    }

    /// Takes in what became of a write.
    pub(super) fn ended(&mut self, write: Write, outcome: Outcome, now: Moment) {
        let Write { id, record, .. } = write;
        let lease = self.leases.entry(id.clone()).or_default();
        match (outcome, record) {
            (Outcome::Written(version), Some(record)) => {
                lease.written(&self.me, version, record, now);
            }
            (Outcome::Deleted | Outcome::Late(None), record) => {
                lease.was_late(now);
                lease.heard_gone(None, now);
                if record.is_none() {
                    lease.deleted();
                }
            }
            (Outcome::Late(Some((version, record))), _) => {
                lease.was_late(now);
                lease.heard(&self.me, version, record, now);
            }
            (Outcome::Failed | Outcome::Written(_), record) => {
                lease.failed(now);
                self.has_left_in_vain |= self.is_leaving && record.is_none();
            }
        }
    }

    /// Takes in the answer to [`Step::Check`]; `None`: there was none.
    pub(super) fn checked(&mut self, all: Option<Vec<(Id, u64, Record)>>, now: Moment) {
        let taken = self.checking.take().unwrap_or_default();
        let Some(all) = all else {
            self.check_at = now.after(RETRY / 4);
            return;
        };
        for (id, version, record) in all {
            self.heard(id, version, record, now);
        }
        // Who does the same at the same time must not find the same again.
        let jitter = self.jitter.hash_one(now.since(Moment::default())) % 2000;
        let later = now.after(RETRY + Duration::from_millis(jitter));
        let is_divided_otherwise = self.is_divided_otherwise(now);
        for (id, term) in taken {
            let Some(lease) = self.leases.get_mut(&id) else {
                continue;
            };
            if is_divided_otherwise {
                lease.stand_aside(later);
            } else {
                lease.checked(term);
            }
        }
    }

    /// Gives up all, and takes nothing any more.
    pub(super) fn leave(&mut self) {
        self.is_leaving = true;
    }

    /// Whether it gives up all.
    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether nothing is left that it could give up.
    pub(super) fn has_left(&self, now: Moment) -> bool {
        let me = Id::Member(self.me.clone());
        let is_done = |(id, lease): (&Id, &Lease)| {
            lease.is_settled()
                && !lease.is_held(now)
                && (*id != me || lease.record().is_none() || self.has_left_in_vain)
        };
        self.is_leaving && self.leases.iter().all(is_done)
    }

    /// When the write was sent by which the replica owns this shard, if it does.
    pub(super) fn acting_since(&self, shard: u32, now: Moment) -> Option<Moment> {
        self.leases.get(&Id::Shard(shard))?.acting_since(now)
    }

    /// Whether no pass over a Task of this shard is to be begun any more, since it is to be given up.
    pub(super) fn is_closing(&self, shard: u32) -> bool {
        self.is_leaving || self.share.surplus.contains(&shard)
    }

    /// Whether somebody owns this shard, as far as is known.
    pub(super) fn is_owned(&self, shard: u32, now: Moment) -> bool {
        let lease = self.leases.get(&Id::Shard(shard));
        lease.is_some_and(|lease| lease.holder(now).is_some())
    }

    /// What to do now. `is_idle` tells of a shard that is to be given up whether nobody acts on it any more.
    pub(super) fn steps(&mut self, now: Moment, is_idle: impl Fn(u32) -> bool) -> Vec<Step> {
        let mut steps = Vec::new();
        if !self.is_listed {
            return steps;
        }
        for lease in self.leases.values_mut() {
            lease.expire(now);
        }
        self.forget(now);
        self.share = self.share(now);
        steps.extend(self.check(now));
        steps.extend(self.take_part(now).map(Step::Write));
        for shard in 0..self.shards {
            steps.extend(self.shard_step(shard, now, &is_idle).map(Step::Write));
        }
        steps.extend(self.clean_up(now).map(Step::Write));
        steps
    }

    /// What is left to know of the Leases that were taken.
    fn check(&mut self, now: Moment) -> Option<Step> {
        if self.checking.is_some() || now < self.check_at {
            return None;
        }
        let taken: BTreeMap<Id, u64> = self
            .leases
            .iter()
            .filter(|(id, _)| matches!(id, Id::Shard(_)))
            .filter_map(|(id, lease)| Some((id.clone(), lease.unchecked_term(now)?)))
            .collect();
        if taken.is_empty() {
            return None;
        }
        self.checking = Some(taken);
        Some(Step::Check)
    }

    /// Tells the others that the replica is there, if there is something to spread.
    fn take_part(&mut self, now: Moment) -> Option<Write> {
        let id = Id::Member(self.me.clone());
        if self.is_leaving {
            let lease = self.leases.get(&id)?;
            let is_due = lease.may_be_written(now) && lease.record().is_some();
            return is_due.then(|| self.send(id, now, None));
        }
        if self.shards < 2 {
            return None;
        }
        let is_due = self.leases.entry(id.clone()).or_default().is_due(now);
        is_due.then(|| self.hold(id, now))
    }

    fn shard_step(
        &mut self,
        shard: u32,
        now: Moment,
        is_idle: &impl Fn(u32) -> bool,
    ) -> Option<Write> {
        let id = Id::Shard(shard);
        let is_closing = self.is_closing(shard);
        let lease = self.leases.get_mut(&id)?;
        if is_closing && lease.acting_since(now).is_some() && is_idle(shard) {
            lease.give_up();
        }
        let lease = self.leases.get(&id)?;
        if lease.is_given_up(now) {
            let released = lease.record()?.1.released();
            let may_be_written = lease.may_be_written(now);
            return may_be_written.then(|| self.send(id, now, Some(released)));
        }
        let is_wanted = lease.is_held(now)
            || self.share.take.contains(&shard)
                && lease.is_free(now)
                && !self.is_divided_otherwise(now);
        (is_wanted && lease.is_due(now)).then(|| self.hold(id, now))
    }

    /// Removes what is left of replicas that ended without a word.
    fn clean_up(&mut self, now: Moment) -> Option<Write> {
        if self.is_leaving {
            return None;
        }
        let is_left = |(id, lease): &(&Id, &Lease)| {
            matches!(id, Id::Member(name) if *name != self.me)
                && lease.may_be_written(now)
                && lease.unchanged_for(now) >= MEMBER_KEPT
        };
        let id = self.leases.iter().find(is_left)?.0.clone();
        Some(self.send(id, now, None))
    }

    fn hold(&mut self, id: Id, now: Moment) -> Write {
        let before = self.leases.get(&id).and_then(|lease| lease.record());
        let is_taken = before.is_none_or(|(_, record)| record.holder.as_ref() != Some(&self.me));
        let transitions = before.map_or(0, |(_, record)| record.transitions);
        let transitions = transitions.saturating_add(i32::from(is_taken && before.is_some()));
        let record = Record::held(&self.me, DURATION, self.shards, transitions);
        self.send(id, now, Some(record))
    }

    fn send(&mut self, id: Id, now: Moment, record: Option<Record>) -> Write {
        let lease = self.leases.entry(id.clone()).or_default();
        lease.sending(now);
        let before = lease.record();
        let is_taken = match (before, &record) {
            (Some((_, before)), Some(record)) => before.holder != record.holder,
            _ => true,
        };
        Write {
            id,
            version: before.map(|(version, _)| version),
            record,
            is_taken,
        }
    }

    /// Whether another replica that divides the Tasks into another number of shards owns some of them, so that no Task may be called ours.
    fn is_divided_otherwise(&self, now: Moment) -> bool {
        let of_shards = self
            .leases
            .iter()
            .filter(|(id, _)| matches!(id, Id::Shard(_)));
        let mut others = of_shards.filter(|(_, lease)| !lease.is_held(now));
        others.any(|(_, lease)| lease.is_divided_otherwise(self.shards, now))
    }

    fn share(&self, now: Moment) -> Share {
        if self.is_leaving {
            return Share::default();
        }
        let holders: Vec<Option<&str>> = (0..self.shards)
            .map(|shard| {
                let lease = self.leases.get(&Id::Shard(shard))?;
                if lease.is_given_up(now) {
                    Some("")
                } else if lease.is_held(now) {
                    Some(self.me.as_str())
                } else if lease.is_free(now) {
                    None
                } else {
                    // Whoever it is, it is not to be had.
                    lease.holder(now).or(Some(""))
                }
            })
            .collect();
        let others = self.leases.iter().filter_map(|(id, lease)| match id {
            Id::Member(name) if lease.holder(now).is_some() => Some(name.as_str()),
            _ => None,
        });
        let members = others.chain([self.me.as_str()]).collect();
        share(&self.me, &holders, &members)
    }

    /// Forgets Leases that others had and that are gone.
    fn forget(&mut self, now: Moment) {
        let Self { me, shards, .. } = self;
        self.leases.retain(|id, lease| {
            let is_own = match id {
                Id::Shard(shard) => shard < shards,
                Id::Member(name) => name == me,
            };
            is_own || !lease.is_forgotten(now)
        });
    }
}
