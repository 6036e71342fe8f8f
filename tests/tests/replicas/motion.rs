//! Tasks that are edited all the time, and whose children are deleted at random; and how they should be in the end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

/// How many Tasks there are.
pub const TASKS: usize = 200;

/// How long all may take to become as they should, once they are let.
const DEADLINE: Duration = Duration::from_secs(240);

/// How often a Task is edited.
const PAUSE: Duration = Duration::from_millis(150);

/// The Tasks `t0` and so on in the namespace `default`.
pub struct Tasks {
    client: Client,
    /// The port that each was given last.
    ports: Mutex<BTreeMap<usize, usize>>,
    edits: AtomicUsize,
    deletions: AtomicUsize,
    is_over: AtomicBool,
}

/// The Tasks that are created later. They are told from the others by their first letter.
const MORE: [&str; 3] = ["more-0", "more-1", "more-2"];

const TASK: &str = "/apis/task.example.io/v1/namespaces/default/tasks";
const CHILDREN: [(&str, &str); 3] = [
    ("/apis/apps/v1/namespaces/default/deployments", ""),
    ("/api/v1/namespaces/default/services", ""),
    ("/api/v1/namespaces/default/configmaps", "-config"),
];

impl Tasks {
    /// Creates them.
    pub async fn create(client: Client) -> Arc<Self> {
        let tasks = Self {
            client,
            ports: Mutex::default(),
            edits: AtomicUsize::new(0),
            deletions: AtomicUsize::new(0),
            is_over: AtomicBool::new(false),
        };
        for number in 0..TASKS {
            let task = task(&format!("t{number}"));
            tasks.send(Method::POST, TASK, &task).await.unwrap();
            tasks.ports.lock().unwrap().insert(number, 80);
        }
        Arc::new(tasks)
    }

    /// Creates a few more, which nobody edits.
    pub async fn create_more(&self) {
        for name in MORE {
            self.send(Method::POST, TASK, &task(name)).await.unwrap();
        }
    }

    /// Waits until those have been seen to.
    pub async fn until_more_have_succeeded(&self) {
        let deadline = Instant::now() + DEADLINE;
        for name in MORE {
            let is_done = |task: &Value| task["status"]["phase"] == "Succeeded";
            let path = format!("{TASK}/{name}");
            while !self
                .send(Method::GET, &path, &Value::Null)
                .await
                .is_ok_and(|task| is_done(&task))
            {
                assert!(Instant::now() < deadline, "nobody sees to {name}");
                sleep(PAUSE).await;
            }
        }
    }

    /// Edits Tasks, and now and then deletes a child, until the motion is stopped.
    pub fn set_in_motion(self: &Arc<Self>) -> Motion {
        self.is_over.store(false, Ordering::Relaxed);
        let tasks = Arc::clone(self);
        Motion(
            Arc::clone(self),
            tokio::spawn(async move { tasks.go_on().await }),
        )
    }

    async fn go_on(&self) {
        let mut random = 12345_usize;
        while !self.is_over.load(Ordering::Relaxed) {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let number = (random >> 33) % TASKS;
            let port = 1 + (random >> 20) % 60_000;
            let patch = json!({"spec": {"port": port}});
            // One that was not answered is made again, so that it is known how the Task should be.
            while self
                .send(Method::PATCH, &format!("{TASK}/t{number}"), &patch)
                .await
                .is_err()
            {
                sleep(PAUSE).await;
            }
            self.ports.lock().unwrap().insert(number, port);
            let edits = self.edits.fetch_add(1, Ordering::Relaxed);
            if edits.is_multiple_of(3) {
                let (folder, suffix) = CHILDREN[(random >> 40) % CHILDREN.len()];
                let other = (random >> 45) % TASKS;
                let child = format!("{folder}/t{other}{suffix}");
                let deleted = self.send(Method::DELETE, &child, &Value::Null).await;
                self.deletions
                    .fetch_add(usize::from(deleted.is_ok()), Ordering::Relaxed);
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until every Task has exactly its children, as it should, and says so; and tells how long that took.
    pub async fn until_settled(&self) -> Duration {
        let start = Instant::now();
        loop {
            let fault = match self.fault().await {
                Ok(None) => return start.elapsed(),
                Ok(Some(fault)) => fault,
                Err(error) => error.to_string(),
            };
            assert!(start.elapsed() < DEADLINE, "{fault}");
            sleep(Duration::from_millis(500)).await;
        }
    }

    /// What is not as it should be.
    async fn fault(&self) -> kube::Result<Option<String>> {
        let tasks = self.list(TASK).await?;
        let ports = self.ports.lock().unwrap().clone();
        let [deployments, services, config_maps] = [
            self.list(CHILDREN[0].0).await?,
            self.list(CHILDREN[1].0).await?,
            self.list(CHILDREN[2].0).await?,
        ];
        for (name, count) in [
            ("Deployments", deployments.len()),
            ("Services", services.len()),
            ("ConfigMaps", config_maps.len()),
        ] {
            if count != TASKS {
                return Ok(Some(format!("there are {count} {name}")));
            }
        }
        for (number, port) in ports {
            let name = format!("t{number}");
            let (Some(task), Some(deployment), Some(service), Some(config_map)) = (
                tasks.get(&name),
                deployments.get(&name),
                services.get(&name),
                config_maps.get(&format!("{name}-config")),
            ) else {
                return Ok(Some(format!("{name} is not whole")));
            };
            let status = &task["status"];
            let is_true = status["phase"] == "Succeeded"
                && status["observedGeneration"] == task["metadata"]["generation"]
                && task["spec"]["port"] == port;
            let container = &deployment["spec"]["template"]["spec"]["containers"][0];
            let config = config_map["data"]["app.conf"].as_str().unwrap_or_default();
            let is_so = service["spec"]["ports"][0]["port"] == port
                && container["ports"][0]["containerPort"] == port
                && config.contains(&format!("port: {port}\n"));
            let owned = [deployment, service, config_map].iter().all(|child| {
                child["metadata"]["ownerReferences"][0]["uid"] == task["metadata"]["uid"]
            });
            if !(is_true && is_so && owned) {
                return Ok(Some(format!(
                    "{name} is {task:#}\nand has {service:#}\n{deployment:#}\n{config_map:#}"
                )));
            }
        }
        Ok(None)
    }

    /// The objects in this folder by name, but for those of the cluster itself.
    async fn list(&self, folder: &str) -> kube::Result<BTreeMap<String, Value>> {
        let list = self.send(Method::GET, folder, &Value::Null).await?;
        let items = list["items"]
            .as_array()
            .cloned()
            .unwrap_or_default()
            .into_iter();
        let named = items.map(|item| {
            (
                item["metadata"]["name"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                item,
            )
        });
        Ok(named.filter(|(name, _)| name.starts_with('t')).collect())
    }

    async fn send(&self, method: Method, path: &str, body: &Value) -> kube::Result<Value> {
        let content_type = match method {
            Method::PATCH => "application/merge-patch+json",
            _ => "application/json",
        };
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .body(body);
        self.client
            .request(request.map_err(kube::Error::HttpError)?)
            .await
    }
}

/// A Task. It asks for no pods, which are not what this is about.
fn task(name: &str) -> Value {
    json!({
        "apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": name},
        "spec": {"image": "a:1", "replicas": 0, "port": 80},
    })
}

/// The Tasks in motion.
pub struct Motion(Arc<Tasks>, JoinHandle<()>);

impl Motion {
    /// Lets the Tasks come to rest, and tells how often one was edited, and how many children were deleted.
    pub async fn stop(self) -> (usize, usize) {
        self.0.is_over.store(true, Ordering::Relaxed);
        self.1.await.unwrap();
        (
            self.0.edits.load(Ordering::Relaxed),
            self.0.deletions.load(Ordering::Relaxed),
        )
    }
}
