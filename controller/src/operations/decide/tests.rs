use super::*;
use crate::operations::{answer::Status, key::RetryToken, schedule::Pressure};

fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().unwrap()
}

fn seconds(count: i64) -> Timestamp {
    now() + jiff::SignedDuration::from_secs(count)
}

fn situation() -> Situation {
    Situation {
        now: now(),
        random: 0.0,
        uid: "u".to_owned(),
        generation: 1,
        leaving_since: None,
        wanted: Some(Wanted {
            provider: "volumes".to_owned(),
            request_hash: "hash".to_owned(),
            timeout: Duration::from_secs(3600),
            polling: Polling::Usual,
            retry: None,
        }),
        record: None,
        memory: Memory::default(),
        pressure: Pressure::default(),
    }
}

/// An operation whose start was written down just now.
fn started() -> Situation {
    let Step::Start(record) = decide(&situation(), &Policy::default(), None) else {
        panic!("not started");
    };
    Situation {
        record: Some(record),
        ..situation()
    }
}

fn at(stage: Stage) -> Situation {
    let mut situation = started();
    let record = situation.record.as_mut().unwrap();
    record.handle = Some("op-1".to_owned());
    record.next_check_at = None;
    record.stage = stage;
    situation
}

fn failed_for(reason: &str) -> Situation {
    at(Stage::Failed {
        at: now(),
        reason: reason.to_owned(),
        message: String::new(),
    })
}

/// Time passes.
fn later(mut situation: Situation, count: i64) -> Situation {
    situation.now = seconds(count);
    situation
}

fn asking_for_another(mut situation: Situation) -> Situation {
    situation.wanted.as_mut().unwrap().request_hash = "other".to_owned();
    situation.generation = 2;
    situation
}

fn asked_again(mut situation: Situation) -> Situation {
    situation.wanted.as_mut().unwrap().retry = Some(RetryToken::of("please"));
    situation
}

fn deleted(mut situation: Situation) -> Situation {
    situation.leaving_since = Some(situation.now);
    situation
}

fn without_lookup() -> Policy {
    Policy {
        lookup: false,
        ..Policy::default()
    }
}

fn told(status: Status) -> Answer {
    Answer::Told(Told {
        id: Some("op-1".to_owned()),
        status,
        ..Told::default()
    })
}

fn timed_out() -> Answer {
    Answer::Failed {
        failure: Failure::new("Timeout", "no answer"),
        retry_after: None,
        without_effect: false,
    }
}

/// What comes of these news, in short.
fn came_of(situation: &Situation, policy: &Policy, news: News) -> String {
    said(&decide(situation, policy, Some(&news)))
}

fn next(situation: &Situation, policy: &Policy) -> String {
    said(&decide(situation, policy, None))
}

fn said(step: &Step) -> String {
    match step {
        Step::Start(record) => format!("start, attempt {}", record.attempts),
        Step::Write(learnt) => match &learnt.record.stage {
            Stage::Failed { reason, .. } => format!("failed: {reason}"),
            Stage::Succeeded { .. } => "succeeded".to_owned(),
            stage => {
                let wait = learnt
                    .record
                    .next_check_at
                    .map(|at| at.duration_since(now()).as_secs());
                format!("{stage:?}, next in {}", wait.unwrap_or(0))
            }
        },
        Step::Wait(until) => format!("wait {}", until.duration_since(now()).as_secs()),
        Step::Call(call) => format!("{call:?}"),
        Step::Rest => "rest".to_owned(),
    }
}

#[test]
fn the_record_is_complete_before_the_first_call() {
    let record = started().record.unwrap();
    assert_eq!(record.attempts, 1);
    assert_eq!(record.started_at, now());
    assert_eq!(record.request_hash.as_deref(), Some("hash"));
    assert_eq!(record.key, Key::new("volumes", "u", 1, None, None));
    assert_eq!(record.next_check_at, Some(seconds(10)));
}

#[test]
fn no_operation_is_started_that_nobody_wants() {
    let mut unwanted = situation();
    unwanted.wanted = None;
    assert_eq!(next(&unwanted, &Policy::default()), "rest");
    assert_eq!(next(&deleted(situation()), &Policy::default()), "rest");
}

#[test]
fn a_start_whose_answer_is_not_known_is_left_alone_until_it_must_be_over() {
    assert_eq!(next(&later(started(), 9), &Policy::default()), "wait 10");
    assert_eq!(next(&later(started(), 10), &Policy::default()), "LookUp");
}

#[test]
fn without_look_up_the_same_call_is_made_again_while_the_key_lives() {
    let policy = without_lookup();
    let again = later(started(), 3600 - 1);
    let Step::Start(record) = decide(&again, &policy, None) else {
        panic!("not started");
    };
    assert_eq!(record.attempts, 2);
    assert_eq!(Some(record.key), again.record.map(|record| record.key));
    let short = Policy {
        key_lifetime: Duration::from_secs(60),
        ..policy
    };
    assert_eq!(next(&later(started(), 49), &short), "start, attempt 2");
    assert_eq!(next(&later(started(), 50), &short), "failed: StartUnknown");
}

#[test]
fn without_look_up_a_start_that_is_not_known_is_for_a_person_once_the_spec_is_another() {
    let changed = later(asking_for_another(started()), 10);
    assert_eq!(next(&changed, &without_lookup()), "failed: StartUnknown");
    assert_eq!(next(&changed, &Policy::default()), "LookUp");
}

#[test]
fn only_a_person_starts_another_where_one_may_be_running() {
    for reason in ["StartUnknown", "ResultUnknown", "CancelFailed"] {
        let unknown = failed_for(reason);
        let policy = Policy::default();
        assert_eq!(next(&unknown, &policy), "rest");
        assert_eq!(next(&asking_for_another(unknown.clone()), &policy), "rest");
        assert_eq!(next(&asked_again(unknown), &policy), "start, attempt 1");
    }
}

#[test]
fn a_request_to_try_again_is_answered_once() {
    let Step::Start(record) = decide(&asked_again(failed_for("Failed")), &Policy::default(), None)
    else {
        panic!("not started");
    };
    let mut failed_again = asked_again(failed_for("Failed"));
    failed_again.record.as_mut().unwrap().key = record.key;
    assert_eq!(next(&failed_again, &Policy::default()), "rest");
}

#[test]
fn what_failed_is_tried_again_when_the_spec_asks_for_another() {
    let failed = failed_for("Refused");
    assert_eq!(next(&failed, &Policy::default()), "rest");
    assert_eq!(
        next(&asking_for_another(failed), &Policy::default()),
        "start, attempt 1"
    );
}

#[test]
fn a_provider_that_never_accepted_it_is_asked_again_with_the_same_key() {
    let not_found = News::Called(Call::LookUp, Answer::NotFound);
    let late = later(started(), 10);
    assert_eq!(
        came_of(&late, &Policy::default(), not_found.clone()),
        "start, attempt 2"
    );
    assert_eq!(
        came_of(
            &asking_for_another(late.clone()),
            &Policy::default(),
            not_found.clone()
        ),
        "failed: Superseded"
    );
    assert_eq!(
        came_of(&deleted(late), &Policy::default(), not_found),
        "failed: Canceled"
    );
}

#[test]
fn the_answers_to_a_start() {
    let throttled = Answer::Failed {
        failure: Failure::new("429", "slow down"),
        retry_after: Some(Duration::from_secs(77)),
        without_effect: true,
    };
    for (answer, expected) in [
        (told(Status::UnderWay), "Following, next in 30"),
        (told(Status::Succeeded), "succeeded"),
        (told(Status::Failed), "failed: Failed"),
        (timed_out(), "Starting, next in 10"),
        (throttled, "Starting, next in 77"),
        (
            Answer::Refused(Failure::new("400", "no")),
            "failed: Refused",
        ),
    ] {
        let news = News::Started(answer.clone());
        assert_eq!(
            came_of(&started(), &Policy::default(), news),
            expected,
            "{answer:?}"
        );
    }
}

#[test]
fn a_repeated_start_that_is_refused_says_nothing_of_the_first() {
    let mut repeated = started();
    repeated.record.as_mut().unwrap().attempts = 2;
    let refused = News::Started(Answer::Refused(Failure::new("422", "no")));
    assert_eq!(
        came_of(&repeated, &without_lookup(), refused.clone()),
        "failed: StartUnknown"
    );
    assert_eq!(
        came_of(&repeated, &Policy::default(), refused),
        "failed: Refused"
    );
}

#[test]
fn a_start_that_had_no_effect_is_repeated_without_a_look_up() {
    let mut throttled = later(started(), 10);
    throttled.memory.without_effect = true;
    assert_eq!(next(&throttled, &Policy::default()), "start, attempt 2");
}

#[test]
fn the_answers_to_a_poll() {
    let following = later(at(Stage::Following), 0);
    for (answer, expected) in [
        (told(Status::UnderWay), "Following, next in 30"),
        (told(Status::Succeeded), "succeeded"),
        (told(Status::Failed), "failed: Failed"),
        (told(Status::Canceled), "failed: Canceled"),
        (Answer::NotFound, "failed: ResultUnknown"),
        (timed_out(), "Following, next in 10"),
        (
            Answer::Refused(Failure::new("403", "no")),
            "Following, next in 10",
        ),
    ] {
        let news = News::Called(Call::Poll, answer.clone());
        assert_eq!(
            came_of(&following, &Policy::default(), news),
            expected,
            "{answer:?}"
        );
    }
}

#[test]
fn a_poll_that_fails_keeps_the_handle() {
    let news = News::Called(Call::Poll, timed_out());
    let Step::Write(learnt) = decide(&at(Stage::Following), &Policy::default(), Some(&news)) else {
        panic!("nothing written");
    };
    assert_eq!(learnt.record.handle.as_deref(), Some("op-1"));
    assert_eq!(learnt.failure.unwrap().code, "Timeout");
}

#[test]
fn an_operation_whose_end_is_told_is_asked_slowly() {
    let mut told_of = started();
    told_of.wanted.as_mut().unwrap().polling = Polling::Slow;
    let news = News::Started(told(Status::UnderWay));
    assert_eq!(
        came_of(&told_of, &Policy::default(), news.clone()),
        "Following, next in 300"
    );
    told_of.wanted.as_mut().unwrap().timeout = Duration::from_secs(20);
    assert_eq!(
        came_of(&told_of, &Policy::default(), news),
        "Following, next in 20"
    );
}

#[test]
fn what_takes_too_long_is_cancelled_unless_it_has_just_ended() {
    let late = later(at(Stage::Following), 3600);
    let policy = Policy::default();
    assert_eq!(next(&late, &policy), "Poll");
    let poll = |status| News::Called(Call::Poll, told(status));
    assert_eq!(
        came_of(&late, &policy, poll(Status::Succeeded)),
        "succeeded"
    );
    assert_eq!(came_of(&late, &policy, poll(Status::UnderWay)), "Cancel");
    let canceled = News::Called(Call::Cancel, Answer::Agreed);
    assert_eq!(came_of(&late, &policy, canceled), "failed: Timeout");
}

#[test]
fn a_call_to_cancel_for_which_there_was_no_room_is_made_next() {
    let mut late = later(at(Stage::Following), 3600);
    let policy = Policy::default();
    let running = News::Called(Call::Poll, told(Status::UnderWay));
    let step = decide(&late, &policy, Some(&running));
    late.memory = late.memory.after(&running, &step);
    assert_eq!(next(&late, &policy), "Cancel");
    let failed = News::Called(Call::Cancel, timed_out());
    let step = decide(&late, &policy, Some(&failed));
    late.memory = late.memory.after(&failed, &step);
    assert_eq!(next(&late, &policy), "Poll");
}

#[test]
fn a_repeated_start_for_which_there_was_no_room_is_made_next() {
    let mut late = later(started(), 10);
    let policy = Policy::default();
    let not_found = News::Called(Call::LookUp, Answer::NotFound);
    let step = decide(&late, &policy, Some(&not_found));
    late.memory = late.memory.after(&not_found, &step);
    assert_eq!(next(&late, &policy), "start, attempt 2");
    late.memory = late.memory.of_earlier_attempt();
    assert_eq!(next(&late, &policy), "LookUp");
}

#[test]
fn what_cannot_be_cancelled_is_given_up_after_some_time() {
    let mut late = later(at(Stage::Canceling), 3600);
    late.memory.tries = GIVE_UP_AFTER;
    assert_eq!(next(&late, &Policy::default()), "failed: Timeout");
    let late = asking_for_another(late);
    assert_eq!(next(&late, &Policy::default()), "failed: CancelFailed");
}

#[test]
fn another_operation_is_started_only_after_the_end_of_the_old_one() {
    let policy = Policy::default();
    let changed = asking_for_another(at(Stage::Following));
    assert_eq!(next(&changed, &policy), "Poll");
    let running = News::Called(Call::Poll, told(Status::UnderWay));
    assert_eq!(came_of(&changed, &policy, running), "Cancel");
    let agreed = News::Called(Call::Cancel, Answer::Agreed);
    assert_eq!(came_of(&changed, &policy, agreed), "Canceling, next in 5");
    let canceled = News::Called(Call::Poll, told(Status::Canceled));
    assert_eq!(came_of(&changed, &policy, canceled), "failed: Superseded");
    assert_eq!(
        next(&asking_for_another(failed_for("Superseded")), &policy),
        "start, attempt 1"
    );
}

#[test]
fn other_edits_do_not_touch_the_operation() {
    let mut edited = at(Stage::Following);
    edited.generation = 7;
    edited.record.as_mut().unwrap().next_check_at = Some(seconds(30));
    assert_eq!(next(&edited, &Policy::default()), "wait 30");
}

#[test]
fn a_deletion_deals_with_the_operation_as_the_policy_says_and_within_its_deadline() {
    let leaving = deleted(at(Stage::Following));
    let policy = |deletion| Policy {
        deletion,
        ..Policy::default()
    };
    for (deletion, expected, free) in [
        (DeletionPolicy::Cancel, "Poll", false),
        (DeletionPolicy::Wait, "Poll", false),
        (DeletionPolicy::Orphan, "rest", true),
    ] {
        assert_eq!(next(&leaving, &policy(deletion)), expected);
        assert_eq!(may_go(&leaving, Some(&policy(deletion))), free);
    }
    let running = News::Called(Call::Poll, told(Status::UnderWay));
    for (deletion, expected) in [
        (DeletionPolicy::Cancel, "Cancel"),
        (DeletionPolicy::Wait, "Following, next in 30"),
    ] {
        assert_eq!(
            came_of(&leaving, &policy(deletion), running.clone()),
            expected
        );
    }
    let overdue = later(leaving, 600);
    assert_eq!(next(&overdue, &Policy::default()), "rest");
    assert!(may_go(&overdue, Some(&Policy::default())));
    assert!(may_go(&overdue, None));
}

#[test]
fn a_task_without_a_running_operation_is_not_held_back() {
    assert!(may_go(&deleted(situation()), None));
    assert!(may_go(&deleted(failed_for("Timeout")), None));
    assert!(!may_go(&deleted(at(Stage::Following)), None));
}

#[test]
fn a_message_counts_once_and_may_come_before_the_answer_to_the_start() {
    let signal = News::Signal(Signal {
        event_id: "e-1".to_owned(),
        told: Told {
            status: Status::Succeeded,
            ..Told::default()
        },
    });
    let mut situation = started();
    let Step::Write(learnt) = decide(&situation, &Policy::default(), Some(&signal)) else {
        panic!("nothing written");
    };
    assert_eq!(learnt.record.last_event_id.as_deref(), Some("e-1"));
    situation.record = Some(learnt.record);
    assert_eq!(came_of(&situation, &Policy::default(), signal), "rest");
    let answer = News::Started(told(Status::UnderWay));
    assert_eq!(came_of(&situation, &Policy::default(), answer), "rest");
}

/// A message that the operation runs, with an id.
fn running_as(id: &str) -> News {
    News::Signal(Signal {
        event_id: "e-1".to_owned(),
        told: Told {
            id: Some(id.to_owned()),
            ..Told::default()
        },
    })
}

fn learnt(situation: &Situation, policy: &Policy, news: &News) -> Record {
    let Step::Write(learnt) = decide(situation, policy, Some(news)) else {
        panic!("nothing written");
    };
    learnt.record
}

#[test]
fn without_look_up_a_message_goes_by_its_id_until_the_answer_to_the_start_says_another() {
    let (signal, policy) = (running_as("by-message"), without_lookup());
    let mut situation = started();
    let record = learnt(&situation, &policy, &signal);
    assert_eq!(record.handle.as_deref(), Some("by-message"));
    situation.record = Some(record);
    let answer = News::Started(Answer::Told(Told {
        id: Some("by-answer".to_owned()),
        ..Told::default()
    }));
    let record = learnt(&situation, &policy, &answer);
    assert_eq!(record.handle.as_deref(), Some("by-answer"));
    let record = learnt(&at(Stage::Following), &policy, &signal);
    assert_eq!(record.handle.as_deref(), Some("op-1"));
}

#[test]
fn what_a_message_tells_of_before_the_answer_to_the_start_is_looked_up() {
    let policy = Policy::default();
    let mut situation = started();
    let before = situation.record.clone().unwrap();
    let record = learnt(&situation, &policy, &running_as("by-message"));
    assert_eq!((&record.handle, &record.stage), (&None, &Stage::Starting));
    assert_eq!(record.next_check_at, before.next_check_at);
    situation.record = Some(record);
    // The provider has it, whatever is known of the last call to start it.
    let refused = News::Started(Answer::Refused(Failure::new("422", "no")));
    assert_eq!(
        came_of(&situation, &policy, refused),
        "Starting, next in 10"
    );
    let mut due = later(situation, 10);
    due.memory.without_effect = true;
    for (due, of_none) in [
        (due.clone(), "failed: ResultUnknown"),
        (asking_for_another(due), "failed: Superseded"),
    ] {
        assert_eq!(next(&due, &policy), "LookUp");
        let not_found = News::Called(Call::LookUp, Answer::NotFound);
        assert_eq!(came_of(&due, &policy, not_found), of_none);
    }
}

#[test]
fn a_message_that_it_still_goes_on_leaves_the_next_call_when_it_was() {
    let running = || {
        News::Signal(Signal {
            event_id: "e-1".to_owned(),
            told: Told::default(),
        })
    };
    let due_in_7 = |stage| {
        let mut situation = at(stage);
        situation.record.as_mut().unwrap().next_check_at = Some(seconds(7));
        situation
    };
    let policy = Policy::default();
    let following = due_in_7(Stage::Following);
    assert_eq!(
        came_of(&following, &policy, running()),
        "Following, next in 7"
    );
    let canceling = asking_for_another(due_in_7(Stage::Canceling));
    assert_eq!(
        came_of(&canceling, &policy, running()),
        "Canceling, next in 7"
    );
}

#[test]
fn a_start_that_is_refused_is_no_end_of_an_operation_that_the_provider_told_of() {
    let refused = News::Started(Answer::Refused(Failure::new("422", "no")));
    let running = at(Stage::Following);
    let Step::Write(learnt) = decide(&running, &Policy::default(), Some(&refused)) else {
        panic!("nothing written");
    };
    assert_eq!(learnt.record.stage, Stage::Following);
}

#[test]
fn the_first_end_counts_and_another_is_noted() {
    let ended = at(Stage::Succeeded {
        at: now(),
        result: None,
    });
    let signal = News::Signal(Signal {
        event_id: "e-1".to_owned(),
        told: Told {
            status: Status::Failed,
            ..Told::default()
        },
    });
    let Step::Write(learnt) = decide(&ended, &Policy::default(), Some(&signal)) else {
        panic!("nothing written");
    };
    assert_eq!(learnt.record.stage, ended.record.unwrap().stage);
    assert_eq!(learnt.failure.unwrap().code, "Contradiction");
}

#[test]
fn whatever_is_told_after_an_operation_was_left_to_a_person_is_noted() {
    for reason in ["StartUnknown", "ResultUnknown", "CancelFailed"] {
        for status in [Status::UnderWay, Status::Failed, Status::Succeeded] {
            let ended = failed_for(reason);
            let told = Told {
                status,
                ..Told::default()
            };
            let signal = News::Signal(Signal {
                event_id: "e-1".to_owned(),
                told,
            });
            let Step::Write(learnt) = decide(&ended, &Policy::default(), Some(&signal)) else {
                panic!("{status:?} after {reason} is not noted");
            };
            assert_eq!(learnt.record.stage, ended.record.unwrap().stage);
            let failure = learnt.failure.unwrap();
            assert_eq!(failure.code, "Contradiction");
            assert!(failure.message.contains(&format!("{status:?}")));
        }
    }
}

#[test]
fn a_code_of_the_providers_is_no_reason_of_ours() {
    let answer = Answer::Told(Told {
        status: Status::Failed,
        error: Some(Failure::new("Superseded", "by the provider")),
        ..Told::default()
    });
    let news = News::Called(Call::Poll, answer);
    assert_eq!(
        came_of(&at(Stage::Following), &Policy::default(), news),
        "failed: Failed"
    );
}

#[test]
fn calls_that_lead_nowhere_are_counted_until_one_does() {
    let step = Step::Rest;
    let failed = News::Called(Call::LookUp, timed_out());
    let memory = Memory::default()
        .after(&failed, &step)
        .after(&failed, &step);
    assert_eq!(memory.tries, 2);
    let told = News::Called(Call::LookUp, told(Status::UnderWay));
    assert_eq!(memory.after(&told, &step).tries, 0);
}
