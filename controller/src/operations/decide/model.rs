//! The state machine against a model of everything around it: random answers, crashes, stale reads, messages and edits.
//!
//! The model keeps what a real cluster and a real provider would: a status that is written by compare-and-swap, a provider that takes a
//! known key for the same operation as long as the key lives, and a clock.

use proptest::prelude::*;

use super::*;
use crate::operations::answer::Status;
use world::World;

mod world;

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Nothing,
    /// The call times out, and the provider never got it.
    LostOnTheWay,
    /// The call has its effect, and the answer is lost.
    AnswerLost,
    /// The call times out, and has its effect at the last moment.
    Late,
    /// 429: it had no effect.
    Throttled,
    /// 409: a call with the same key is under way.
    Outstanding,
    /// 4xx: the provider will not have it.
    Refused,
    /// The provider knows nothing of any operation any more.
    Forgotten,
}

/// Where the process dies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Crash {
    BeforeTheCall,
    AfterTheCall,
}

/// What others do.
#[derive(Clone, Copy, Debug)]
enum Event {
    Nothing,
    AskForAnother(u8),
    AskForNone,
    AskAgain(u8),
    Delete,
    /// The provider tells how an operation stands.
    Tell(Message),
    /// The operation ends at the provider.
    End(Status),
}

/// What the provider tells by itself.
#[derive(Clone, Copy, Debug)]
struct Message {
    /// How often the same message comes.
    times: u8,
    /// It says this, whatever is true: what was true earlier, or what contradicts the message before.
    says: Option<Status>,
}

#[derive(Clone, Debug)]
struct Round {
    pause: u16,
    event: Event,
    stale: bool,
    /// What comes after a call has had its effect, and before its answer is written.
    early: Option<Message>,
    faults: [Fault; 3],
    crash: Option<Crash>,
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        4 => Just(Fault::Nothing),
        2 => Just(Fault::LostOnTheWay),
        2 => Just(Fault::AnswerLost),
        2 => Just(Fault::Late),
        2 => Just(Fault::Throttled),
        1 => Just(Fault::Outstanding),
        1 => Just(Fault::Refused),
        1 => Just(Fault::Forgotten),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        12 => Just(Event::Nothing),
        2 => (0..3_u8).prop_map(Event::AskForAnother),
        1 => Just(Event::AskForNone),
        1 => (0..3_u8).prop_map(Event::AskAgain),
        1 => Just(Event::Delete),
        3 => message().prop_map(Event::Tell),
        2 => end().prop_map(Event::End),
    ]
}

fn end() -> impl Strategy<Value = Status> {
    prop_oneof![
        Just(Status::Succeeded),
        Just(Status::Failed),
        Just(Status::Canceled)
    ]
}

fn message() -> impl Strategy<Value = Message> {
    let says = prop_oneof![
        4 => Just(None),
        1 => Just(Some(Status::UnderWay)),
        1 => end().prop_map(Some),
    ];
    (1..3_u8, says).prop_map(|(times, says)| Message { times, says })
}

fn round() -> impl Strategy<Value = Round> {
    let crash = prop_oneof![
        6 => Just(None),
        1 => Just(Some(Crash::BeforeTheCall)),
        1 => Just(Some(Crash::AfterTheCall)),
    ];
    let pause = prop_oneof![0..30_u16, 0..7200_u16];
    (
        pause,
        event(),
        prop::bool::weighted(0.2),
        prop::option::weighted(0.3, message()),
        [fault(), fault(), fault()],
        crash,
    )
        .prop_map(|(pause, event, stale, early, faults, crash)| Round {
            pause,
            event,
            stale,
            early,
            faults,
            crash,
        })
}

fn policy() -> impl Strategy<Value = Policy> {
    let deletion = prop_oneof![
        Just(DeletionPolicy::Cancel),
        Just(DeletionPolicy::Wait),
        Just(DeletionPolicy::Orphan),
    ];
    (any::<bool>(), 0..7200_u64, deletion).prop_map(|(lookup, key_lifetime, deletion)| Policy {
        lookup,
        key_lifetime: Duration::from_secs(key_lifetime),
        deletion,
        ..Policy::default()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_there_is_one_operation_for_each_key_and_it_ends(
        policy in policy(),
        polling in prop_oneof![Just(Polling::Usual), Just(Polling::Slow)],
        calls_in_a_turn in 1..4_usize,
        rounds in prop::collection::vec(round(), 1..40),
    ) {
        let mut world = World::new(policy, polling, calls_in_a_turn);
        for round in &rounds {
            world.round(round);
            world.check();
        }
        world.settle();
    }
}
