//! Many Tasks, created at once, and whether they have converged.

use std::time::Duration;

use futures::{StreamExt, stream};
use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, Service},
};
use kube::{
    Api, Client, Resource,
    api::{ApiResource, DynamicObject, GroupVersionKind, ListParams, PostParams},
};
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::time::sleep;

/// How many creations are under way at the same time.
const AT_ONCE: usize = 32;

pub struct Tasks {
    client: Client,
    api: Api<DynamicObject>,
}

impl Tasks {
    pub fn new(client: Client) -> Self {
        let kind = GroupVersionKind::gvk("task.example.io", "v1", "Task");
        let resource = ApiResource::from_gvk_with_plural(&kind, "tasks");
        Self {
            api: Api::default_namespaced_with(client.clone(), &resource),
            client,
        }
    }

    pub async fn create(&self, count: usize) {
        let create = |index: usize| async move {
            let task = serde_json::from_value(json!({
                "apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": format!("task-{index}")},
                "spec": {"replicas": 1, "image": "nginx:alpine", "port": 8080, "env": {"ENV": "prod", "URL": "http://$(HOST)/", "HOST": "example.com"}},
            }));
            let task: DynamicObject = task.unwrap();
            self.api
                .create(&PostParams::default(), &task)
                .await
                .unwrap();
        };
        stream::iter(0..count)
            .for_each_concurrent(AT_ONCE, create)
            .await;
    }

    /// Waits until each is `Succeeded`, or without workloads `Pending` and has its children.
    pub async fn until_converged(&self, count: usize, workloads: bool) {
        let phase = if workloads { "Succeeded" } else { "Pending" };
        loop {
            sleep(Duration::from_millis(500)).await;
            let any = ListParams::default().match_any();
            let tasks = self.api.list(&any).await.unwrap().items;
            let in_phase = tasks
                .iter()
                .filter(|task| task.data["status"]["phase"] == phase)
                .count();
            if in_phase < count {
                continue;
            }
            if self.number_of::<ConfigMap>().await >= count
                && self.number_of::<Service>().await >= count
                && self.number_of::<Deployment>().await >= count
            {
                return;
            }
        }
    }

    async fn number_of<K>(&self) -> usize
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let api = Api::<K>::default_namespaced(self.client.clone());
        let any = ListParams::default().match_any();
        api.list(&any).await.unwrap().items.len()
    }
}
