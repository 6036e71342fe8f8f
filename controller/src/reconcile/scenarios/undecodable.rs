//! Tasks that cannot be decoded.

use super::*;

/// A Task that the schema admits and that cannot be decoded, and its text as the API server has it.
fn undecodable() -> (Task, Watched) {
    let mut task = task("web").needs_operation().build();
    let deep = (0..130).fold(json!(1), |inner, _| json!([inner]));
    task.spec.operation.as_mut().unwrap().parameters =
        Some([("a".to_owned(), deep)].into_iter().collect());
    let watched = serde_json::from_str(&json!(task).to_string()).unwrap();
    (task, watched)
}

#[tokio::test]
async fn a_task_that_cannot_be_decoded_is_told_so_once_and_its_children_are_left_alone() {
    let (task, watched) = undecodable();
    let mut world = controller(Scenario::Healthy, &task);
    world.context.caches.tasks = Cache::of([watched.clone()]);
    let outcome = reconcile(&ObjectRef::from_obj(&watched), &world.context)
        .await
        .unwrap();
    assert_eq!(outcome.action, Action::await_change());
    assert_eq!(world.requests(), ["PATCH tasks if same"]);
    let written = world
        .context
        .caches
        .tasks
        .get(&ObjectRef::from_obj(&watched));
    let Watched(Err(written)) = written.unwrap() else {
        panic!("decoded");
    };
    let status = written.status.clone().unwrap();
    let stalled = &status.conditions.unwrap()[2];
    assert_eq!(
        (stalled.type_.as_str(), stalled.status.as_str()),
        ("Stalled", "True")
    );
    assert!(
        stalled.message.contains("recursion limit exceeded"),
        "{}",
        stalled.message
    );
    reconcile(&ObjectRef::from_obj(&watched), &world.context)
        .await
        .unwrap();
    assert_eq!(world.requests(), [""; 0]);
}
