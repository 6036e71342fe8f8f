//! An API server that stores Tasks at v1alpha1 until it is told otherwise.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use control_plane::{ControlPlane, Options, crd};
use futures::{StreamExt, stream};
use http::{Method, Request};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, Client};
use local_operator::{Program, Webhook};
use serde_json::{Value, json};
use tokio::process::{Child, Command};
use tokio::runtime::Runtime;
use tokio::sync::{Mutex, MutexGuard};
use tokio::time::{Instant, sleep};

/// All Tasks are in this namespace.
pub const NAMESPACE: &str = "default";

const DEFINITION: &str = "tasks.task.example.io";
/// Long enough for ten thousand Tasks on two busy cores.
const DEADLINE: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(50);

pub static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// One API server for the tests that need no other; they take turns, since a storage version is everybody's.
static WORLD: LazyLock<Mutex<World>> = LazyLock::new(|| {
    Mutex::new(RUNTIME.block_on(World::start("migrate", Options::api_server_only())))
});

/// The API server and the webhook. Their processes end with this one.
pub struct World {
    pub control_plane: ControlPlane,
    pub client: Client,
    pub conversion: Program,
    webhook: Webhook,
    /// The folder of the certificate that all webhooks have.
    pub certificates: PathBuf,
}

impl World {
    /// That of all tests, with Tasks stored at v1alpha1, and none there.
    pub fn take() -> MutexGuard<'static, Self> {
        let world = WORLD.blocking_lock();
        RUNTIME.block_on(async {
            world.delete_all().await;
            world.store_at("v1alpha1").await;
        });
        world
    }

    /// Starts everything with its state in a folder of that name.
    pub async fn start(folder: &str, options: Options) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
        let _ = fs::remove_dir_all(&folder);
        let executables = local_operator::executables().unwrap();
        local_operator::build(&executables).await.unwrap();
        let certificates = folder.join("certificates");
        local_operator::issue_certificates(&certificates).unwrap();
        let options = Options {
            state_dir: Some(folder.join("control-plane")),
            ..options
        };
        let control_plane = ControlPlane::start(options).await.unwrap();
        let conversion = Program::conversion(&executables, &certificates, &folder).unwrap();
        let webhook = Webhook::of(conversion.listens(), &certificates).unwrap();
        let client = control_plane.client().unwrap();
        webhook.install(client.clone()).await.unwrap();
        Self {
            control_plane,
            client,
            conversion,
            webhook,
            certificates,
        }
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
            self.create("v1", "probe", &json!({})).await;
            let stored = self.stored().await["probe"].clone();
            self.delete("probe").await;
            stored == format!("task.example.io/{storage}")
        })
        .await;
    }

    /// Installs the definition, changed.
    pub async fn change_definition(&self, change: impl FnOnce(&mut CustomResourceDefinition)) {
        let mut definition = self.webhook.definition();
        change(&mut definition);
        crd::install(self.client.clone(), &definition)
            .await
            .unwrap();
    }

    /// The definition as it is.
    pub async fn definition(&self) -> CustomResourceDefinition {
        Api::all(self.client.clone()).get(DEFINITION).await.unwrap()
    }

    pub async fn stored_versions(&self) -> Vec<String> {
        self.definition()
            .await
            .status
            .unwrap()
            .stored_versions
            .unwrap()
    }

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
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("Content-Type", content_type)
            .body(body);
        self.client.request(request.unwrap()).await
    }

    /// The path of a place below the Tasks of a version, such as `/name/status`.
    pub fn path(version: &str, place: &str) -> String {
        format!("/apis/task.example.io/{version}/namespaces/{NAMESPACE}/tasks{place}")
    }

    pub async fn create(&self, version: &str, name: &str, spec: &Value) {
        let task = manifest(version, name, spec);
        let path = Self::path(version, "?fieldManager=creator");
        self.send(Method::POST, "application/json", &path, &task)
            .await
            .unwrap();
    }

    /// Creates so many Tasks at v1alpha1, each with something that v1 says otherwise.
    pub async fn create_many(&self, count: usize) {
        stream::iter(0..count)
            .for_each_concurrent(16, |number| async move {
                let spec = json!({
                    "replicas": number % 5, "provider": "p", "timeoutSeconds": 60 + number,
                    "env": [{"name": "B", "value": "2"}, {"name": "A", "value": number.to_string()}],
                });
                self.create("v1alpha1", &format!("task-{number:05}"), &spec).await;
            })
            .await;
    }

    /// Applies server-side.
    pub async fn apply(
        &self,
        version: &str,
        manager: &str,
        name: &str,
        spec: &Value,
    ) -> kube::Result<Value> {
        let path = Self::path(version, &format!("/{name}?fieldManager={manager}"));
        let task = manifest(version, name, spec);
        self.send(Method::PATCH, "application/apply-patch+yaml", &path, &task)
            .await
    }

    pub async fn delete(&self, name: &str) {
        let path = Self::path("v1", &format!("/{name}"));
        self.send(Method::DELETE, "application/json", &path, &Value::Null)
            .await
            .unwrap();
    }

    pub async fn delete_all(&self) {
        let path = Self::path("v1", "");
        self.send(Method::DELETE, "application/json", &path, &Value::Null)
            .await
            .unwrap();
    }

    /// The authority of all webhooks, as a `caBundle` has it.
    pub fn authority(&self) -> String {
        base64(self.webhook.authority_pem().as_bytes())
    }

    /// All Tasks at a version, by name.
    pub async fn tasks(&self, version: &str) -> BTreeMap<String, Value> {
        let path = Self::path(version, "");
        let list = self
            .send(Method::GET, "application/json", &path, &Value::Null)
            .await
            .unwrap();
        let items = list["items"].as_array().unwrap();
        items
            .iter()
            .map(|task| (name(task), task.clone()))
            .collect()
    }

    /// The apiVersion at which each Task is stored, by its name: what etcd has.
    pub async fn stored(&self) -> BTreeMap<String, String> {
        let body = json!({
            "key": base64(b"/registry/task.example.io/tasks/"),
            "range_end": base64(b"/registry/task.example.io/tasks0"),
        });
        let answer = task_tests::etcd_range(self.control_plane.etcd(), &body)
            .await
            .unwrap();
        let stored = answer["kvs"].as_array().cloned().unwrap_or_default();
        stored
            .iter()
            .map(|entry| {
                let task: Value =
                    serde_json::from_slice(&unbase64(entry["value"].as_str().unwrap())).unwrap();
                (name(&task), task["apiVersion"].as_str().unwrap().to_owned())
            })
            .collect()
    }

    /// How many Tasks are stored at a version.
    pub async fn stored_at(&self, version: &str) -> usize {
        let wanted = format!("task.example.io/{version}");
        self.stored()
            .await
            .values()
            .filter(|version| **version == wanted)
            .count()
    }

    /// Begins `kubectl task migrate`, which waits for a second only until a change is known.
    pub fn begin(&self, args: &[&str]) -> Child {
        self.spawn(&[&["migrate", "--settle=1s", "--patience=2s"], args].concat())
    }

    fn spawn(&self, args: &[&str]) -> Child {
        Command::new(env!("CARGO_BIN_EXE_kubectl-task"))
            .args(args)
            .env("KUBECONFIG", self.control_plane.kubeconfig())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap()
    }

    /// Runs `kubectl task`.
    pub async fn run(&self, args: &[&str]) -> Ended {
        self.spawn(args).wait_with_output().await.unwrap().into()
    }

    /// Runs `kubectl task migrate` to its end.
    pub async fn migrate(&self, args: &[&str]) -> Ended {
        self.begin(args).wait_with_output().await.unwrap().into()
    }

    pub async fn until(&self, what: &str, mut holds: impl AsyncFnMut() -> bool) {
        let deadline = Instant::now() + DEADLINE;
        while !holds().await {
            assert!(Instant::now() < deadline, "not in time: {what}");
            sleep(POLL).await;
        }
    }
}

/// How the program ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

pub fn manifest(version: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": format!("task.example.io/{version}"),
        "kind": "Task",
        "metadata": {"name": name},
        "spec": spec,
    })
}

fn name(task: &Value) -> String {
    task["metadata"]["name"].as_str().unwrap().to_owned()
}

fn base64(bytes: &[u8]) -> String {
    serde_json::to_value(k8s_openapi::ByteString(bytes.to_vec()))
        .unwrap()
        .as_str()
        .unwrap()
        .to_owned()
}

fn unbase64(text: &str) -> Vec<u8> {
    serde_json::from_value::<k8s_openapi::ByteString>(text.into())
        .unwrap()
        .0
}
