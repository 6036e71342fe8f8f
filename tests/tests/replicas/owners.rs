//! Proves from the audit log that no Task was ever handled by two replicas at once.
//!
//! All times are of one clock, the API server's, and each request has two: when it was received, and when it had been answered. A replica
//! owns a shard at the most from when the request was received by which it took the Lease, to when the one was received by which it gave it up
//! or another replica took it; what others write into a Lease gives nobody anything. If each write to a Task or its children lies within
//! such a time of the replica that made it, from its receipt to its answer, then no two replicas' writes overlap, nor do they alternate. A
//! write that failed did nothing. Of one that the API server did not answer, because it was killed, nothing is known, but it was
//! killed long before another replica could have taken the Lease.
//!
//! Nobody can keep the network from holding a write up, and the API server from receiving it when another replica owns the shard. It names
//! the version of the object that it is meant for, so it may go through only while none of the next owners has written to that object; after
//! that they find it as if it had been made before they began.

use std::collections::BTreeMap;

use serde_json::Value;
use task_controller::shards::shard_of;

use crate::world::SHARDS;

/// How often a shard came to be owned, how many writes were looked at, and how many of them the network had held up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Proof {
    pub terms: usize,
    pub writes: usize,
    pub late: usize,
}

/// A replica owns a shard.
#[derive(Debug)]
struct Term {
    owner: String,
    from: String,
    /// `None`: to this day.
    to: Option<String>,
}

/// A request that went through.
struct Write<'e> {
    replica: &'e str,
    event: &'e Value,
    received: &'e str,
    answered: &'e str,
}

/// Checks every write of the log.
///
/// # Errors
/// The first one that was made by a replica that did not own the Task, or that came when the next owner had begun on the object.
pub fn prove(events: &[Value]) -> Result<Proof, String> {
    let writes: Vec<Write<'_>> = events.iter().filter_map(Write::of).collect();
    let terms = terms(&writes);
    let mut proof = Proof {
        terms: terms.values().map(Vec::len).sum(),
        ..Proof::default()
    };
    for write in &writes {
        let Some(task) = task(write.event) else {
            continue;
        };
        let shard = shard_of("default", &task, SHARDS);
        let of_shard = terms.get(&shard).map_or(&[][..], Vec::as_slice);
        proof.writes += 1;
        if of_shard.iter().any(|term| term.contains(write)) {
            continue;
        }
        let others = writes
            .iter()
            .filter(|other| other.is_to_the_object_of(write));
        let before_the_next = |term: &Term| term.is_before_any_of_the_next(write, others.clone());
        if !of_shard.iter().any(before_the_next) {
            return Err(format!(
                "{} wrote without owning {task}: {:#}\n{of_shard:#?}",
                write.replica, write.event
            ));
        }
        proof.late += 1;
    }
    Ok(proof)
}

impl Term {
    fn contains(&self, write: &Write<'_>) -> bool {
        self.owner == write.replica
            && *self.from <= *write.received
            && self.to.as_deref().is_none_or(|to| write.answered <= to)
    }

    /// Whether `write` is of this owner and came too late, but before each of the `others` that the next owners made to the same object.
    fn is_before_any_of_the_next<'w>(
        &self,
        write: &Write<'_>,
        mut others: impl Iterator<Item = &'w Write<'w>>,
    ) -> bool {
        self.owner == write.replica
            && *self.from <= *write.received
            && self.to.as_deref().is_some_and(|to| {
                others.all(|other| other.received < to || write.answered < other.answered)
            })
    }
}

impl<'e> Write<'e> {
    fn of(event: &'e Value) -> Option<Self> {
        let agent = event["userAgent"].as_str()?;
        let replica = agent
            .strip_prefix("task-controller/")?
            .split_once(" (")?
            .1
            .strip_suffix(')')?;
        let went_through = matches!(event["responseStatus"]["code"].as_u64(), Some(200..=299));
        let is_write = !matches!(event["verb"].as_str(), Some("get" | "list" | "watch"));
        (went_through && is_write).then_some(())?;
        Some(Self {
            replica,
            event,
            // Of the same length always, so that they compare as texts.
            received: event["requestReceivedTimestamp"].as_str()?,
            answered: event["stageTimestamp"].as_str()?,
        })
    }

    /// Whether another replica made it, to the same object.
    fn is_to_the_object_of(&self, other: &Self) -> bool {
        let place = |write: &Self| {
            let object = &write.event["objectRef"];
            (object["resource"].clone(), object["name"].clone())
        };
        self.replica != other.replica && place(self) == place(other)
    }
}

/// Who owned each shard when.
fn terms(writes: &[Write<'_>]) -> BTreeMap<u32, Vec<Term>> {
    let mut leases: BTreeMap<u32, Vec<(u64, &Write<'_>)>> = BTreeMap::new();
    for write in writes {
        let name = write.event["objectRef"]["name"]
            .as_str()
            .unwrap_or_default();
        let object = &write.event["responseObject"];
        let name = object["metadata"]["name"].as_str().unwrap_or(name);
        let version = object["metadata"]["resourceVersion"].as_str();
        if let (Some(shard), Some(version)) = (name.strip_prefix("task-controller-shard-"), version)
        {
            let of_shard = leases.entry(shard.parse().unwrap()).or_default();
            of_shard.push((version.parse().unwrap(), write));
        }
    }
    leases
        .into_iter()
        .map(|(shard, mut writes)| {
            writes.sort_by_key(|(version, _)| *version);
            (shard, terms_of(&writes))
        })
        .collect()
}

fn terms_of(writes: &[(u64, &Write<'_>)]) -> Vec<Term> {
    let mut terms: Vec<Term> = Vec::new();
    for (_, write) in writes {
        let holder = write.event["responseObject"]["spec"]["holderIdentity"].as_str();
        let last = terms.last_mut().filter(|term| term.to.is_none());
        match (last, holder) {
            (Some(term), Some(holder)) if term.owner == holder => {}
            (last, holder) => {
                if let Some(term) = last {
                    term.to = Some(write.received.to_owned());
                }
                terms.extend(holder.map(|holder| Term {
                    owner: holder.to_owned(),
                    from: write.received.to_owned(),
                    to: None,
                }));
            }
        }
    }
    terms
}

/// The Task that is written to, or whose child is.
fn task(event: &Value) -> Option<String> {
    let object = &event["objectRef"];
    let name = object["name"].as_str()?;
    match object["resource"].as_str()? {
        "tasks" | "deployments" | "services" => Some(name.to_owned()),
        "configmaps" => Some(name.trim_end_matches("-config").to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(replica: &str, resource: &str, name: &str, times: [u32; 2], object: Value) -> Value {
        let time = |second| format!("2026-01-01T00:00:{second:02}.000000Z");
        json!({
            "userAgent": format!("task-controller/1 ({replica})"), "verb": "patch", "responseStatus": {"code": 200},
            "objectRef": {"resource": resource, "name": name}, "responseObject": object,
            "requestReceivedTimestamp": time(times[0]), "stageTimestamp": time(times[1]),
        })
    }

    /// `a` owns the shard of `t0` from 10, and `b` from 30.
    fn events(replica: &str, times: [u32; 2]) -> Vec<Value> {
        let shard = shard_of("default", "t0", SHARDS);
        let lease = |replica: &str, version: u32, second| {
            let name = format!("task-controller-shard-{shard}");
            let object = json!({"metadata": {"name": name, "resourceVersion": version.to_string()}, "spec": {"holderIdentity": replica}});
            event(replica, "leases", &name, [second, second + 1], object)
        };
        vec![
            lease("a", 9, 10),
            lease("a", 10, 20),
            event(replica, "configmaps", "t0-config", times, Value::Null),
            lease("b", 11, 30),
        ]
    }

    #[test]
    fn a_write_within_the_time_of_its_owner_is_right_and_every_other_is_not() {
        for (replica, times, is_right) in [
            ("a", [10, 30], true),
            ("b", [30, 59], true),
            ("a", [9, 12], false),
            ("b", [29, 31], false),
            ("c", [15, 16], false),
        ] {
            assert_eq!(
                prove(&events(replica, times)).is_ok(),
                is_right,
                "{replica} {times:?}"
            );
        }
    }

    #[test]
    fn a_write_that_was_held_up_is_right_until_the_next_owner_has_written_to_that_object() {
        let of_next = |resource: &str| event("b", resource, "t0", [35, 36], Value::Null);
        for (resource, times, is_right) in [
            ("deployments", [29, 31], true),
            ("deployments", [33, 34], true),
            ("deployments", [35, 37], false),
            ("services", [37, 38], true),
        ] {
            let mut events = events("a", [10, 11]);
            events.push(of_next("deployments"));
            events.push(event("a", resource, "t0", times, Value::Null));
            let proof = prove(&events);
            assert_eq!(proof.is_ok(), is_right, "{resource} {times:?}");
            assert!(proof.is_ok_and(|proof| proof.late == 1) == is_right);
        }
    }
}
