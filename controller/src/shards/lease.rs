//! One Lease, as one replica knows it. Pure: what was seen and when, whether the replica holds it, and when it may be taken.
//!
//! Two replicas never act on one Lease at the same time, whatever their clocks say and however long messages take:
//!
//! - A write goes through only if the Lease is at the version that the writer has seen.
//! - Who holds it acts until [`RENEW_DEADLINE`] after it *sent* the last write that is known to have gone through.
//! - Who does not hold it waits until the version that it will write over has been there for the Lease's duration, [`DURATION`], *since it
//!   was seen*. It was seen after it was sent, so the holder has stopped by then; had there been a later one, the write would fail.
//!
//! That takes clocks that run equally fast, but for some percent. By [`ENDED`] the API server must have ended what the holder asked of it.

use std::time::Duration;

use super::{clock::Moment, record::Record};

#[cfg(test)]
mod tests;

/// How long a Lease is good for.
pub const DURATION: Duration = Duration::from_secs(15);

/// How long its holder acts on it without having renewed it.
pub const RENEW_DEADLINE: Duration = Duration::from_secs(10);

/// How long after its last renewal something may go on that its holder began.
pub const ENDED: Duration = Duration::from_secs(14);

/// How often it is renewed, and how soon what failed is tried again.
pub const RETRY: Duration = Duration::from_secs(2);

/// What one replica knows of a Lease.
#[derive(Clone, Debug, Default)]
pub(super) struct Lease {
    seen: Option<Seen>,
    /// Since when it is known to be gone, if it was there.
    gone: Option<Moment>,
    held: Option<Held>,
    /// The version that the replica itself wrote last, to hold it, now or in an earlier life. What says so otherwise may be another's doing.
    own: Option<u64>,
    /// When the write was sent that is not answered yet.
    sent: Option<Moment>,
    /// Whether another's hand was seen since. A Lease that was made and deleted meanwhile is created by a write that is late.
    is_in_doubt: bool,
    /// Nothing is tried before, since it failed.
    try_at: Moment,
    /// It is not taken before.
    aside_until: Moment,
    terms: u64,
}

#[derive(Clone, Debug)]
struct Seen {
    version: u64,
    record: Record,
    since: Moment,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    /// When the write was sent that made or kept the replica the holder.
    since: Moment,
    /// Which time it is that the replica holds it.
    term: u64,
    /// Whether it is known that nobody divides the Tasks into another number of shards.
    is_checked: bool,
    /// Whether it is to be given up, which may have been written already: it is never acted on again in this term.
    is_given_up: bool,
}

impl Lease {
    /// Takes in what the Lease says. What is older than what is known is nothing new.
    pub(super) fn heard(&mut self, me: &str, version: u64, record: Record, now: Moment) {
        if self
            .seen
            .as_ref()
            .is_some_and(|seen| seen.version >= version)
        {
            return;
        }
        if record.holder.as_deref() != Some(me) {
            self.held = None;
            self.is_in_doubt = true;
        }
        self.gone = None;
        self.seen = Some(Seen {
            version,
            record,
            since: now,
        });
    }

    /// Takes in that what it says was written by an earlier process that had the same name.
    pub(super) fn resume(&mut self) {
        self.own = self.seen.as_ref().map(|seen| seen.version);
    }

    /// Takes in that the Lease was deleted, which made the version; `None`: it was not in a list.
    pub(super) fn heard_gone(&mut self, version: Option<u64>, now: Moment) {
        let is_newest = |seen: &mut Seen| version.is_none_or(|version| version >= seen.version);
        if self.seen.take_if(is_newest).is_some() {
            self.gone = Some(now);
            self.is_in_doubt = true;
        }
    }

    /// Takes in that it is gone as the replica wanted, so that it does not hold it any more.
    pub(super) fn deleted(&mut self) {
        self.held = None;
    }

    /// Notes that a write is on its way.
    pub(super) fn sending(&mut self, now: Moment) {
        self.sent = Some(now);
        self.is_in_doubt = false;
    }

    /// Takes in that the write went through.
    pub(super) fn written(&mut self, me: &str, version: u64, record: Record, now: Moment) {
        let since = self.sent.take().unwrap_or(now);
        let holds = record.holder.as_deref() == Some(me);
        self.own = (holds && !self.is_in_doubt).then_some(version);
        self.heard(me, version, record, now);
        // Somebody may have written since, and been heard first.
        let is_newest = |seen: &Seen| seen.version == version;
        if self.own.is_none() || !self.seen.as_ref().is_some_and(is_newest) {
            self.held = None;
            return;
        }
        self.held = Some(match self.held {
            Some(held) => Held { since, ..held },
            None => {
                self.terms += 1;
                Held {
                    since,
                    term: self.terms,
                    is_checked: false,
                    is_given_up: false,
                }
            }
        });
    }

    /// Takes in that the write did not go through, or that nobody knows.
    pub(super) fn failed(&mut self, now: Moment) {
        let sent = self.sent.take().unwrap_or(now);
        self.try_at = now.max(sent.after(RETRY));
    }

    /// Takes in that the write met another version, which has been heard since.
    pub(super) fn was_late(&mut self, now: Moment) {
        self.sent = None;
        self.try_at = now.after(RETRY / 4);
    }

    /// The time that the replica holds it now, if nobody has looked yet who else divides the Tasks.
    pub(super) fn unchecked_term(&self, now: Moment) -> Option<u64> {
        self.held(now)
            .filter(|held| !held.is_checked && !held.is_given_up)
            .map(|held| held.term)
    }

    /// Takes in that nobody divided the Tasks otherwise after that term had begun.
    pub(super) fn checked(&mut self, term: u64) {
        if let Some(held) = &mut self.held
            && held.term == term
        {
            held.is_checked = true;
        }
    }

    /// Gives it up for good, which is yet to be written.
    pub(super) fn give_up(&mut self) {
        if let Some(held) = &mut self.held {
            held.is_given_up = true;
        }
    }

    /// Leaves it to others for a while.
    pub(super) fn stand_aside(&mut self, until: Moment) {
        self.give_up();
        self.aside_until = until;
    }

    /// Notices that it has not been renewed in time.
    pub(super) fn expire(&mut self, now: Moment) {
        self.held = self.held(now);
    }

    fn held(&self, now: Moment) -> Option<Held> {
        self.held
            .filter(|held| now < held.since.after(RENEW_DEADLINE))
    }

    /// Whether the replica holds it.
    pub(super) fn is_held(&self, now: Moment) -> bool {
        self.held(now).is_some()
    }

    /// Whether the replica holds it and has yet to write that it gave it up.
    pub(super) fn is_given_up(&self, now: Moment) -> bool {
        self.held(now).is_some_and(|held| held.is_given_up)
    }

    /// When the write was sent by which the replica holds it, if it may be acted on.
    pub(super) fn acting_since(&self, now: Moment) -> Option<Moment> {
        self.held(now)
            .filter(|held| held.is_checked && !held.is_given_up)
            .map(|held| held.since)
    }

    /// Whether a write may be sent.
    pub(super) fn may_be_written(&self, now: Moment) -> bool {
        self.sent.is_none() && now >= self.try_at
    }

    /// Whether it is to be renewed, if the replica holds it.
    pub(super) fn is_due(&self, now: Moment) -> bool {
        let is_due = |held: Held| now >= held.since.after(RETRY);
        self.may_be_written(now) && self.held(now).is_none_or(is_due)
    }

    /// Whether no write is on its way.
    pub(super) fn is_settled(&self) -> bool {
        self.sent.is_none()
    }

    /// Whether it may be taken.
    pub(super) fn is_free(&self, now: Moment) -> bool {
        now >= self.aside_until && self.is_vacant(now)
    }

    /// Whether nobody acts on it but, maybe, this replica. One that was deleted is waited for: its holder may not know yet.
    fn is_vacant(&self, now: Moment) -> bool {
        match (&self.seen, self.gone) {
            (Some(seen), _) => {
                seen.record.is_released()
                    || self.own == Some(seen.version)
                    || now >= seen.since.after(seen.record.duration)
            }
            (None, Some(gone)) => now >= gone.after(DURATION),
            (None, None) => true,
        }
    }

    /// Whether another replica may act on it that does not divide the Tasks into `shards`. Of one that was deleted nobody knows what it said last.
    pub(super) fn is_divided_otherwise(&self, shards: u32, now: Moment) -> bool {
        let is_so = |seen: &Seen| seen.record.shards == Some(shards);
        !self.is_vacant(now) && !self.seen.as_ref().is_some_and(is_so)
    }

    /// Whether there is nothing to know of it.
    pub(super) fn is_forgotten(&self, now: Moment) -> bool {
        self.seen.is_none() && self.sent.is_none() && self.is_vacant(now)
    }

    /// Who holds it, as far as is known.
    pub(super) fn holder(&self, now: Moment) -> Option<&str> {
        let seen = self.seen.as_ref()?;
        let is_good = now < seen.since.after(seen.record.duration);
        seen.record.holder.as_deref().filter(|_| is_good)
    }

    /// What it says, and the version that says so.
    pub(super) fn record(&self) -> Option<(u64, &Record)> {
        self.seen.as_ref().map(|seen| (seen.version, &seen.record))
    }

    /// For how long it has said so.
    pub(super) fn unchanged_for(&self, now: Moment) -> Duration {
        self.seen
            .as_ref()
            .map_or(Duration::ZERO, |seen| now.since(seen.since))
    }
}
