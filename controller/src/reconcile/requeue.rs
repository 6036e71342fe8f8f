//! When to look at a Task again if nothing is heard of it. Pure.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use task_api_v1::TaskPhase;

/// The wait for a Task that is what it should be.
pub const AT_REST: Duration = Duration::from_secs(60);

/// How soon a Task that failed is looked at again.
const FAILED_FIRST: Duration = Duration::from_secs(5);

/// How long it takes at the most until a Task that failed is looked at again.
const FAILED_LAST: Duration = Duration::from_secs(300);

/// The wait for a Task in this phase, where it has failed for so long.
///
/// Watches are what drives a Task; this is the net below, and costs no request where there is nothing to do. A Task that failed is
/// looked at after 5 s, and then each time after as long as it has failed for, so that each wait is twice the last, up to 5 minutes.
pub fn look_again_after(phase: TaskPhase, failed_for: Duration) -> Duration {
    match phase {
        TaskPhase::Pending => Duration::from_secs(10),
        TaskPhase::Running => Duration::from_secs(30),
        TaskPhase::Succeeded => AT_REST,
        TaskPhase::Failed => failed_for.clamp(FAILED_FIRST, FAILED_LAST),
    }
}

/// A wait of at least [`AT_REST`], lengthened so that it ends with a second of the clock, which says `now`; a shorter one as it is.
///
/// So Tasks at rest are looked at together: to wake up for each costs more than to look at it.
pub fn together(wait: Duration, now: SystemTime) -> Duration {
    if wait < AT_REST {
        return wait;
    }
    // Before 1970 there is nothing to go by.
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let into_second = Duration::from_nanos(now.subsec_nanos().into());
    wait.saturating_add(Duration::from_secs(1).saturating_sub(into_second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_is_that_of_the_phase() {
        for (phase, seconds) in [
            (TaskPhase::Pending, 10),
            (TaskPhase::Running, 30),
            (TaskPhase::Succeeded, 60),
            (TaskPhase::Failed, 5),
        ] {
            let wait = look_again_after(phase, Duration::ZERO);
            assert_eq!(wait.as_secs(), seconds, "{phase:?}");
        }
    }

    #[test]
    fn a_task_that_failed_is_looked_at_half_as_often_each_time() {
        let mut failed_for = Duration::ZERO;
        let waits: Vec<_> = (0..9)
            .map(|_| {
                let wait = look_again_after(TaskPhase::Failed, failed_for);
                failed_for += wait;
                wait.as_secs()
            })
            .collect();
        assert_eq!(waits, [5, 5, 10, 20, 40, 80, 160, 300, 300]);
    }

    #[test]
    fn tasks_at_rest_are_looked_at_together_and_others_when_they_are_due() {
        let wait_at = |wait, millis| together(wait, UNIX_EPOCH + Duration::from_millis(millis));
        for millis in [5_000, 5_001, 5_999] {
            let due = Duration::from_millis(millis) + wait_at(AT_REST, millis);
            assert_eq!(due, Duration::from_secs(66), "{millis}");
        }
        let soon = Duration::from_secs(10);
        assert_eq!(wait_at(soon, 5_500), soon);
    }
}
