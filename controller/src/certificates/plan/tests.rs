//! One state, one step.

use super::*;

const DELAYS: Delays = Delays {
    trust: Duration::from_secs(10),
    serve: Duration::from_secs(100),
};

/// A moment, in seconds since the first authority was made.
fn at(second: u64) -> Timestamp {
    Timestamp::UNIX_EPOCH + Duration::from_secs(1_000_000 + second)
}

fn life(made: u64, validity: u64) -> Life {
    Life::from_now(at(made), Duration::from_secs(validity))
}

/// An authority that is made at this second and due 2,000 seconds later.
fn authority(made: u64) -> Certificate {
    Certificate::stand_in(u8::try_from(made / 1000).unwrap(), life(made, 3000))
}

/// A server's certificate that is due after 600 seconds.
fn serving(made: u64, issuer: u64) -> Option<Serving> {
    Some(Serving {
        life: life(made, 900),
        issuers: vec![authority(issuer)],
        has_names: true,
    })
}

/// All is well: the authorities made at these seconds, newest first, are trusted by all, and a server's certificate of the second 0 or
/// of the newest authority's is from the newest.
fn state(authorities: &[u64]) -> State {
    let all: Vec<_> = authorities.iter().map(|&made| authority(made)).collect();
    State {
        is_cert_managers: false,
        authorities: Some(Authorities {
            newest: all[0].clone(),
            older: all[1..].to_vec(),
        }),
        serving: serving(authorities[0], authorities[0]),
        bundles: vec![all.clone(), all],
        shown_for: Duration::from_secs(60),
    }
}

fn step(state: &State, second: u64) -> Step {
    plan(state, DELAYS, at(second))
}

fn wait(seconds: u64) -> Step {
    Step::Wait(Duration::from_secs(seconds))
}

#[test]
fn the_first_authority_signs_as_soon_as_it_is_published() {
    let mut state = state(&[0]);
    state.serving = None;
    state.shown_for = Duration::ZERO;
    let authorities = state.authorities.take();
    state.bundles = vec![vec![], vec![]];
    assert_eq!(step(&state, 0), Step::Add { older: vec![] });
    state.authorities = authorities;
    assert_eq!(step(&state, 0), Step::Publish(vec![authority(0)]));
    state.bundles[0] = vec![authority(0)];
    assert_eq!(step(&state, 0), Step::Publish(vec![authority(0)]));
    state.bundles[1] = vec![authority(0)];
    assert_eq!(step(&state, 0), Step::Issue);
}

#[test]
fn a_cluster_without_the_definition_gets_a_certificate_all_the_same() {
    let mut state = state(&[0]);
    (state.serving, state.bundles) = (None, vec![]);
    assert_eq!(step(&state, 0), Step::Issue);
}

#[test]
fn while_all_is_well_it_waits_for_what_is_due_next() {
    let mut state = state(&[0]);
    assert_eq!(step(&state, 1), wait(599));
    state.serving = serving(1500, 0);
    assert_eq!(step(&state, 1500), wait(500));
}

#[test]
fn a_serving_certificate_that_is_due_is_renewed_from_the_same_authority() {
    let mut state = state(&[0]);
    assert_eq!(step(&state, 600), Step::Issue);
    // All know that authority, whatever this process has seen so far.
    state.shown_for = Duration::ZERO;
    assert_eq!(step(&state, 600), Step::Issue);
}

#[test]
fn one_that_is_not_for_all_names_is_renewed() {
    let mut state = state(&[0]);
    state.serving.as_mut().unwrap().has_names = false;
    assert_eq!(step(&state, 1), Step::Issue);
}

#[test]
fn an_authority_that_is_due_is_replaced_in_an_order_that_breaks_no_call() {
    let mut state = state(&[0]);
    state.serving = serving(1900, 0);
    assert_eq!(
        step(&state, 2000),
        Step::Add {
            older: vec![authority(0)]
        }
    );
    let both = vec![authority(2000), authority(0)];
    state.authorities = Some(Authorities {
        newest: authority(2000),
        older: vec![authority(0)],
    });
    state.shown_for = Duration::ZERO;
    assert_eq!(step(&state, 2001), Step::Publish(both.clone()));
    state.bundles = vec![both.clone(), both];
    assert_eq!(step(&state, 2001), wait(10));
    state.shown_for = Duration::from_secs(9);
    assert_eq!(step(&state, 2010), wait(1));
    state.shown_for = Duration::from_secs(10);
    assert_eq!(step(&state, 2011), Step::Issue);
    state.serving = serving(2011, 2000);
    assert_eq!(step(&state, 2011), wait(101));
    assert_eq!(step(&state, 2112), Step::Record { older: vec![] });
    state.authorities.as_mut().unwrap().older.clear();
    assert_eq!(step(&state, 2112), Step::Publish(vec![authority(2000)]));
}

#[test]
fn a_machine_that_slept_catches_up() {
    let mut state = state(&[0]);
    state.serving = serving(1900, 0);
    for second in [2000, 2500, 2999] {
        let older = vec![authority(0)];
        assert_eq!(step(&state, second), Step::Add { older }, "{second}");
    }
    // Nobody accepts it any more, so there is no point in trusting it.
    assert_eq!(step(&state, 3000), Step::Add { older: vec![] });
}

#[test]
fn once_what_is_served_has_expired_there_is_nothing_to_wait_for() {
    let mut state = state(&[2000, 0]);
    (state.serving, state.shown_for) = (serving(1000, 0), Duration::ZERO);
    assert_eq!(step(&state, 1899), wait(10));
    assert_eq!(step(&state, 1900), Step::Issue);
}

#[test]
fn what_a_clock_that_was_ahead_made_is_replaced() {
    let mut one = state(&[0]);
    one.serving = serving(10_000, 0);
    assert_eq!(step(&one, 1), Step::Issue);
    let mut both = state(&[10_000]);
    both.serving = None;
    assert_eq!(step(&both, 1), Step::Add { older: vec![] });
}

#[test]
fn a_lost_serving_certificate_is_replaced_at_once_unless_servers_may_still_have_it() {
    let mut one = state(&[0]);
    (one.serving, one.shown_for) = (None, Duration::ZERO);
    assert_eq!(step(&one, 1), Step::Issue);
    let mut two = state(&[2000, 0]);
    (two.serving, two.shown_for) = (None, Duration::ZERO);
    assert_eq!(step(&two, 2001), wait(10));
}

#[test]
fn a_lost_record_leaves_everything_trusted_that_was() {
    let mut state = state(&[2000, 0]);
    state.authorities = None;
    let older = vec![authority(2000), authority(0)];
    assert_eq!(step(&state, 2001), Step::Add { older });
}

#[test]
fn a_record_that_was_put_back_does_not_end_the_trust_in_what_is_served() {
    let mut state = state(&[1000]);
    state.authorities.as_mut().unwrap().newest = authority(0);
    let older = vec![authority(1000)];
    assert_eq!(step(&state, 1001), Step::Record { older });
}

#[test]
fn a_bundle_that_somebody_else_changed_is_put_right() {
    let mut state = state(&[0]);
    state.bundles[1].clear();
    assert_eq!(step(&state, 1), Step::Publish(vec![authority(0)]));
    state.bundles[1] = vec![authority(0), authority(1000)];
    assert_eq!(step(&state, 1), Step::Publish(vec![authority(0)]));
}

#[test]
fn whatever_cert_manager_looks_after_is_left_alone() {
    let mut state = state(&[0]);
    state.is_cert_managers = true;
    (state.authorities, state.serving) = (None, None);
    assert_eq!(step(&state, 5000), Step::LeaveAlone);
}
