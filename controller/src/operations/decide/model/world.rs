//! The cluster, the provider, the process and the clock, as the model has them.

use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};

use jiff::Timestamp;

use super::{Crash, Event, Fault, Message, Round};
use crate::{
    names::operation_reason as reason,
    operations::{
        answer::{Answer, Failure, Status, Told},
        decide::{Call, News, Signal, Step, decide, may_go},
        key::{Key, RetryToken},
        schedule::Pressure,
        situation::{Memory, Policy, Polling, Record, Situation, Stage, Wanted},
    },
};

#[derive(Clone, Debug)]
struct Accepted {
    at: Timestamp,
    status: Status,
    times: u32,
}

/// The cluster, the provider, the process and the clock.
pub struct World {
    policy: Policy,
    calls_in_a_turn: usize,
    now: Timestamp,
    generation: i64,
    wanted: Option<Wanted>,
    leaving_since: Option<Timestamp>,
    record: Option<Record>,
    version: u64,
    stale: (Option<Record>, u64),
    memory: Memory,
    provider: HashMap<Key, Accepted>,
    forgetful: bool,
    /// Calls that reach the provider only then.
    late: Vec<(Timestamp, Key)>,
    /// Operations of which a person was told that they may be running.
    abandoned: HashSet<Key>,
    decisions: usize,
    events: u64,
}

impl World {
    pub fn new(policy: Policy, polling: Polling, calls_in_a_turn: usize) -> Self {
        Self {
            policy,
            calls_in_a_turn,
            now: "2026-01-02T03:04:05Z".parse().unwrap(),
            generation: 1,
            wanted: Some(Wanted {
                provider: "volumes".to_owned(),
                request_hash: "0".to_owned(),
                timeout: Duration::from_secs(3600),
                polling,
                retry: None,
            }),
            leaving_since: None,
            record: None,
            version: 0,
            stale: (None, 0),
            memory: Memory::default(),
            provider: HashMap::new(),
            forgetful: false,
            late: Vec::new(),
            abandoned: HashSet::new(),
            decisions: 1,
            events: 0,
        }
    }

    fn situation(&self, record: &Option<Record>) -> Situation {
        Situation {
            now: self.now,
            random: 0.5,
            uid: "uid".to_owned(),
            generation: self.generation,
            leaving_since: self.leaving_since,
            wanted: self.wanted.clone(),
            record: record.clone(),
            memory: self.memory,
            pressure: Pressure::default(),
        }
    }

    pub fn round(&mut self, round: &Round) {
        self.pass(Duration::from_secs(round.pause.into()));
        self.happens(round.event);
        let read = if round.stale {
            self.stale.clone()
        } else {
            (self.record.clone(), self.version)
        };
        self.turn(read, &round.faults, round.early, round.crash);
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now.saturating_add(time).unwrap();
        let now = self.now;
        let (arrived, late) = self.late.drain(..).partition(|(at, _)| *at <= now);
        self.late = late;
        for (at, key) in arrived as Vec<_> {
            self.accept(&key, at);
        }
    }

    fn happens(&mut self, event: Event) {
        match event {
            Event::Nothing => {}
            Event::AskForAnother(which) => {
                let hash = which.to_string();
                self.generation += 1;
                let template = World::new(Policy::default(), Polling::Usual, 1)
                    .wanted
                    .unwrap();
                let wanted = self.wanted.get_or_insert(template);
                if wanted.request_hash != hash {
                    wanted.request_hash = hash;
                    self.decisions += 1;
                }
            }
            Event::AskForNone => {
                self.generation += 1;
                self.wanted = None;
                // It may be asked for again.
                self.decisions += 1;
            }
            Event::AskAgain(which) => {
                if let Some(wanted) = &mut self.wanted {
                    wanted.retry = Some(RetryToken::of(&which.to_string()));
                    self.decisions += 1;
                }
            }
            Event::Delete => {
                self.leaving_since.get_or_insert(self.now);
            }
            Event::Tell(message) => self.tell(message),
            Event::End(status) => {
                let under_way = |op: &&mut Accepted| op.status == Status::UnderWay;
                for operation in self.provider.values_mut().filter(under_way) {
                    operation.status = status;
                }
            }
        }
    }

    /// The provider tells of the recorded operation. Whoever receives it reads the Task anew.
    fn tell(&mut self, message: Message) {
        let Some(key) = self.record.as_ref().map(|record| record.key.clone()) else {
            return;
        };
        let Some(status) = self.provider.get(&key).map(|operation| operation.status) else {
            return;
        };
        self.events += 1;
        let news = News::Signal(Signal {
            event_id: self.events.to_string(),
            told: told(&key, message.says.unwrap_or(status)),
        });
        for time in 0..message.times {
            let step = decide(&self.situation(&self.record), &self.policy, Some(&news));
            match step {
                Step::Write(learnt) if time == 0 => {
                    if learnt.record.stage.is_terminal() && status == Status::UnderWay {
                        // The provider itself says that it does not run.
                        self.abandoned.insert(key.clone());
                    }
                    self.write(learnt.record);
                }
                Step::Rest => {}
                other => panic!("a message that came {time} times before led to {other:?}"),
            }
        }
    }

    /// A turn as the driver makes it.
    fn turn(
        &mut self,
        read: (Option<Record>, u64),
        faults: &[Fault],
        mut early: Option<Message>,
        crash: Option<Crash>,
    ) {
        let mut faults = faults
            .iter()
            .copied()
            .chain(std::iter::repeat(Fault::Nothing));
        let (record, version) = read;
        let mut step = decide(&self.situation(&record), &self.policy, None);
        let mut room = self.calls_in_a_turn;
        let mut record = record;
        let mut version = version;
        let mut answered = None;
        loop {
            if matches!(step, Step::Start(_) | Step::Call(_)) {
                if room == 0 {
                    return;
                }
                room -= 1;
            }
            let is_judged_anew = matches!(step, Step::Write(_));
            let news = match step {
                Step::Rest | Step::Wait(_) => return,
                Step::Start(ahead) => {
                    if version != self.version {
                        return;
                    }
                    self.write(ahead);
                    (record, version) = (self.record.clone(), self.version);
                    if crash == Some(Crash::BeforeTheCall) {
                        self.memory = Memory::default();
                        return;
                    }
                    News::Started(self.start(faults.next().unwrap()))
                }
                Step::Call(call) => News::Called(
                    call,
                    self.call(call, record.as_ref(), faults.next().unwrap()),
                ),
                Step::Write(learnt) => {
                    if version == self.version {
                        return self.write(learnt.record);
                    }
                    // Only an answer is judged anew, by what others wrote meanwhile.
                    match answered.take() {
                        Some(news) => news,
                        None => return,
                    }
                }
            };
            if let Some(message) = early.take() {
                self.tell(message);
            }
            if crash == Some(Crash::AfterTheCall) {
                self.memory = Memory::default();
                return;
            }
            if record.as_ref().map(|record| &record.key)
                != self.record.as_ref().map(|record| &record.key)
            {
                return;
            }
            if is_judged_anew {
                (record, version) = (self.record.clone(), self.version);
            }
            step = decide(&self.situation(&record), &self.policy, Some(&news));
            self.memory = self.memory.after(&news, &step);
            answered = Some(news);
        }
    }

    fn write(&mut self, record: Record) {
        if let Some(before) = &self.record
            && before.stage.is_terminal()
        {
            assert!(
                before.stage == record.stage || before.key != record.key,
                "{before:#?} became {record:#?}"
            );
        }
        if let Stage::Failed { reason, .. } = &record.stage
            && (reason::needs_a_person(reason) || reason == reason::TIMEOUT)
        {
            self.abandoned.insert(record.key.clone());
        }
        self.stale = (self.record.clone(), self.version);
        self.record = Some(record);
        self.version += 1;
    }

    fn start(&mut self, fault: Fault) -> Answer {
        let key = self.record.clone().unwrap().key;
        match fault {
            Fault::Nothing | Fault::Forgotten => {
                self.accept(&key, self.now);
                let status = self.provider[&key].status;
                Answer::Told(told(&key, status))
            }
            Fault::AnswerLost => {
                self.accept(&key, self.now);
                failed_call(false)
            }
            Fault::LostOnTheWay => {
                self.pass(self.policy.call_timeout);
                failed_call(false)
            }
            Fault::Late => {
                let arrives = self.now + self.policy.call_timeout;
                self.late.push((arrives, key));
                self.pass(self.policy.call_timeout);
                failed_call(false)
            }
            Fault::Outstanding => failed_call(false),
            Fault::Throttled => failed_call(true),
            Fault::Refused => Answer::Refused(Failure::new("400", "no")),
        }
    }

    fn call(&mut self, call: Call, record: Option<&Record>, fault: Fault) -> Answer {
        let key = &record.unwrap().key;
        match fault {
            Fault::Nothing => {}
            Fault::Forgotten => self.forgetful = true,
            Fault::AnswerLost | Fault::Late if call == Call::Cancel => {
                self.cancel(key);
                return failed_call(false);
            }
            _ => return failed_call(true),
        }
        match self.provider.get(key) {
            // A provider that forgets has seen to it that the operation ended.
            Some(operation) if self.forgetful && call != Call::LookUp => {
                let _ = operation;
                self.cancel(key);
                Answer::NotFound
            }
            None => Answer::NotFound,
            Some(_) => {
                if call == Call::Cancel {
                    self.cancel(key);
                }
                Answer::Told(told(key, self.provider[key].status))
            }
        }
    }

    fn cancel(&mut self, key: &Key) {
        if let Some(operation) = self.provider.get_mut(key)
            && operation.status == Status::UnderWay
        {
            operation.status = Status::Canceled;
        }
    }

    fn accept(&mut self, key: &Key, at: Timestamp) {
        let lifetime = self.policy.key_lifetime;
        match self.provider.get_mut(key) {
            Some(known) if at < known.at + lifetime => {}
            Some(known) => known.times += 1,
            None => {
                let accepted = Accepted {
                    at,
                    status: Status::UnderWay,
                    times: 1,
                };
                self.provider.insert(key.clone(), accepted);
            }
        }
    }

    /// What holds at any time.
    pub fn check(&self) {
        for (key, operation) in &self.provider {
            assert_eq!(operation.times, 1, "{key} was started more than once");
            let current = self.record.as_ref().map(|record| &record.key);
            let deadline = self.leaving_since.is_some();
            assert!(
                operation.status != Status::UnderWay
                    || current == Some(key)
                    || self.abandoned.contains(key)
                    || deadline,
                "{key} runs, and nobody knows: {:#?}",
                self.record
            );
        }
        assert!(
            self.provider.len() <= self.decisions,
            "{} operations for {} decisions",
            self.provider.len(),
            self.decisions
        );
    }

    /// Nothing goes wrong any more, and time goes on.
    pub fn settle(&mut self) {
        for _ in 0..1000 {
            self.turn((self.record.clone(), self.version), &[], None, None);
            self.check();
            let situation = self.situation(&self.record);
            match decide(&situation, &self.policy, None) {
                Step::Rest => {
                    let ended = self.record.as_ref().map_or(
                        self.wanted.is_none() || self.leaving_since.is_some(),
                        |record| record.stage.is_terminal(),
                    );
                    assert!(
                        ended || may_go(&situation, Some(&self.policy)),
                        "it rests at {:#?}",
                        self.record
                    );
                    return;
                }
                Step::Wait(until) => {
                    let wait = until.duration_since(self.now);
                    self.pass(Duration::try_from(wait).unwrap());
                }
                _ => self.pass(Duration::from_secs(1)),
            }
        }
        panic!("it does not end: {:#?}", self.record);
    }
}

fn told(key: &Key, status: Status) -> Told {
    Told {
        id: Some(format!("id-of-{key}")),
        status,
        ..Told::default()
    }
}

fn failed_call(without_effect: bool) -> Answer {
    Answer::Failed {
        failure: Failure::new("503", "not now"),
        retry_after: None,
        without_effect,
    }
}
