//! The beginning and the end of a Task.

use task_api_v1::names::FINALIZER;

use super::*;

const THEIRS: &str = "example.com/theirs";

/// The finalizers of the Task `web`, as far as the controller knows.
fn finalizers(world: &World) -> Vec<String> {
    let key = ObjectRef::new("web").within("default");
    let task = world.context.caches.tasks.get(&key).unwrap();
    task.meta().finalizers.clone().unwrap_or_default()
}

#[tokio::test]
async fn a_task_is_held_before_anything_is_done_for_it() {
    let task = task("web").unheld().build();
    let mut world = controller(Scenario::Healthy, &task);
    world.pass(&task).await.unwrap();
    let requests = world.requests();
    assert_eq!(requests[0], "PATCH tasks by JSON patch");
    assert_eq!(requests[1..], CREATED);
    assert_eq!(world.events(), ["FinalizerAdded"]);
    assert_eq!(finalizers(&world), [FINALIZER]);
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), [""; 0]);
}

#[tokio::test]
async fn the_finalizer_of_somebody_else_that_no_watch_told_of_is_kept() {
    let task = task("web").unheld().build();
    let world = controller(Scenario::TaskIsChanged, &task);
    world.pass(&task).await.unwrap();
    assert_eq!(
        world.requests()[..3],
        [
            "PATCH tasks by JSON patch",
            "GET tasks",
            "PATCH tasks by JSON patch"
        ]
    );
    assert_eq!(finalizers(&world), [THEIRS, FINALIZER]);
}

#[tokio::test]
async fn a_later_task_of_the_same_name_is_not_taken_for_the_one_before() {
    let unheld = task("web").unheld().build();
    for task in [unheld, task("web").deleted(&[FINALIZER]).build()] {
        let mut world = controller(Scenario::TaskIsReplaced, &task);
        assert_eq!(world.pass(&task).await.unwrap(), Outcome::NOTHING);
        assert_eq!(world.requests(), ["PATCH tasks by JSON patch", "GET tasks"]);
        assert_eq!(world.events(), [""; 0]);
    }
    let held = task("web").build();
    let world = controller(Scenario::TaskIsReplaced, &held);
    assert_eq!(world.pass(&held).await.unwrap(), Outcome::NOTHING);
    assert_eq!(world.requests()[3..], ["PATCH tasks if same", "GET tasks"]);
}

#[tokio::test]
async fn for_a_task_that_cannot_be_held_nothing_is_done_and_its_status_says_so_once() {
    let task = task("web").unheld().build();
    let mut world = controller(Scenario::FinalizerIsRefused, &task);
    let error = world.pass(&task).await.unwrap_err();
    assert!(matches!(error, Error::Hold(_)), "{error}");
    assert_eq!(
        world.requests(),
        ["PATCH tasks by JSON patch", "PATCH tasks if same"]
    );
    assert_eq!(world.events(), ["ReconcileFailed"]);
    for _ in 0..2 {
        world.pass(&task).await.unwrap();
        assert_eq!(world.requests(), [""; 0]);
        world.context.retries.come_due();
        world.pass(&task).await.unwrap_err();
        assert_eq!(world.requests(), ["PATCH tasks by JSON patch"]);
    }
    assert_eq!(world.events(), [""; 0]);
}

#[tokio::test]
async fn a_task_that_is_deleted_is_let_go() {
    let task = task("web").deleted(&[FINALIZER]).build();
    let mut world = controller(Scenario::Healthy, &task);
    for requests in [&["PATCH tasks by JSON patch"][..], &[]] {
        assert_eq!(world.pass(&task).await.unwrap(), Outcome::NOTHING);
        assert_eq!(world.requests(), requests);
    }
    assert_eq!(world.events(), ["Deleted"]);
}

#[tokio::test]
async fn a_task_that_others_still_keep_is_let_go_and_its_status_says_so_once() {
    let task = task("web").deleted(&[THEIRS, FINALIZER]).build();
    let mut world = controller(Scenario::Healthy, &task);
    let expected = ["PATCH tasks by JSON patch", "PATCH tasks if same"];
    for requests in [&expected[..], &[]] {
        let outcome = world.pass(&task).await.unwrap();
        assert_eq!(outcome.action, Action::await_change());
        assert_eq!(world.requests(), requests);
    }
    assert_eq!(world.events(), ["Deleted"]);
    let told = &world.status().conditions.unwrap()[0];
    let told = (told.status.as_str(), told.reason.as_str());
    assert_eq!(told, ("False", "Deleting"));
}

#[tokio::test]
async fn a_clean_up_that_fails_is_told_once_and_repeated_later_each_time() {
    let task = task("web").deleted(&[FINALIZER]).build();
    let mut world = controller(Scenario::FinalizerIsRefused, &task);
    let watched = Watched(Ok(task.clone()));
    let mut waits = Vec::new();
    for round in 0..5 {
        let error = world.pass(&task).await.unwrap_err();
        assert!(matches!(error, Error::CleanUp(_)), "{error}");
        let told = if round == 0 {
            &["CleanupFailed"][..]
        } else {
            &[]
        };
        assert_eq!(world.events(), told);
        waits.push(retry_after(&watched, &error, &world.context));
        world.requests();
        world.pass(&task).await.unwrap();
        assert_eq!(world.requests(), [""; 0], "before the next try is due");
        world.context.retries.come_due();
    }
    assert!(waits.is_sorted(), "{waits:?}");
    assert!(waits[4] >= 16 * FIRST_WAIT_PASSING, "{waits:?}");
}

#[tokio::test]
async fn a_task_that_is_gone_before_it_is_let_go_is_no_failure() {
    let task = task("web").deleted(&[FINALIZER]).build();
    let world = controller(Scenario::TaskIsGone, &task);
    assert_eq!(world.pass(&task).await.unwrap(), Outcome::NOTHING);
}
