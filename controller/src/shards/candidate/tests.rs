//! One replica, step by step. What becomes of several together is in [`super::lives`].

use super::*;

/// So many seconds after the machine was started.
fn at(seconds: u64) -> Moment {
    Moment::default().after(Duration::from_secs(seconds))
}

fn other(shards: u32) -> Record {
    Record::held("other", DURATION, shards, 4)
}

/// The replica `me`, which knows of these Leases since second 100, each at version 7.
fn knows(shards: u32, leases: &[(Id, Record)]) -> Candidate {
    let mut candidate = Candidate::new(&Identity::given("me"), shards);
    list(&mut candidate, leases);
    candidate
}

fn list(candidate: &mut Candidate, leases: &[(Id, Record)]) {
    for (id, record) in leases {
        candidate.heard(id.clone(), 7, record.clone(), at(100));
    }
    let all = leases.iter().map(|(id, _)| id.clone()).collect();
    candidate.heard_all(&all, at(100));
}

/// What it does, in short; nobody acts on a Task.
fn done(candidate: &mut Candidate, second: u64) -> Vec<String> {
    let steps = candidate.steps(at(second), |_| true);
    steps.iter().map(told).collect()
}

fn told(step: &Step) -> String {
    match step {
        Step::Check => "check".to_owned(),
        Step::Write(write) => {
            let name = write.id.name();
            let name = name.trim_start_matches("task-controller-");
            match (&write.record, write.version) {
                (None, _) => format!("delete {name}"),
                (Some(record), None) => format!("create {name} {:?}", record.holder),
                (Some(record), Some(_)) if record.is_released() => format!("release {name}"),
                (Some(_), Some(_)) if write.is_taken => format!("take {name}"),
                (Some(_), Some(_)) => format!("renew {name}"),
            }
        }
    }
}

/// It does what it does at that second, and all of it goes through at once.
fn thrives(candidate: &mut Candidate, second: u64) -> Vec<String> {
    let steps = candidate.steps(at(second), |_| true);
    for step in &steps {
        match step {
            Step::Check => candidate.checked(Some(Vec::new()), at(second)),
            Step::Write(write) => {
                let outcome = match write.record {
                    Some(_) => Outcome::Written(1000 * second),
                    None => Outcome::Deleted,
                };
                candidate.ended(write.clone(), outcome, at(second));
            }
        }
    }
    steps.iter().map(told).collect()
}

#[test]
fn nothing_is_done_before_it_is_known_which_leases_there_are() {
    let mut candidate = Candidate::new(&Identity::given("me"), 1);
    assert!(done(&mut candidate, 100).is_empty());
    list(&mut candidate, &[]);
    assert_eq!(done(&mut candidate, 100), [r#"create shard-0 Some("me")"#]);
}

#[test]
fn the_only_replica_takes_the_only_shard_checks_and_renews_it() {
    let mut candidate = knows(1, &[]);
    thrives(&mut candidate, 100);
    assert_eq!(candidate.acting_since(0, at(100)), None);
    assert_eq!(thrives(&mut candidate, 101), ["check"]);
    assert_eq!(candidate.acting_since(0, at(101)), Some(at(100)));
    assert!(thrives(&mut candidate, 101).is_empty());
    assert_eq!(thrives(&mut candidate, 102), ["renew shard-0"]);
    assert_eq!(candidate.acting_since(0, at(102)), Some(at(102)));
}

#[test]
fn a_shard_of_another_is_taken_once_it_has_not_been_renewed_for_fifteen_seconds() {
    let mut candidate = knows(1, &[(Id::Shard(0), other(1))]);
    assert!(candidate.is_owned(0, at(114)));
    assert!(done(&mut candidate, 114).is_empty());
    let steps = candidate.steps(at(115), |_| true);
    let Step::Write(write) = &steps[0] else {
        panic!("{steps:?}");
    };
    assert_eq!((write.version, write.is_taken), (Some(7), true));
    let record = write.record.as_ref().unwrap();
    assert_eq!(record.transitions, 5);
}

#[test]
fn a_shard_that_another_gave_up_is_taken_at_once() {
    let mut candidate = knows(1, &[(Id::Shard(0), other(1).released())]);
    assert_eq!(done(&mut candidate, 100), ["take shard-0"]);
}

#[test]
fn what_an_earlier_process_of_the_same_name_held_is_gone_on_with_at_once() {
    let left = [(Id::Shard(0), Record::held("me", DURATION, 1, 0))];
    assert_eq!(done(&mut knows(1, &left), 100), ["renew shard-0"]);
    // A name that was drawn nobody had before.
    let drawn = Identity::drawn();
    let mut candidate = Candidate::new(&drawn, 1);
    let forged = Record::held(drawn.name(), DURATION, 1, 0);
    list(&mut candidate, &[(Id::Shard(0), forged)]);
    assert!(done(&mut candidate, 100).is_empty());
}

#[test]
fn a_shard_that_cannot_be_renewed_is_not_acted_on_after_ten_seconds() {
    let mut candidate = knows(1, &[]);
    thrives(&mut candidate, 100);
    thrives(&mut candidate, 101);
    for second in 102..110 {
        for step in candidate.steps(at(second), |_| true) {
            if let Step::Write(write) = step {
                candidate.ended(write, Outcome::Failed, at(second));
            }
        }
        assert!(candidate.acting_since(0, at(second)).is_some());
    }
    assert_eq!(candidate.acting_since(0, at(110)), None);
}

#[test]
fn where_there_is_something_to_spread_it_makes_itself_known() {
    assert_eq!(
        done(&mut knows(2, &[]), 100),
        [
            r#"create member-me Some("me")"#,
            r#"create shard-0 Some("me")"#,
            r#"create shard-1 Some("me")"#
        ]
    );
}

#[test]
fn beside_another_replica_it_takes_its_share_alone() {
    let another = [(Id::Member("other".to_owned()), other(2))];
    assert_eq!(
        done(&mut knows(2, &another), 100),
        [
            r#"create member-me Some("me")"#,
            r#"create shard-0 Some("me")"#
        ]
    );
}

#[test]
fn what_a_new_replica_is_due_is_given_up_once_nobody_acts_on_it() {
    let mut candidate = knows(2, &[]);
    thrives(&mut candidate, 100);
    thrives(&mut candidate, 101);
    candidate.heard(Id::Member("other".to_owned()), 101_500, other(2), at(101));
    let busy = candidate.steps(at(101), |_| false);
    assert!(busy.is_empty() && candidate.is_closing(1) && !candidate.is_closing(0));
    assert_eq!(thrives(&mut candidate, 101), ["release shard-1"]);
    assert_eq!(candidate.acting_since(1, at(101)), None);
    assert!(candidate.acting_since(0, at(101)).is_some());
}

#[test]
fn who_leaves_gives_up_all_and_has_left_then() {
    let mut candidate = knows(2, &[]);
    thrives(&mut candidate, 100);
    thrives(&mut candidate, 101);
    candidate.leave();
    assert!(candidate.is_closing(0) && !candidate.has_left(at(101)));
    let busy = candidate.steps(at(101), |_| false);
    assert_eq!(
        busy.iter().map(told).collect::<Vec<_>>(),
        ["delete member-me"]
    );
    assert_eq!(
        thrives(&mut candidate, 101),
        ["release shard-0", "release shard-1"]
    );
    let Step::Write(gone) = busy[0].clone() else {
        panic!("{busy:?}");
    };
    assert!(!candidate.has_left(at(101)));
    candidate.ended(gone, Outcome::Deleted, at(101));
    assert!(candidate.has_left(at(101)));
    assert!(done(&mut candidate, 200).is_empty());
}

#[test]
fn who_cannot_say_that_it_leaves_does_so_all_the_same() {
    let mut candidate = knows(2, &[]);
    thrives(&mut candidate, 100);
    candidate.leave();
    for step in candidate.steps(at(112), |_| true) {
        if let Step::Write(write) = step {
            candidate.ended(write, Outcome::Failed, at(112));
        }
    }
    assert!(candidate.has_left(at(112)));
}

#[test]
fn while_another_divides_the_tasks_otherwise_no_shard_is_taken() {
    let mut candidate = knows(2, &[(Id::Shard(5), other(6))]);
    assert_eq!(
        done(&mut candidate, 100),
        [r#"create member-me Some("me")"#]
    );
    candidate.heard(Id::Shard(5), 8, other(6).released(), at(101));
    assert_eq!(
        done(&mut candidate, 101),
        [
            r#"create shard-0 Some("me")"#,
            r#"create shard-1 Some("me")"#
        ]
    );
}

#[test]
fn a_shard_is_given_up_unused_where_another_began_to_divide_the_tasks_otherwise_meanwhile() {
    let mut candidate = knows(1, &[]);
    thrives(&mut candidate, 100);
    assert_eq!(done(&mut candidate, 101), ["check"]);
    candidate.checked(Some(vec![(Id::Shard(1), 150_000, other(2))]), at(101));
    assert_eq!(candidate.acting_since(0, at(101)), None);
    assert_eq!(thrives(&mut candidate, 101), ["release shard-0"]);
}

#[test]
fn a_check_that_fails_is_made_again_before_anything_is_acted_on() {
    let mut candidate = knows(1, &[]);
    thrives(&mut candidate, 100);
    assert_eq!(done(&mut candidate, 100), ["check"]);
    candidate.checked(None, at(100));
    assert!(done(&mut candidate, 100).is_empty());
    assert_eq!(done(&mut candidate, 101), ["check"]);
}

#[test]
fn what_is_left_of_a_replica_that_ended_without_a_word_is_removed_after_a_minute() {
    let mut candidate = knows(1, &[(Id::Member("other".to_owned()), other(1))]);
    assert!(!done(&mut candidate, 159).contains(&"delete member-other".to_owned()));
    assert_eq!(done(&mut candidate, 160), ["delete member-other"]);
}
