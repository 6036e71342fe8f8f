//! Whole lives: several replicas on an API server, of which each may be slow, cut off, suspended or killed, with messages that are late or lost,
//! clocks that run differently, and people who meddle with the Leases. At no moment do two act on one Task.

use std::collections::VecDeque;

use proptest::{collection::vec, prelude::*};

use super::super::{
    lease::{ENDED, RENEW_DEADLINE},
    placement::shard_of,
};
use super::*;

const REPLICAS: usize = 3;
const TASKS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
/// Into how many shards the replicas divide the Tasks, of which each has one.
const SHARDS: u32 = 4;
const OTHERWISE: u32 = 2;

#[derive(Clone, Debug)]
enum Act {
    /// Time passes, in milliseconds.
    Pass(u64),
    /// A replica decides what to do and sends it.
    Work(usize),
    /// The first of its requests that has not arrived does.
    Arrive(usize),
    /// The first of them that has been answered is.
    Answer(usize),
    /// It waits no longer for the first of its requests, which may arrive all the same, at any time.
    GiveUp(usize),
    /// The first of those does.
    ArriveLate,
    /// The watch tells of so many changes.
    Hear(usize, usize),
    /// The watch is begun anew.
    List(usize),
    /// It begins, or ends, a pass over a Task.
    Toggle(usize, usize),
    /// Everything goes as it should for a replica.
    Thrive(usize),
    /// It is killed, and another begins in its place, which may divide the Tasks otherwise.
    Kill(usize, bool),
    /// It is killed, and begins again with the same name.
    Resume(usize),
    /// It is told to stop.
    Leave(usize),
    /// Somebody writes a replica, or a stranger, or nobody into a shard's Lease.
    Steal(u32, Option<usize>),
    /// Somebody deletes it.
    Delete(u32),
}

fn act() -> impl Strategy<Value = Act> {
    let who = 0..REPLICAS;
    prop_oneof![
        6 => (1..700u64).prop_map(Act::Pass),
        1 => (1000..12_000u64).prop_map(Act::Pass),
        4 => who.clone().prop_map(Act::Work),
        4 => who.clone().prop_map(Act::Arrive),
        4 => who.clone().prop_map(Act::Answer),
        1 => who.clone().prop_map(Act::GiveUp),
        1 => Just(Act::ArriveLate),
        4 => (who.clone(), 1..9usize).prop_map(|(replica, changes)| Act::Hear(replica, changes)),
        1 => who.clone().prop_map(Act::List),
        2 => (who.clone(), 0..TASKS.len()).prop_map(|(replica, task)| Act::Toggle(replica, task)),
        8 => who.clone().prop_map(Act::Thrive),
        1 => (who.clone(), prop::bool::weighted(0.2)).prop_map(|(replica, otherwise)| Act::Kill(replica, otherwise)),
        1 => who.clone().prop_map(Act::Resume),
        1 => who.clone().prop_map(Act::Leave),
        1 => (0..SHARDS, prop::option::of(0..=REPLICAS)).prop_map(|(shard, thief)| Act::Steal(shard, thief)),
        1 => (0..SHARDS).prop_map(Act::Delete),
    ]
}

enum Flight {
    Sent(Step),
    Wrote(Write, Outcome),
    Listed(Vec<(Id, u64, Record)>),
}

struct Replica {
    name: String,
    candidate: Candidate,
    /// What its clock showed at the start, and how fast it goes, in thousandths.
    offset: u64,
    rate: u64,
    heard: usize,
    flights: VecDeque<Flight>,
    passes: BTreeSet<usize>,
}

impl Replica {
    fn now(&self, now: u64) -> Moment {
        Moment::default().after(Duration::from_millis(self.offset + now * self.rate / 1000))
    }

    fn shard(&self, task: usize) -> u32 {
        shard_of("default", TASKS[task], self.candidate.shards)
    }

    fn acting_since(&self, task: usize, now: Moment) -> Option<Moment> {
        self.candidate.acting_since(self.shard(task), now)
    }
}

struct World {
    now: u64,
    revision: u64,
    leases: BTreeMap<Id, (u64, Record)>,
    changes: Vec<(u64, Id, Option<Record>)>,
    late: VecDeque<Step>,
    replicas: Vec<Replica>,
    born: u64,
    /// For each Task who acted on it last, and until when the API server may be at work on what they asked.
    last: Vec<Option<(String, u64)>>,
    /// Until when nobody begins who would not know that somebody deleted a Lease, or wrote a name into one.
    no_births_until: u64,
}

impl World {
    fn new() -> Self {
        let mut world = Self {
            now: 0,
            revision: 0,
            leases: BTreeMap::new(),
            changes: Vec::new(),
            late: VecDeque::new(),
            replicas: Vec::new(),
            born: 0,
            last: vec![None; TASKS.len()],
            no_births_until: 0,
        };
        for _ in 0..REPLICAS {
            let replica = world.birth(SHARDS);
            world.replicas.push(replica);
        }
        world
    }

    fn birth(&mut self, shards: u32) -> Replica {
        self.born += 1;
        let name = format!("replica-{}", self.born);
        Replica {
            candidate: Candidate::new(&Identity::given(&name), shards),
            name,
            offset: self.born * 7_000_003 % 1_000_000_000,
            rate: 980 + self.born * 13 % 41,
            heard: 0,
            flights: VecDeque::new(),
            passes: BTreeSet::new(),
        }
    }

    fn put(&mut self, id: Id, record: Option<Record>) {
        self.revision += 1;
        match &record {
            Some(record) => drop(
                self.leases
                    .insert(id.clone(), (self.revision, record.clone())),
            ),
            None => drop(self.leases.remove(&id)),
        }
        self.changes.push((self.revision, id, record));
    }

    /// The API server does what it is asked.
    fn serve(&mut self, step: Step) -> Flight {
        let Step::Write(write) = step else {
            let all = self.leases.iter();
            return Flight::Listed(
                all.map(|(id, (version, record))| (id.clone(), *version, record.clone()))
                    .collect(),
            );
        };
        let found = self.leases.get(&write.id).cloned();
        if found.as_ref().map(|(version, _)| *version) != write.version {
            return Flight::Wrote(write, Outcome::Late(found));
        }
        self.put(write.id.clone(), write.record.clone());
        let outcome = match write.record {
            Some(_) => Outcome::Written(self.revision),
            None => Outcome::Deleted,
        };
        Flight::Wrote(write, outcome)
    }

    fn work(&mut self, who: usize) {
        let replica = &mut self.replicas[who];
        let now = replica.now(self.now);
        let acted_on: BTreeSet<u32> = replica
            .passes
            .iter()
            .map(|&task| replica.shard(task))
            .collect();
        for step in replica
            .candidate
            .steps(now, |shard| !acted_on.contains(&shard))
        {
            if let Step::Write(Write {
                id: Id::Shard(shard),
                record: Some(record),
                ..
            }) = &step
                && record.is_released()
            {
                // It has ended all that it had begun.
                for (task, last) in self.last.iter_mut().enumerate() {
                    if replica.shard(task) == *shard
                        && last.as_ref().is_some_and(|(name, _)| *name == replica.name)
                    {
                        *last = None;
                    }
                }
            }
            replica.flights.push_back(Flight::Sent(step));
        }
    }

    fn arrive(&mut self, who: usize) {
        let is_sent = |flight: &Flight| matches!(flight, Flight::Sent(_));
        let Some(place) = self.replicas[who].flights.iter().position(is_sent) else {
            return;
        };
        if let Some(Flight::Sent(step)) = self.replicas[who].flights.remove(place) {
            let answer = self.serve(step);
            self.replicas[who].flights.insert(place, answer);
        }
    }

    fn answer(&mut self, who: usize) {
        let replica = &mut self.replicas[who];
        let now = replica.now(self.now);
        let is_answered = |flight: &Flight| !matches!(flight, Flight::Sent(_));
        let Some(place) = replica.flights.iter().position(is_answered) else {
            return;
        };
        match replica.flights.remove(place) {
            Some(Flight::Wrote(write, outcome)) => replica.candidate.ended(write, outcome, now),
            Some(Flight::Listed(all)) => replica.candidate.checked(Some(all), now),
            _ => {}
        }
    }

    fn give_up(&mut self, who: usize) {
        let replica = &mut self.replicas[who];
        let now = replica.now(self.now);
        let write = match replica.flights.pop_front() {
            Some(Flight::Sent(step)) => {
                self.late.push_back(step.clone());
                match step {
                    Step::Write(write) => Some(write),
                    Step::Check => None,
                }
            }
            Some(Flight::Wrote(write, _)) => Some(write),
            Some(Flight::Listed(_)) => None,
            None => return,
        };
        match write {
            Some(write) => replica.candidate.ended(write, Outcome::Failed, now),
            None => replica.candidate.checked(None, now),
        }
    }

    fn hear(&mut self, who: usize, changes: usize) {
        let replica = &mut self.replicas[who];
        let now = replica.now(self.now);
        if !replica.candidate.is_listed {
            return;
        }
        for (version, id, record) in self.changes.iter().skip(replica.heard).take(changes) {
            replica.heard += 1;
            match record {
                Some(record) => replica
                    .candidate
                    .heard(id.clone(), *version, record.clone(), now),
                None => replica.candidate.heard_gone(id, Some(*version), now),
            }
        }
    }

    fn list(&mut self, who: usize) {
        let replica = &mut self.replicas[who];
        let now = replica.now(self.now);
        replica.heard = self.changes.len();
        for (id, (version, record)) in &self.leases {
            replica
                .candidate
                .heard(id.clone(), *version, record.clone(), now);
        }
        let all = self.leases.keys().cloned().collect();
        replica.candidate.heard_all(&all, now);
    }

    fn thrive(&mut self, who: usize) {
        if !self.replicas[who].candidate.is_listed {
            self.list(who);
        }
        self.hear(who, usize::MAX);
        self.work(who);
        while !self.replicas[who].flights.is_empty() {
            self.arrive(who);
            self.answer(who);
        }
    }

    fn toggle(&mut self, who: usize, task: usize) {
        let replica = &mut self.replicas[who];
        let now = replica.now(self.now);
        let may_begin = replica.acting_since(task, now).is_some()
            && !replica.candidate.is_closing(replica.shard(task));
        if !replica.passes.remove(&task) && may_begin {
            replica.passes.insert(task);
        }
    }

    /// A replica ends. What it has sent may arrive all the same.
    fn end(&mut self, who: usize) {
        let sent = self.replicas[who].flights.drain(..);
        self.late.extend(sent.filter_map(|flight| match flight {
            Flight::Sent(step) => Some(step),
            _ => None,
        }));
    }

    fn do_(&mut self, act: Act) {
        match act {
            Act::Pass(time) => self.now += time,
            Act::Work(who) => self.work(who),
            Act::Arrive(who) => self.arrive(who),
            Act::Answer(who) => self.answer(who),
            Act::GiveUp(who) => self.give_up(who),
            Act::ArriveLate => {
                if let Some(step) = self.late.pop_front() {
                    self.serve(step);
                }
            }
            Act::Hear(who, changes) => self.hear(who, changes),
            Act::List(who) => self.list(who),
            Act::Toggle(who, task) => self.toggle(who, task),
            Act::Thrive(who) => self.thrive(who),
            Act::Kill(who, otherwise) => {
                if self.now >= self.no_births_until {
                    self.end(who);
                    self.replicas[who] = self.birth(if otherwise { OTHERWISE } else { SHARDS });
                }
            }
            Act::Resume(who) => {
                if self.now >= self.no_births_until {
                    self.end(who);
                    let replica = &mut self.replicas[who];
                    let identity = Identity::given(&replica.name);
                    replica.candidate = Candidate::new(&identity, replica.candidate.shards);
                    replica.passes.clear();
                }
            }
            Act::Leave(who) => self.replicas[who].candidate.leave(),
            Act::Steal(shard, thief) => {
                let id = Id::Shard(shard);
                let is_known = self
                    .replicas
                    .iter()
                    .all(|replica| replica.candidate.is_listed);
                if is_known && let Some((_, record)) = self.leases.get(&id).cloned() {
                    let holder = thief.map(|who| {
                        self.replicas
                            .get(who)
                            .map_or("thief", |thief| &thief.name)
                            .to_owned()
                    });
                    self.no_births_until = self.now + 20_000;
                    self.put(
                        id,
                        Some(Record {
                            holder,
                            duration: DURATION,
                            ..record
                        }),
                    );
                }
            }
            Act::Delete(shard) => {
                let id = Id::Shard(shard);
                let knows = |replica: &Replica| {
                    replica
                        .candidate
                        .leases
                        .get(&id)
                        .is_some_and(|lease| lease.record().is_some())
                };
                if self.leases.contains_key(&id) && self.replicas.iter().all(knows) {
                    self.put(id, None);
                    self.no_births_until = self.now + 20_000;
                }
            }
        }
    }

    /// At no moment do two act on one Task, nor one while the API server may be at work for another.
    fn check(&mut self) -> Result<(), TestCaseError> {
        for (task, last) in self.last.iter_mut().enumerate() {
            for replica in &self.replicas {
                let now = replica.now(self.now);
                let Some(since) = replica.acting_since(task, now) else {
                    continue;
                };
                if let Some((other, until)) = last.as_ref()
                    && *other != replica.name
                {
                    prop_assert!(
                        self.now >= *until,
                        "{} acts on {} at {}, {other} until {until}",
                        replica.name,
                        TASKS[task],
                        self.now
                    );
                }
                prop_assert!(now < since.after(RENEW_DEADLINE));
                // It may begin a write just now.
                let until =
                    self.now + u64::try_from(since.after(ENDED).since(now).as_millis()).unwrap();
                let before = last
                    .take()
                    .filter(|(name, _)| *name == replica.name)
                    .map_or(0, |(_, until)| until);
                *last = Some((replica.name.clone(), until.max(before)));
            }
        }
        Ok(())
    }

    /// Everything goes as it should for so long.
    fn calm(&mut self, seconds: u64) -> Result<(), TestCaseError> {
        for _ in 0..seconds * 2 {
            self.now += 500;
            for who in 0..REPLICAS {
                self.replicas[who].passes.clear();
                self.thrive(who);
                self.check()?;
            }
        }
        Ok(())
    }

    fn owners(&self) -> Vec<Vec<&str>> {
        let of = |shard| {
            let acts = |replica: &&Replica| {
                replica
                    .candidate
                    .acting_since(shard, replica.now(self.now))
                    .is_some()
            };
            self.replicas
                .iter()
                .filter(acts)
                .map(|replica| replica.name.as_str())
                .collect()
        };
        (0..SHARDS).map(of).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn whatever_happens_no_two_replicas_act_on_one_task_and_then_all_is_owned_evenly_and_stays(acts in vec(act(), 1..250)) {
        let mut world = World::new();
        for act in acts {
            world.do_(act);
            world.check()?;
        }
        // Those who divide the Tasks otherwise, and those who were told to stop, end.
        world.now += 20_000;
        for who in 0..REPLICAS {
            let candidate = &world.replicas[who].candidate;
            if candidate.shards != SHARDS || candidate.is_leaving() {
                world.do_(Act::Kill(who, false));
            }
        }
        world.calm(60)?;
        let owners = world.owners().concat();
        prop_assert_eq!(owners.len(), SHARDS as usize, "{:?}", owners);
        for replica in &world.replicas {
            let share = owners.iter().filter(|owner| **owner == replica.name).count();
            prop_assert!([1, 2].contains(&share), "{:?}", owners);
        }
        let before: Vec<Vec<String>> = world.owners().iter().map(|owners| owners.iter().map(|&owner| owner.to_owned()).collect()).collect();
        world.calm(30)?;
        prop_assert_eq!(world.owners(), before);
        let is_member = |id: &Id| matches!(id, Id::Member(name) if world.replicas.iter().any(|replica| replica.name == *name));
        let strangers = world.leases.keys().filter(|id| matches!(id, Id::Member(_)) && !is_member(id));
        prop_assert_eq!(strangers.count(), 0);
    }
}
