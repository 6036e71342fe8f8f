//! An API server that forgets soon what was.

use control_plane::Options;
use http::Method;
use serde_json::Value;

use crate::world::{RUNTIME, World};

/// How often the API server has told somebody who listed Tasks that his token is too old.
async fn times_expired(world: &World) -> u64 {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = world.client.request_text(request).await.unwrap();
    let of_tasks = |line: &&str| {
        line.starts_with("apiserver_request_total{")
            && line.contains(r#"code="410""#)
            && line.contains(r#"resource="tasks""#)
    };
    metrics
        .lines()
        .filter(of_tasks)
        .map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap())
        .sum()
}

/// Waits until a token that is given now is too old.
async fn until_tokens_expire(world: &World) {
    let page = |token: &str| {
        let path = World::path("v1", &format!("?limit=1&continue={token}"));
        async move {
            world
                .send(Method::GET, "application/json", &path, &Value::Null)
                .await
        }
    };
    let first = page("").await.unwrap();
    let token = first["metadata"]["continue"].as_str().unwrap();
    world
        .until("the token is too old", async || page(token).await.is_err())
        .await;
}

#[test]
fn a_list_that_takes_longer_than_its_token_lasts_is_gone_on_with_and_not_begun_again() {
    RUNTIME.block_on(async {
        let options = Options {
            api_server_args: vec!["--etcd-compaction-interval=1s".to_owned()],
            ..Options::api_server_only()
        };
        let world = World::start("migrate-expired", options).await;
        world.store_at("v1alpha1").await;
        world.create_many(40).await;
        world.store_at("v1").await;
        until_tokens_expire(&world).await;
        let before = times_expired(&world).await;

        // Five seconds for each page.
        let ended = world
            .migrate(&["--yes", "--qps=2", "--page-size=10", "--concurrency=1"])
            .await;

        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("40 rewritten"), "{ended:?}");
        assert!(!ended.stdout.contains("needed nothing"), "{ended:?}");
        assert!(times_expired(&world).await > before, "no token was too old");
        assert_eq!(world.stored_at("v1").await, 40);
        assert_eq!(world.stored_versions().await, ["v1"]);
    });
}
