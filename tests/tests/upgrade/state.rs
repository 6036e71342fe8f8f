//! All that must be the same afterwards.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::world::{NAMESPACE, World, tasks_path};

type Objects = BTreeMap<String, Value>;

/// The Tasks at both versions, but for who wrote them when, and their Deployments, whole.
pub struct State {
    new: Objects,
    old: Objects,
    deployments: Objects,
}

impl State {
    /// Waits until the operator and everybody else are done with them.
    pub async fn at_rest(world: &World, count: usize) -> Self {
        world
            .until("all Tasks are done", async || {
                let tasks = list(world, &tasks_path("v1", NAMESPACE, "")).await;
                tasks.len() == count
                    && tasks
                        .values()
                        .all(|task| task["status"]["phase"] == "Succeeded")
            })
            .await;
        Self::read(world).await
    }

    pub async fn read(world: &World) -> Self {
        Self {
            old: list(world, &tasks_path("v1alpha1", NAMESPACE, "")).await,
            ..Self::read_new(world).await
        }
    }

    /// Without v1alpha1.
    pub async fn read_new(world: &World) -> Self {
        let mut deployments = Objects::new();
        let path = format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments");
        let found = world.get(&path).await.unwrap();
        for deployment in found["items"].as_array().unwrap() {
            deployments.insert(name(deployment), deployment.clone());
        }
        Self {
            new: list(world, &tasks_path("v1", NAMESPACE, "")).await,
            old: Objects::new(),
            deployments,
        }
    }

    /// Nothing may have changed since: no field, no generation, and of the Deployments not even the resourceVersion.
    pub fn compare(&self, later: &Self) {
        compare(&self.old, &later.old);
        self.compare_new(later);
    }

    pub fn compare_new(&self, later: &Self) {
        compare(&self.new, &later.new);
        compare(&self.deployments, &later.deployments);
    }
}

async fn list(world: &World, path: &str) -> Objects {
    let list = world.get(path).await.unwrap();
    let items = list["items"].as_array().unwrap().iter();
    items
        .map(|task| {
            let mut task = task.clone();
            let metadata = task["metadata"].as_object_mut().unwrap();
            metadata.remove("resourceVersion");
            metadata.remove("managedFields");
            (name(&task), task)
        })
        .collect()
}

fn name(object: &Value) -> String {
    object["metadata"]["name"].as_str().unwrap().to_owned()
}

fn compare(before: &Objects, after: &Objects) {
    assert_eq!(before.len(), after.len());
    for (name, before) in before {
        assert_eq!(before, &after[name], "{name}");
    }
}
