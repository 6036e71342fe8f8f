//! The operator at work, kubectl's plugin, and a look at what is stored.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use control_plane::crd;
use futures::{StreamExt, stream};
use http::{Method, Request};
use k8s_openapi::ByteString;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};
use task_tests::Operator;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep};

/// The Tasks that are compared are in this namespace, and nobody but the operator writes them.
pub const NAMESPACE: &str = "still";

/// What anything here may take with 2,000 Tasks on two busy cores.
const DEADLINE: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(200);

pub const JSON: &str = "application/json";
pub const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

pub struct World {
    pub operator: Operator,
    pub client: Client,
    plugin: PathBuf,
}

/// How the plugin ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    pub async fn start(folder: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let operator = Operator::start(&folder).await.unwrap();
        let executables = local_operator::executables().unwrap();
        let plugin = local_operator::build_plugin(&executables).await.unwrap();
        // A client that tries nothing twice.
        let kubeconfig = Kubeconfig::read_from(operator.control_plane().kubeconfig()).unwrap();
        let config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
        let mut config = config.unwrap();
        config.default_retry = false;
        let client = Client::try_from(config).unwrap();
        let world = Self {
            operator,
            client,
            plugin,
        };
        world.create_namespace(NAMESPACE).await;
        world
    }

    pub async fn create_namespace(&self, name: &str) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.send(Method::POST, JSON, "/api/v1/namespaces", &namespace)
            .await
            .unwrap();
    }

    /// Sends a request, again only where the API server itself asks for that (429 with a time to wait), as it does for the moment in
    /// which it takes over a changed definition. Every client does so.
    pub async fn send(
        &self,
        method: Method,
        content_type: &str,
        path: &str,
        body: &Value,
    ) -> kube::Result<Value> {
        let body = match body {
            Value::Null => Vec::new(),
            body => body.to_string().into_bytes(),
        };
        loop {
            let request = Request::builder()
                .method(&method)
                .uri(path)
                .header("Content-Type", content_type)
                .body(body.clone());
            match self.client.request(request.unwrap()).await {
                Err(error) if asks_to_wait(&error) => sleep(Duration::from_secs(1)).await,
                answer => return answer,
            }
        }
    }

    pub async fn get(&self, path: &str) -> kube::Result<Value> {
        self.send(Method::GET, JSON, path, &Value::Null).await
    }

    pub async fn apply(
        &self,
        version: &str,
        manager: &str,
        name: &str,
        spec: &Value,
    ) -> kube::Result<Value> {
        let path = tasks_path(
            version,
            NAMESPACE,
            &format!("/{name}?fieldManager={manager}"),
        );
        self.send(Method::PATCH, APPLY, &path, &manifest(version, name, spec))
            .await
    }

    /// Creates so many Tasks at v1alpha1, each with something that v1 says otherwise, most of them by a server-side apply. A few have
    /// a pod.
    pub async fn create(&self, count: usize) {
        stream::iter(0..count)
            .for_each_concurrent(16, |number| async move {
                let name = format!("task-{number:05}");
                let replicas = usize::from(number % 20 == 0);
                let spec = json!({
                    "image": "nginx:alpine",
                    "env": [{"name": "B", "value": number.to_string()}, {"name": "A", "value": "$(B)"}],
                });
                if number % 3 == 0 {
                    self.apply("v1alpha1", "scaler", &name, &json!({"replicas": replicas})).await.unwrap();
                    self.apply("v1alpha1", "gitops", &name, &spec).await.unwrap();
                } else {
                    let mut spec = spec;
                    spec["replicas"] = json!(replicas);
                    let task = manifest("v1alpha1", &name, &spec);
                    let path = tasks_path("v1alpha1", NAMESPACE, "?fieldManager=kubectl-create");
                    self.send(Method::POST, JSON, &path, &task).await.unwrap();
                }
            })
            .await;
    }

    /// Installs the definition with this storage version, and waits until the API server acts on it.
    pub async fn store_at(&self, storage: &str) {
        self.change_definition(|definition| {
            for version in &mut definition.spec.versions {
                version.storage = version.name == storage;
            }
        })
        .await;
        self.until(&format!("Tasks are stored at {storage}"), async || {
            let path = tasks_path("v1", "default", "");
            self.send(
                Method::POST,
                JSON,
                &path,
                &manifest("v1", "probe", &json!({"replicas": 0})),
            )
            .await
            .unwrap();
            let stored = self.stored("default").await;
            self.send(Method::DELETE, JSON, &format!("{path}/probe"), &Value::Null)
                .await
                .unwrap();
            self.until("the probe is gone", async || {
                self.get(&format!("{path}/probe")).await.is_err()
            })
            .await;
            stored.contains(&("probe".to_owned(), format!("task.example.io/{storage}")))
        })
        .await;
    }

    pub async fn change_definition(&self, change: impl FnOnce(&mut CustomResourceDefinition)) {
        let mut definition = self.operator.webhook().definition();
        change(&mut definition);
        crd::install(self.client.clone(), &definition)
            .await
            .unwrap();
    }

    pub async fn stored_versions(&self) -> Vec<String> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let definition = api.get("tasks.task.example.io").await.unwrap();
        definition.status.unwrap().stored_versions.unwrap()
    }

    /// The names of the Tasks of a namespace, and the apiVersion at which etcd has each.
    async fn stored(&self, namespace: &str) -> Vec<(String, String)> {
        let base64 = |text: String| serde_json::to_value(ByteString(text.into_bytes())).unwrap();
        let prefix = format!("/registry/task.example.io/tasks/{namespace}");
        let body =
            json!({"key": base64(format!("{prefix}/")), "range_end": base64(format!("{prefix}0"))});
        let etcd = self.operator.control_plane().etcd();
        let answer = task_tests::etcd_range(etcd, &body).await.unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        answer["kvs"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|entry| {
                let value: ByteString = serde_json::from_value(entry["value"].clone()).unwrap();
                let task: Value = serde_json::from_slice(&value.0).unwrap();
                (text(&task["metadata"]["name"]), text(&task["apiVersion"]))
            })
            .collect()
    }

    /// How many of the Tasks that are compared are stored at a version.
    pub async fn stored_at(&self, version: &str) -> usize {
        let wanted = format!("task.example.io/{version}");
        let stored = self.stored(NAMESPACE).await;
        stored
            .iter()
            .filter(|(_, version)| *version == wanted)
            .count()
    }

    /// Begins `kubectl task`.
    pub fn begin(&self, args: &[&str]) -> Child {
        Command::new(&self.plugin)
            .args(args)
            .env("KUBECONFIG", self.operator.control_plane().kubeconfig())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }

    /// Runs `kubectl task` to its end.
    pub async fn plugin(&self, args: &[&str]) -> Ended {
        let output = self.begin(args).wait_with_output().await.unwrap();
        let ended = Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        };
        println!("kubectl task {args:?}\n{}{}", ended.stdout, ended.stderr);
        ended
    }

    pub async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !holds().await {
            assert!(
                Instant::now() < deadline,
                "not in time: {what}\n{}",
                self.operator.log_tails()
            );
            sleep(POLL).await;
        }
    }
}

/// Whether the API server has taken nothing of the request and says when to come again.
pub fn asks_to_wait(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => {
            let details = status.details.as_ref();
            status.code == 429 && details.is_some_and(|details| details.retry_after_seconds > 0)
        }
        _ => false,
    }
}

/// The path of a place below the Tasks of a namespace, such as `/name/status`.
pub fn tasks_path(version: &str, namespace: &str, place: &str) -> String {
    format!("/apis/task.example.io/{version}/namespaces/{namespace}/tasks{place}")
}

pub fn manifest(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("task.example.io/{version}"),
        "kind": "Task",
        "metadata": {"name": name},
        "spec": spec,
    })
}
