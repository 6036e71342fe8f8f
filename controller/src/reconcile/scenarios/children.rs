//! What happens to the children.

use super::*;

#[tokio::test]
async fn a_new_task_costs_three_creations_and_a_status() {
    let task = task("web").build();
    let world = controller(Scenario::Healthy, &task);
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), CREATED);
}

#[tokio::test]
async fn a_second_pass_before_the_watch_tells_of_the_first_asks_for_nothing() {
    let task = task("web").build();
    let world = controller(Scenario::Healthy, &task);
    world.pass(&task).await.unwrap();
    world.requests();
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), [""; 0]);
}

#[tokio::test]
async fn a_task_at_rest_costs_nothing() {
    let task = task("web").build();
    let mut world = controller(Scenario::Healthy, &task);
    let children = build::children(&task).unwrap();
    world.context.caches.config_maps = known(&stored(children.config_map));
    world.context.caches.services = known(&stored(children.service));
    world.context.caches.deployments = known(&rolled_out(stored(children.deployment), 1, 1, 1));
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), ["PATCH tasks if same"]);
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), [""; 0]);
}

#[tokio::test]
async fn a_foreign_object_that_no_watch_told_of_is_not_touched() {
    let task = task("web").build();
    let world = controller(Scenario::ServiceIsThere(Whose::Foreign), &task);
    let error = world.pass(&task).await.unwrap_err();
    assert!(
        matches!(error, Error::Apply(apply::Error::Conflict { .. })),
        "{error}"
    );
    let expected = [
        "PATCH configmaps if absent",
        "PATCH services if absent",
        "GET services",
        "PATCH tasks if same",
    ];
    assert_eq!(world.requests(), expected);
}

#[tokio::test]
async fn a_child_that_no_watch_told_of_is_put_right() {
    let task = task("web").build();
    let world = controller(Scenario::ServiceIsThere(Whose::Ours), &task);
    world.pass(&task).await.unwrap();
    assert_eq!(
        world.requests()[1..4],
        [
            "PATCH services if absent",
            "GET services",
            "PATCH services if same"
        ]
    );
}

#[tokio::test]
async fn a_refused_child_is_not_asked_for_again_by_the_next_event() {
    let task = task("web").build();
    let world = controller(Scenario::ServiceIsRefused, &task);
    world.pass(&task).await.unwrap_err();
    assert_eq!(
        world.requests().last().map(String::as_str),
        Some("PATCH tasks if same")
    );
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), [""; 0]);
}

#[tokio::test]
async fn a_child_that_others_keep_changing_is_left_for_a_while() {
    let task = task("web").build();
    let world = controller(Scenario::ServiceIsContended, &task);
    let error = world.pass(&task).await.unwrap_err();
    assert!(
        matches!(error, Error::Apply(apply::Error::Contended(_))),
        "{error}"
    );
    let writes = world
        .requests()
        .iter()
        .filter(|request| request.starts_with("PATCH services"))
        .count();
    assert_eq!(writes, 4);
}

#[tokio::test]
async fn a_refusal_that_others_are_not_to_blame_for_is_told_after_a_look() {
    let task = task("web").build();
    let mut world = controller(Scenario::ServiceIsInvalid, &task);
    let children = build::children(&task).unwrap();
    world.context.caches.config_maps = known(&stored(children.config_map));
    world.context.caches.services = known(&Service {
        spec: None,
        ..stored(children.service)
    });
    let error = world.pass(&task).await.unwrap_err();
    assert!(
        matches!(error, Error::Apply(apply::Error::Request { .. })),
        "{error}"
    );
    assert_eq!(
        world.requests(),
        [
            "PATCH services if same",
            "GET services",
            "PATCH tasks if same"
        ]
    );
}

#[tokio::test]
async fn what_a_webhook_makes_of_a_child_is_not_put_right_again_by_each_event() {
    let task = task("web").build();
    let world = controller(Scenario::ImageIsReplaced, &task);
    world.pass(&task).await.unwrap();
    assert_eq!(world.requests(), CREATED);
    for round in 0..3 {
        world.pass(&task).await.unwrap();
        assert_eq!(world.requests()[0], "PATCH deployments if same", "{round}");
        for _ in 0..3 {
            world.pass(&task).await.unwrap();
        }
        let requests = world.requests();
        assert!(
            requests
                .iter()
                .all(|request| request == "PATCH tasks if same")
                && requests.len() <= 1,
            "{requests:?}"
        );
        world.context.retries.come_due();
    }
    let told = world.status().conditions.unwrap();
    assert!(
        told[0].message.ends_with(
            "others keep changing .spec.template.spec.containers[0].image of Deployment web"
        ),
        "{}",
        told[0].message
    );
}
