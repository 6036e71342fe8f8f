//! What is said in the status.

use super::*;

#[tokio::test]
async fn a_status_that_cannot_be_written_fails_the_pass_but_not_the_children() {
    let task = task("web").build();
    let world = controller(Scenario::StatusFails, &task);
    let error = world.pass(&task).await.unwrap_err();
    assert!(matches!(error, Error::Tell(_)), "{error}");
    assert_eq!(world.requests(), CREATED);
}

#[tokio::test]
async fn a_status_that_cannot_be_written_is_tried_again_later_each_time_and_told_once() {
    for task in [task("web").build(), task("web").needs_operation().build()] {
        let mut world = controller(Scenario::StatusFails, &task);
        let watched = Watched(Ok(task.clone()));
        let mut waits = Vec::new();
        for round in 0..5 {
            let error = world.pass(&task).await.unwrap_err();
            waits.push(retry_after(&watched, &error, &world.context));
            let told = if round == 1 {
                &["ReconcileFailed"][..]
            } else {
                &[]
            };
            assert_eq!(world.events(), told, "{round}");
            world.context.retries.come_due();
        }
        assert!(waits.is_sorted(), "{waits:?}");
        assert!(waits[4] >= 16 * FIRST_WAIT_PASSING, "{waits:?}");
    }
}

#[tokio::test]
async fn what_may_pass_by_itself_is_told_once_it_has_happened_twice() {
    let task = task("web").build();
    let mut world = controller(Scenario::ServiceFails, &task);
    let requests = ["PATCH configmaps if absent", "PATCH services if absent"];
    world.pass(&task).await.unwrap_err();
    assert_eq!(world.requests(), requests);
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), [""; 0], "before the next try is due");
    assert_eq!(world.events(), [""; 0]);
    for told in [&["ReconcileFailed"][..], &[]] {
        world.context.retries.come_due();
        world.pass(&task).await.unwrap_err();
        assert_eq!(world.events(), told);
    }
    let told = &world.status().conditions.unwrap()[1];
    assert_eq!(
        (told.type_.as_str(), told.status.as_str()),
        ("Reconciling", "True")
    );
    assert_eq!(told.reason, "Retrying");
}

#[tokio::test]
async fn what_a_child_was_refused_for_is_not_hidden_by_a_status_that_cannot_be_written() {
    let task = task("web").build();
    let world = controller(Scenario::AllFails, &task);
    let error = world.pass(&task).await.unwrap_err();
    assert!(matches!(error, Error::Apply(_)), "{error}");
}

#[tokio::test]
async fn a_task_whose_operation_has_not_succeeded_gets_no_children() {
    let task = task("web").needs_operation().build();
    let world = controller(Scenario::Healthy, &task);
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), ["PATCH tasks if same"]);
}

#[tokio::test]
async fn of_a_workload_that_an_operation_holds_back_the_pods_are_counted() {
    let task = task("web").needs_operation().build();
    let mut world = controller(Scenario::Healthy, &task);
    let deployment = stored(build::children(&task).unwrap().deployment);
    world.context.caches.deployments = known(&rolled_out(deployment, 3, 3, 2));
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), ["PATCH tasks if same"]);
    let told = world.status();
    assert_eq!((told.replicas, told.available_replicas), (Some(3), Some(2)));
}
