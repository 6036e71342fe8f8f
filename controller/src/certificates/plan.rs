//! What to do next, decided from how things stand.
//!
//! The one rule: **a server's certificate is changed only once every API server trusts the new one, and an authority is trusted until no
//! server's certificate is from it.** All that is needed to keep to it is read anew each time, and each step is one that may be
//! repeated, so the process may end between any two.
//!
//! | how things stand | step |
//! |---|---|
//! | there is no authority, or the one that signs is due | add one, which does not sign yet |
//! | a server's certificate is from an authority that is trusted but not on record | put it on record |
//! | a webhook's `caBundle` is not exactly the authorities on record | publish them |
//! | the server's certificate is missing, due, or not from the newest authority | wait until API servers know that, then issue one |
//! | older authorities are on record, and servers have had the time to take up the new certificate | forget them |
//! | else | wait |

use std::time::Duration;

use jiff::Timestamp;

use super::certificate::Certificate;
use super::life::{Life, later};

/// How long things take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delays {
    /// Within this time after a change of a `caBundle` every API server goes by it.
    pub(super) trust: Duration,
    /// Within this time after a change of the server's certificate every server serves it.
    pub(super) serve: Duration,
}

/// How things stand.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct State {
    /// Whether cert-manager looks after any of it.
    pub(super) is_cert_managers: bool,
    /// The authorities on record; none when there is no record, or it cannot be read.
    pub(super) authorities: Option<Authorities>,
    /// The server's certificate on record; none when there is none that can be read.
    pub(super) serving: Option<Serving>,
    /// What each webhook's `caBundle` holds.
    pub(super) bundles: Vec<Vec<Certificate>>,
    /// For how long the newest authority has been seen in every bundle, without a break.
    pub(super) shown_for: Duration,
}

/// The authorities that are trusted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Authorities {
    /// The one that signs from now on.
    pub(super) newest: Certificate,
    /// Those that a server may still have its certificate from, newest first.
    pub(super) older: Vec<Certificate>,
}

impl Authorities {
    /// All of them, as a `caBundle` holds them.
    pub(super) fn all(&self) -> Vec<Certificate> {
        std::iter::once(&self.newest)
            .chain(&self.older)
            .cloned()
            .collect()
    }
}

/// A server's certificate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Serving {
    /// From when to when it is good.
    pub(super) life: Life,
    /// Those of the known authorities that signed it; two are of the same key and name.
    pub(super) issuers: Vec<Certificate>,
    /// Whether it is for the names that the server is reached by.
    pub(super) has_names: bool,
}

impl Serving {
    fn is_from(&self, authority: &Certificate) -> bool {
        self.issuers.contains(authority)
    }
}

/// What to do next.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    /// Nothing, as cert-manager does it.
    LeaveAlone,
    /// Make an authority, and put it on record before these.
    Add {
        /// Those that are trusted besides.
        older: Vec<Certificate>,
    },
    /// Put these on record beside the newest authority, instead of those that are.
    Record {
        /// Those that are trusted besides.
        older: Vec<Certificate>,
    },
    /// Put these into every bundle that does not hold exactly them.
    Publish(Vec<Certificate>),
    /// Issue the server a certificate from the newest authority.
    Issue,
    /// Nothing before this time has passed, unless something changes.
    Wait(Duration),
}

/// The next step.
pub(super) fn plan(state: &State, delays: Delays, now: Timestamp) -> Step {
    if state.is_cert_managers {
        return Step::LeaveAlone;
    }
    let is_good = |certificate: &Certificate| certificate.life().is_good(now);
    let Some(authorities) = &state.authorities else {
        // The record was lost, or somebody else cared for the certificates so far: what is trusted stays so for now.
        let mut older = Vec::new();
        append(&mut older, state.bundles.iter().flatten(), is_good);
        return Step::Add { older };
    };
    let newest = &authorities.newest;
    let serving = state.serving.as_ref();
    let signs = serving.is_some_and(|serving| serving.is_from(newest));
    if !is_good(newest) || signs && now >= newest.life().due() {
        let mut older = Vec::new();
        append(&mut older, &authorities.all(), is_good);
        return Step::Add { older };
    }
    // The record was put back to an older one: what is served must stay trusted.
    let issuers = serving.map_or(&[][..], |serving| &serving.issuers);
    let mut older = authorities.older.clone();
    append(&mut older, issuers, |issuer| {
        issuer != newest && is_good(issuer)
    });
    if older != authorities.older {
        return Step::Record { older };
    }
    let all = authorities.all();
    if state.bundles.iter().any(|bundle| *bundle != all) {
        return Step::Publish(all);
    }
    let is_current = serving.is_some_and(|serving| {
        signs && serving.has_names && now < serving.life.due() && serving.life.is_good(now)
    });
    if !is_current {
        let wait = delays.trust.saturating_sub(state.shown_for);
        return if wait.is_zero() || !breaks_a_call(authorities, serving, now) {
            Step::Issue
        } else {
            Step::Wait(wait)
        };
    }
    rest(authorities, serving, delays, now)
}

/// Whether a certificate from the newest authority could be refused where the one that is served now would not.
fn breaks_a_call(authorities: &Authorities, serving: Option<&Serving>, now: Timestamp) -> bool {
    match serving {
        Some(serving) => serving.life.is_good(now) && !serving.is_from(&authorities.newest),
        // Servers may still have one that is not on record any more, unless there never was an authority that it could be from.
        None => !authorities.older.is_empty(),
    }
}

/// What is left to do once the server's certificate is as it should be.
fn rest(
    authorities: &Authorities,
    serving: Option<&Serving>,
    delays: Delays,
    now: Timestamp,
) -> Step {
    let newest = authorities.newest.life();
    let mut next = newest.due();
    if let Some(Serving { life, .. }) = serving {
        next = next.min(life.due());
        if !authorities.older.is_empty() {
            // A certificate tells only the second in which it was made.
            let taken_up = later(life.made(), delays.serve + Duration::from_secs(1));
            if now >= taken_up {
                return Step::Record { older: Vec::new() };
            }
            next = next.min(taken_up);
        }
    }
    Step::Wait(Duration::try_from(next.duration_since(now)).unwrap_or_default())
}

fn append<'a>(
    list: &mut Vec<Certificate>,
    more: impl IntoIterator<Item = &'a Certificate>,
    is_wanted: impl Fn(&Certificate) -> bool,
) {
    for certificate in more {
        if is_wanted(certificate) && !list.contains(certificate) {
            list.push(certificate.clone());
        }
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod lives;
