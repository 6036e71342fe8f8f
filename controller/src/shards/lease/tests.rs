use super::*;

const ME: &str = "me";
const OTHER: &str = "other";

/// So many seconds after the machine was started.
fn at(seconds: u64) -> Moment {
    Moment::default().after(Duration::from_secs(seconds))
}

/// The moment just before.
fn before(moment: Moment) -> Moment {
    let age = moment.since(Moment::default());
    Moment::default().after(age - Duration::from_millis(1))
}

fn record(holder: &str) -> Record {
    Record::held(holder, DURATION, 6, 0)
}

/// A Lease that was seen at second 100, at version 7.
fn seen(record: Record) -> Lease {
    let mut lease = Lease::default();
    lease.heard(ME, 7, record, at(100));
    lease
}

/// A Lease that the replica has taken by a write that it sent at second 100, and heard of at second 103.
fn taken() -> Lease {
    let mut lease = Lease::default();
    lease.sending(at(100));
    lease.written(ME, 7, record(ME), at(103));
    lease
}

/// One that it acts on.
fn acted_on() -> Lease {
    let mut lease = taken();
    lease.checked(1);
    lease
}

#[test]
fn who_holds_it_acts_until_ten_seconds_after_it_sent_the_write() {
    let lease = acted_on();
    assert_eq!(lease.acting_since(before(at(110))), Some(at(100)));
    assert_eq!(lease.acting_since(at(110)), None);
    assert!(!lease.is_held(at(110)));
}

#[test]
fn who_does_not_hold_it_waits_for_its_duration_since_it_was_seen() {
    let lease = seen(record(OTHER));
    assert!(!lease.is_free(before(at(115))));
    assert!(lease.is_free(at(115)));
    let short = Record {
        duration: Duration::from_secs(3),
        ..record(OTHER)
    };
    assert!(!seen(short.clone()).is_free(before(at(103))));
    assert!(seen(short).is_free(at(103)));
}

#[test]
fn who_holds_it_has_stopped_before_another_may_begin() {
    // The other sees the write no sooner than it is sent.
    let [holder, mut other] = [acted_on(), Lease::default()];
    other.heard(OTHER, 7, record(ME), at(100));
    for seconds in 100..120 {
        let now = at(seconds);
        assert!(
            !(holder.is_held(now) && other.is_free(now)),
            "at second {seconds}"
        );
    }
    assert!(RENEW_DEADLINE < ENDED && ENDED < DURATION);
}

#[test]
fn it_may_be_taken_at_once_where_there_is_none_or_its_holder_gave_it_up() {
    assert!(Lease::default().is_free(at(0)));
    assert!(seen(record(OTHER).released()).is_free(at(100)));
    let erased = Record {
        holder: None,
        ..record(OTHER)
    };
    assert!(!seen(erased).is_free(at(100)));
}

#[test]
fn one_that_somebody_deleted_is_waited_for_since_its_holder_may_not_know() {
    let mut lease = seen(record(OTHER));
    lease.heard_gone(Some(8), at(112));
    assert!(!lease.is_free(before(at(127))));
    assert!(lease.is_free(at(127)) && lease.is_forgotten(at(127)));
}

#[test]
fn what_is_older_than_what_is_known_is_nothing_new() {
    let mut lease = seen(record(OTHER));
    lease.heard(ME, 7, record(OTHER).released(), at(101));
    lease.heard(ME, 6, record(OTHER).released(), at(101));
    lease.heard_gone(Some(6), at(101));
    assert_eq!(lease.record(), Some((7, &record(OTHER))));
    assert_eq!(lease.unchanged_for(at(110)).as_secs(), 10);
    lease.heard(ME, 8, record(OTHER), at(111));
    assert_eq!(lease.unchanged_for(at(111)).as_secs(), 0);
}

#[test]
fn it_is_lost_when_another_name_is_written_into_it_or_it_is_deleted_by_another() {
    let mut stolen = acted_on();
    stolen.heard(ME, 8, record(OTHER), at(104));
    assert!(!stolen.is_held(at(104)));
    // The write that is on its way comes through, but somebody has written since.
    let mut overtaken = acted_on();
    overtaken.sending(at(104));
    overtaken.heard(ME, 9, record(OTHER), at(105));
    overtaken.written(ME, 8, record(ME), at(105));
    assert!(!overtaken.is_held(at(105)));
    assert_eq!(overtaken.record(), Some((9, &record(OTHER))));
    // It cannot tell whether what it has created is what was deleted.
    let mut recreated = Lease::default();
    recreated.sending(at(100));
    recreated.heard(ME, 7, record(ME), at(101));
    recreated.heard_gone(Some(8), at(101));
    recreated.written(ME, 7, record(ME), at(102));
    assert!(!recreated.is_held(at(102)));
}

#[test]
fn a_name_that_another_wrote_into_it_makes_nobody_its_holder() {
    let lease = seen(record(ME));
    assert!(!lease.is_held(at(100)) && !lease.is_free(at(100)));
    let mut resumed = lease;
    resumed.resume();
    assert!(!resumed.is_held(at(100)) && resumed.is_free(at(100)));
}

#[test]
fn it_is_renewed_every_two_seconds_and_counts_from_when_that_was_sent() {
    let mut lease = acted_on();
    assert!(!lease.is_due(before(at(102))));
    assert!(lease.is_due(at(102)));
    lease.sending(at(104));
    assert!(!lease.is_due(at(106)) && !lease.is_settled());
    lease.written(ME, 8, record(ME), at(106));
    assert_eq!(lease.acting_since(at(113)), Some(at(104)));
}

#[test]
fn what_failed_is_tried_again_two_seconds_after_it_was_sent_and_what_was_late_sooner() {
    let mut lease = acted_on();
    lease.sending(at(102));
    lease.failed(at(103));
    assert!(!lease.may_be_written(before(at(104))) && lease.may_be_written(at(104)));
    lease.sending(at(104));
    lease.failed(at(107));
    assert!(lease.may_be_written(at(107)));
    lease.sending(at(107));
    lease.was_late(at(107));
    assert!(!lease.may_be_written(at(107)) && lease.may_be_written(at(108)));
}

#[test]
fn it_is_not_acted_on_before_it_is_checked_in_the_same_term() {
    let mut lease = taken();
    assert_eq!(lease.unchecked_term(at(103)), Some(1));
    assert_eq!(lease.acting_since(at(103)), None);
    lease.expire(at(110));
    lease.sending(at(116));
    lease.written(ME, 8, record(ME), at(116));
    lease.checked(1);
    assert_eq!(lease.unchecked_term(at(116)), Some(2));
    lease.checked(2);
    assert_eq!(lease.acting_since(at(116)), Some(at(116)));
}

#[test]
fn what_is_given_up_is_never_acted_on_again_in_that_term() {
    let mut lease = acted_on();
    lease.give_up();
    assert!(lease.is_given_up(at(103)) && lease.is_held(at(103)));
    lease.sending(at(104));
    lease.written(ME, 8, record(ME), at(104));
    lease.checked(1);
    assert_eq!(lease.acting_since(at(104)), None);
    // Once it is written, it is free, also for this replica.
    lease.sending(at(105));
    lease.written(ME, 9, record(ME).released(), at(105));
    assert!(!lease.is_held(at(105)) && lease.is_free(at(105)));
}

#[test]
fn who_stands_aside_leaves_it_to_others_for_a_while() {
    let mut lease = acted_on();
    lease.stand_aside(at(107));
    lease.sending(at(104));
    lease.written(ME, 8, record(ME).released(), at(104));
    assert!(!lease.is_free(before(at(107))) && lease.is_free(at(107)));
}

#[test]
fn the_tasks_may_be_divided_otherwise_by_whoever_may_still_act_on_it() {
    let divided = |lease: &Lease, now| lease.is_divided_otherwise(2, now);
    let same = Record {
        shards: Some(2),
        ..record(OTHER)
    };
    let unknown = Record {
        shards: None,
        ..record(OTHER)
    };
    for (lease, second, expected) in [
        (Lease::default(), 100, false),
        (seen(same.clone()), 100, false),
        (seen(record(OTHER)), 100, true),
        (seen(unknown), 100, true),
        (seen(record(OTHER)), 115, false),
        (seen(record(OTHER).released()), 100, false),
    ] {
        assert_eq!(divided(&lease, at(second)), expected, "{lease:?}");
    }
    // Of one that was deleted nobody knows what it said last.
    let mut gone = seen(same);
    gone.heard_gone(Some(8), at(101));
    assert!(divided(&gone, at(101)) && !divided(&gone, at(116)));
}

#[test]
fn its_holder_is_told_while_the_lease_is_good() {
    let lease = seen(record(OTHER));
    assert_eq!(lease.holder(before(at(115))), Some(OTHER));
    assert_eq!(lease.holder(at(115)), None);
    assert_eq!(Lease::default().holder(at(0)), None);
}

#[test]
fn there_is_something_to_know_of_it_while_it_is_there_or_something_is_on_its_way() {
    assert!(Lease::default().is_forgotten(at(0)));
    assert!(!seen(record(OTHER)).is_forgotten(at(1000)));
    let mut creating = Lease::default();
    creating.sending(at(100));
    assert!(!creating.is_forgotten(at(1000)));
}
