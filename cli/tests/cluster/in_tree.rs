//! By the cluster's own controller.

use control_plane::Options;

use crate::world::{RUNTIME, World};

#[test]
fn the_clusters_own_controller_does_it_where_it_is_there() {
    RUNTIME.block_on(async {
        let gate = "--feature-gates=StorageVersionMigrator=true".to_owned();
        let api = "--runtime-config=storagemigration.k8s.io/v1beta1=true".to_owned();
        let options = Options {
            api_server_args: vec![gate.clone(), api],
            controller_manager_args: vec![gate],
            ..Options::default()
        };
        let world = World::start("migrate-in-tree", options).await;
        world.store_at("v1alpha1").await;
        world.create_many(40).await;
        world.store_at("v1").await;
        let before = world.tasks("v1alpha1").await;

        let ended = world.migrate(&["--yes"]).await;

        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(
            ended.stdout.contains("the cluster's own controller"),
            "{ended:?}"
        );
        assert_eq!(world.stored_at("v1").await, 40);
        assert_eq!(world.stored_versions().await, ["v1"]);
        for (name, task) in world.tasks("v1alpha1").await {
            assert_eq!(task["spec"], before[&name]["spec"]);
            assert_eq!(
                task["metadata"]["generation"],
                before[&name]["metadata"]["generation"]
            );
            for entry in task["metadata"]["managedFields"].as_array().unwrap() {
                assert_eq!(entry["apiVersion"], "task.example.io/v1", "{entry}");
            }
        }
    });
}

#[test]
fn where_it_is_asked_for_and_not_there_that_is_an_error() {
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(2).await;
        world.store_at("v1").await;
        let ended = world.migrate(&["--yes", "--engine=in-tree"]).await;
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.stderr.contains("--engine own"), "{ended:?}");
        assert_eq!(world.stored_at("v1").await, 0);
    });
}
