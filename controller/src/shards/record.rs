//! What a Lease says, and how it is written.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::{
    api::coordination::v1::{Lease, LeaseSpec},
    apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta},
};
use serde_json::{Value, json};

use crate::names;

/// A Lease of the controller.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Id {
    /// `task-controller-shard-<i>`: its holder owns the Tasks of that shard.
    Shard(u32),
    /// `task-controller-member-<identity>`: that replica takes part in the spread of the shards.
    Member(String),
}

const SHARD: &str = "task-controller-shard-";
const MEMBER: &str = "task-controller-member-";

impl Id {
    /// The Lease of this name; `None` if it is none of the controller's.
    pub(super) fn of(name: &str) -> Option<Self> {
        let shard = || {
            let digits = name.strip_prefix(SHARD)?;
            let shard = digits.parse().ok().map(Self::Shard)?;
            // `+1` and `01` are numbers too.
            (shard.name() == name).then_some(shard)
        };
        let member = || Some(Self::Member(name.strip_prefix(MEMBER)?.to_owned()));
        shard().or_else(member)
    }

    /// The name of the Lease.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Shard(shard) => format!("{SHARD}{shard}"),
            Self::Member(identity) => format!("{MEMBER}{identity}"),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Shard(_) => "shard",
            Self::Member(_) => "member",
        }
    }
}

/// What a Lease says, as far as it is gone by. Its times are for people: they are of another's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Who holds it.
    pub holder: Option<String>,
    /// For how long, from when the record was first seen.
    pub duration: Duration,
    /// Into how many shards the holder divides the Tasks.
    pub shards: Option<u32>,
    /// How often it has changed hands.
    pub transitions: i32,
}

/// How long a Lease is good for that its holder has given up, as client-go writes it. Together with an empty holder it says that nobody
/// acts on it any more; an empty holder alone may be somebody's doing who knows nothing of that.
const RELEASED: Duration = Duration::from_secs(1);

impl Record {
    /// What is written to hold a Lease.
    pub(super) fn held(me: &str, duration: Duration, shards: u32, transitions: i32) -> Self {
        Self {
            holder: Some(me.to_owned()),
            duration,
            shards: Some(shards),
            transitions,
        }
    }

    /// What is written to give a Lease up.
    pub(super) fn released(&self) -> Self {
        Self {
            holder: None,
            duration: RELEASED,
            ..self.clone()
        }
    }

    /// Whether its holder gave it up.
    pub(super) fn is_released(&self) -> bool {
        self.holder.is_none() && self.duration <= RELEASED
    }

    /// What `lease` says; where it does not say for how long, that is `usual`.
    pub(super) fn read(lease: &Lease, usual: Duration) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let seconds = spec
            .lease_duration_seconds
            .and_then(|s| u64::try_from(s).ok());
        let shards = lease.metadata.annotations.as_ref();
        Self {
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            duration: seconds.map_or(usual, Duration::from_secs),
            shards: shards
                .and_then(|annotations| annotations.get(names::SHARDS))
                .and_then(|text| text.parse().ok()),
            transitions: spec.lease_transitions.unwrap_or_default(),
        }
    }

    /// The Lease to create.
    pub(super) fn create(&self, id: &Id, now: Timestamp) -> Lease {
        let map = |name: &str, value: String| Some(BTreeMap::from([(name.to_owned(), value)]));
        Lease {
            metadata: ObjectMeta {
                name: Some(id.name()),
                labels: map(names::LEASE, id.kind().to_owned()),
                annotations: self
                    .shards
                    .and_then(|shards| map(names::SHARDS, shards.to_string())),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                holder_identity: self.holder.clone(),
                lease_duration_seconds: Some(seconds(self.duration)),
                lease_transitions: Some(self.transitions),
                acquire_time: Some(MicroTime(now)),
                renew_time: Some(MicroTime(now)),
                ..LeaseSpec::default()
            }),
        }
    }

    /// The merge patch that writes this into the Lease if it is still at `version`. `taken`: the holder is a new one.
    pub(super) fn patch(&self, id: &Id, version: u64, taken: bool, now: Timestamp) -> Value {
        let now = MicroTime(now);
        let mut spec = json!({
            "holderIdentity": self.holder,
            "leaseDurationSeconds": seconds(self.duration),
            "leaseTransitions": self.transitions,
            "renewTime": now,
        });
        if taken {
            spec["acquireTime"] = json!(now);
        }
        json!({
            "metadata": {
                "resourceVersion": version.to_string(),
                "labels": { names::LEASE: id.kind() },
                "annotations": { names::SHARDS: self.shards.map(|shards| shards.to_string()) },
            },
            "spec": spec,
        })
    }
}

fn seconds(duration: Duration) -> i32 {
    i32::try_from(duration.as_secs()).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Duration = Duration::from_secs(15);

    #[test]
    fn a_lease_is_known_by_its_name() {
        for id in [Id::Shard(0), Id::Shard(12), Id::Member("a-b-1".to_owned())] {
            assert_eq!(Id::of(&id.name()), Some(id));
        }
        for name in [
            "task-controller-shard-",
            "task-controller-shard-01",
            "task-controller-shard-+1",
            "task-controller-shard--1",
            "other",
        ] {
            assert_eq!(Id::of(name), None, "{name}");
        }
    }

    #[test]
    fn what_was_created_is_read_again() {
        let record = Record::held("me", USUAL, 6, 3);
        let lease = record.create(&Id::Shard(1), Timestamp::UNIX_EPOCH);
        assert_eq!(Record::read(&lease, Duration::ZERO), record);
        let released = record.released();
        let lease = released.create(&Id::Shard(1), Timestamp::UNIX_EPOCH);
        assert!(Record::read(&lease, USUAL).is_released());
    }

    #[test]
    fn a_lease_that_says_nothing_is_good_for_the_usual_time_and_was_not_given_up() {
        let record = Record::read(&Lease::default(), USUAL);
        assert_eq!((record.holder.as_ref(), record.duration), (None, USUAL));
        assert!(!record.is_released());
    }

    #[test]
    fn a_holder_that_somebody_erased_has_not_given_the_lease_up() {
        let mut lease = Record::held("me", USUAL, 1, 0).create(&Id::Shard(0), Timestamp::now());
        for holder in [None, Some(String::new())] {
            lease.spec.as_mut().unwrap().holder_identity = holder;
            let record = Record::read(&lease, USUAL);
            assert!(record.holder.is_none() && !record.is_released());
        }
    }

    #[test]
    fn a_write_names_the_version_that_it_is_meant_for() {
        let patch =
            Record::held("me", USUAL, 1, 0).patch(&Id::Shard(0), 7, false, Timestamp::UNIX_EPOCH);
        assert_eq!(patch["metadata"]["resourceVersion"], "7");
        assert_eq!(patch["spec"]["renewTime"], "1970-01-01T00:00:00.000000Z");
        assert_eq!(patch["spec"].get("acquireTime"), None);
    }
}
