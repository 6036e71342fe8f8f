//! Whole lives: several keepers at once, each of which may end between any two steps or be held up between what it sees and what it
//! does, on API servers and servers that take up what is new as late as they may, with a record that gets lost. At each moment whoever
//! may be called must be trusted by whoever may call.

use std::collections::BTreeMap;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

const DELAYS: Delays = Delays {
    trust: Duration::from_secs(30),
    serve: Duration::from_secs(60),
};
const AUTHORITY: u64 = 900;
const SERVING: u64 = 400;
const KEEPERS: usize = 3;
/// The last keeper is on the slowest machine: it never acts at once on what it has seen.
const PROMPT: usize = KEEPERS - 1;
const BUNDLES: usize = 3;

#[derive(Clone, Debug)]
enum Act {
    /// A keeper looks, decides and acts, undisturbed; if it decides to wait, that time passes, but for these seconds.
    Work(usize, u64),
    /// A keeper looks at what the API servers trust.
    SeeBundles(usize),
    /// It looks at the record and at the server's certificate.
    SeeSecrets(usize),
    /// It does what it then decides. Of what it writes, only so many objects are, before it ends.
    Do(usize, usize),
    /// It ends, and another begins in its place.
    End(usize),
    /// Time passes.
    Pass(u64),
    /// Somebody deletes the record.
    LoseRecord,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        20 => (0..PROMPT, 0..3u64).prop_map(|(keeper, less)| Act::Work(keeper, less)),
        3 => (0..KEEPERS).prop_map(Act::SeeBundles),
        3 => (0..KEEPERS).prop_map(Act::SeeSecrets),
        3 => (0..KEEPERS, 0..=BUNDLES).prop_map(|(keeper, writes)| Act::Do(keeper, writes)),
        1 => (0..KEEPERS).prop_map(Act::End),
        4 => (0..40u64).prop_map(Act::Pass),
        1 => (100..1500u64).prop_map(Act::Pass),
    ]
}

/// The same, and the record may get lost.
fn act_or_loss() -> impl Strategy<Value = Act> {
    prop_oneof![30 => act(), 1 => Just(Act::LoseRecord)]
}

/// An object at the API server, with all that it ever held and since when.
#[derive(Clone)]
struct Object<T>(Vec<(u64, T)>);

impl<T: Clone> Object<T> {
    fn newest(&self) -> (usize, T) {
        (self.0.len(), self.0[self.0.len() - 1].1.clone())
    }

    /// Writes it if it is as it was read.
    fn write(&mut self, version: usize, now: u64, value: T) -> bool {
        let is_as_read = version == self.0.len();
        if is_as_read {
            self.0.push((now, value));
        }
        is_as_read
    }

    /// All that somebody may go by who takes up what is new within `delay`.
    fn seen_within(&self, now: u64, delay: Duration) -> impl Iterator<Item = &T> {
        let next = self.0.iter().skip(1).map(|(since, _)| *since);
        self.0
            .iter()
            .zip(next.chain([u64::MAX]))
            .filter(move |(_, until)| *until == u64::MAX || now < until + delay.as_secs())
            .map(|((_, value), _)| value)
    }
}

/// A server's certificate: who signed it, and its life.
type Served = Option<(Certificate, Life)>;

#[derive(Clone)]
struct View {
    state: State,
    bundles: Vec<usize>,
    record: usize,
    serving: usize,
}

#[derive(Clone, Default)]
struct Keeper {
    bundles: Option<(Vec<usize>, Vec<Vec<Certificate>>)>,
    view: Option<View>,
    shown: Option<(Certificate, u64)>,
}

struct World {
    now: u64,
    made: u8,
    record: Object<Option<Authorities>>,
    serving: Object<Served>,
    bundles: Vec<Object<Vec<Certificate>>>,
    keepers: Vec<Keeper>,
    /// Until when calls fail because every certificate had expired; nothing that a keeper does could help.
    outage_ends: u64,
}

impl World {
    fn new() -> Self {
        Self {
            now: 0,
            made: 0,
            record: Object(vec![(0, None)]),
            serving: Object(vec![(0, None)]),
            bundles: vec![Object(vec![(0, vec![])]); BUNDLES],
            keepers: vec![Keeper::default(); KEEPERS],
            outage_ends: 0,
        }
    }

    fn at(second: u64) -> Timestamp {
        Timestamp::UNIX_EPOCH + Duration::from_secs(1_000_000 + second)
    }

    fn see(&mut self, keeper: usize) {
        self.see_bundles(keeper);
        self.see_secrets(keeper);
    }

    fn see_bundles(&mut self, keeper: usize) {
        self.keepers[keeper].bundles = Some(self.bundles.iter().map(Object::newest).unzip());
    }

    fn see_secrets(&mut self, keeper: usize) {
        let Some((versions, bundles)) = self.keepers[keeper].bundles.take() else {
            return;
        };
        let (record, authorities) = self.record.newest();
        let (serving, served) = self.serving.newest();
        let shown = &mut self.keepers[keeper].shown;
        let newest = authorities.as_ref().map(|known| known.newest.clone());
        let newest = newest.filter(|newest| bundles.iter().all(|bundle| bundle.contains(newest)));
        *shown = match (newest, shown.take()) {
            (Some(newest), Some((shown, since))) if newest == shown => Some((shown, since)),
            (newest, _) => newest.map(|newest| (newest, self.now)),
        };
        let shown_for = shown.as_ref().map_or(0, |(_, since)| self.now - since);
        let known: Vec<_> = authorities
            .iter()
            .flat_map(Authorities::all)
            .chain(bundles.iter().flatten().cloned())
            .collect();
        let serving_state = served.map(|(issuer, life)| Serving {
            life,
            issuers: known
                .into_iter()
                .filter(|known| *known == issuer)
                .take(1)
                .collect(),
            has_names: true,
        });
        self.keepers[keeper].view = Some(View {
            state: State {
                is_cert_managers: false,
                authorities,
                serving: serving_state,
                bundles,
                shown_for: Duration::from_secs(shown_for),
            },
            bundles: versions,
            record,
            serving,
        });
    }

    /// The step that the keeper decided on, done as far as `writes` objects; none when it has seen nothing.
    fn act(&mut self, keeper: usize, writes: usize) -> Option<Step> {
        let view = self.keepers[keeper].view.take()?;
        let now = self.now;
        let step = plan(&view.state, DELAYS, Self::at(now));
        match &step {
            Step::Add { older } if writes > 0 => {
                self.made += 1;
                let life = Life::from_now(Self::at(now), Duration::from_secs(AUTHORITY));
                let newest = Certificate::stand_in(self.made, life);
                let older = older.clone();
                self.record
                    .write(view.record, now, Some(Authorities { newest, older }));
            }
            Step::Record { older } if writes > 0 => {
                let mut authorities = view.state.authorities.unwrap();
                authorities.older.clone_from(older);
                self.record.write(view.record, now, Some(authorities));
            }
            Step::Publish(all) => {
                for (bundle, version) in self.bundles.iter_mut().zip(view.bundles).take(writes) {
                    // The first conflict ends it.
                    if bundle.newest().1 != *all && !bundle.write(version, now, all.clone()) {
                        break;
                    }
                }
            }
            Step::Issue if writes > 0 => {
                let newest = view.state.authorities.unwrap().newest;
                let mut life = Life::from_now(Self::at(now), Duration::from_secs(SERVING));
                life.ends = life.ends.min(newest.life().ends);
                let had_expired = |(_, life): (_, Life)| !life.is_good(Self::at(now));
                if self.serving.newest().1.is_none_or(had_expired) {
                    self.outage_ends = now + DELAYS.trust.as_secs();
                }
                self.serving.write(view.serving, now, Some((newest, life)));
            }
            _ => {}
        }
        Some(step)
    }

    fn play(&mut self, act: Act) {
        match act {
            Act::Work(keeper, less) => {
                self.see(keeper);
                if let Some(Step::Wait(wait)) = self.act(keeper, BUNDLES) {
                    self.now += wait.as_secs().saturating_sub(less);
                }
            }
            Act::SeeBundles(keeper) => self.see_bundles(keeper),
            Act::SeeSecrets(keeper) => self.see_secrets(keeper),
            Act::Do(keeper, writes) => {
                self.act(keeper, writes);
            }
            Act::End(keeper) => self.keepers[keeper] = Keeper::default(),
            Act::Pass(seconds) => self.now += seconds,
            Act::LoseRecord => {
                let version = self.record.newest().0;
                self.record.write(version, self.now, None);
            }
        }
    }

    /// A call that could fail, if there is one.
    fn failing_call(&self) -> Option<String> {
        if self.now < self.outage_ends {
            return None;
        }
        let served = self.serving.seen_within(self.now, DELAYS.serve).flatten();
        for (issuer, life) in served.filter(|(_, life)| life.is_good(Self::at(self.now))) {
            for (index, bundle) in self.bundles.iter().enumerate() {
                for trusted in bundle.seen_within(self.now, DELAYS.trust) {
                    if !trusted.contains(issuer) {
                        return Some(format!(
                            "at {}: bundle {index} may still be {trusted:?} where {issuer:?} signed what is served until {}",
                            self.now, life.ends
                        ));
                    }
                }
            }
        }
        None
    }

    /// Lets one keeper work undisturbed until nothing is left to do but to wait for what is due.
    fn settle(&mut self) {
        for _ in 0..100 {
            self.see(0);
            match self.act(0, BUNDLES) {
                Some(Step::Wait(wait)) => {
                    let is_settled = self.record.newest().1.unwrap().older.is_empty();
                    let signs = self.serving.newest().1.is_some_and(|(issuer, _)| {
                        issuer == self.record.newest().1.unwrap().newest
                    });
                    if is_settled && signs {
                        return;
                    }
                    self.now += wait.as_secs().max(1);
                }
                Some(Step::LeaveAlone) | None => panic!("nothing is left alone"),
                Some(_) => self.now += 1,
            }
            assert_eq!(self.failing_call(), None);
        }
        panic!("it never comes to rest");
    }
}

/// The first minute of a cluster: until the API servers trust the first authority no call can go through.
fn begun() -> World {
    let mut world = World::new();
    for _ in 0..4 {
        world.see(0);
        world.act(0, BUNDLES);
        world.now += 1;
    }
    world.now = world.outage_ends;
    assert!(world.serving.newest().1.is_some());
    assert_eq!(world.failing_call(), None);
    world
}

fn check(acts: Vec<Act>) -> Result<(), TestCaseError> {
    let mut world = begun();
    for (index, act) in acts.iter().enumerate() {
        world.play(act.clone());
        prop_assert_eq!(world.failing_call(), None, "after {:?}", &acts[..=index]);
    }
    world.settle();
    let authorities = world.record.newest().1.unwrap();
    for bundle in &world.bundles {
        prop_assert_eq!(bundle.newest().1, authorities.all());
    }
    let (_, life) = world.serving.newest().1.unwrap();
    prop_assert!(life.is_good(World::at(world.now)));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_call_can_fail_whatever_happens_in_which_order(acts in vec(act(), 0..200)) {
        check(acts)?;
    }

    #[test]
    fn nor_when_the_record_gets_lost(acts in vec(act_or_loss(), 0..200)) {
        check(acts)?;
    }
}

#[test]
fn an_undisturbed_keeper_rotates_in_time_and_does_nothing_besides() {
    let mut world = begun();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    while world.now < 20 * AUTHORITY {
        world.see(0);
        let name = match world.act(0, BUNDLES).unwrap() {
            Step::Wait(wait) => {
                world.now += wait.as_secs().clamp(1, 10);
                continue;
            }
            Step::Add { .. } => "add",
            Step::Publish(_) => "publish",
            Step::Issue => "issue",
            Step::Record { older } if older.is_empty() => "retire",
            Step::Record { .. } => "keep",
            Step::LeaveAlone => "leave",
        };
        *counts.entry(name).or_default() += 1;
        assert_eq!(world.failing_call(), None);
        world.now += 1;
    }
    let rotations = counts["add"];
    assert!(rotations > 20, "{counts:?}");
    assert!(counts["publish"] > 2 * rotations - 2 && counts["retire"] >= rotations - 1);
    assert!(!counts.contains_key("keep"), "{counts:?}");
}
