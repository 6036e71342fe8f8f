//! The operator, and the provider that it has operations carried out by.

use std::{
    fs,
    path::{Path, PathBuf},
};

use provider_simulator::Simulator;
use serde_json::{Value, json};
use task_tests::{Kubectl, Operator};
use tokio::sync::OnceCell;

/// The operator and the provider of all tests of this file; each test works in a namespace of its own.
pub struct World {
    pub operator: Operator,
    pub simulator: Simulator,
    providers: PathBuf,
    // The simulator lives on it, whatever becomes of the test that started it.
    _runtime: tokio::runtime::Runtime,
}

/// The names by which the one provider goes, each with other rules.
#[derive(Clone, Copy, Debug)]
pub enum Provider {
    /// It can be asked about operations that it may have accepted.
    Steady,
    /// It cannot: what is not known is asked for again with the same key.
    Replaying,
    /// It cannot, and it forgets keys at once.
    Forgetful,
    /// It waits for the end of an operation whose Task is deleted.
    Waiting,
    /// It leaves the operation of a Task that is deleted alone.
    Orphaning,
}

impl Provider {
    const ALL: [Self; 5] = [
        Self::Steady,
        Self::Replaying,
        Self::Forgetful,
        Self::Waiting,
        Self::Orphaning,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Replaying => "replaying",
            Self::Forgetful => "forgetful",
            Self::Waiting => "waiting",
            Self::Orphaning => "orphaning",
        }
    }

    fn rules(self) -> Value {
        match self {
            Self::Steady => json!({}),
            Self::Replaying => json!({"lookup": false}),
            Self::Forgetful => json!({"lookup": false, "idempotencyKey": {"lifetime": "1s"}}),
            Self::Waiting => json!({"deletionPolicy": "Wait"}),
            Self::Orphaning => json!({"deletionPolicy": "Orphan"}),
        }
    }
}

static WORLD: OnceCell<World> = OnceCell::const_new();

pub async fn world() -> &'static World {
    WORLD.get_or_init(World::start).await
}

impl World {
    async fn start() -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("operations");
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let simulator = runtime.spawn(Simulator::start()).await.unwrap().unwrap();
        let providers = folder.with_extension("providers.yaml");
        write(&providers, &simulator, &[]);
        let args = ["--providers".into(), providers.clone().into()];
        let operator = Operator::start_controller_with(&folder, &args)
            .await
            .unwrap();
        Self {
            operator,
            simulator,
            providers,
            _runtime: runtime,
        }
    }

    /// Has these names of the provider configured too.
    pub fn configure(&self, more: &[&str]) {
        write(&self.providers, &self.simulator, more);
    }
}

/// Writes the file, whole or not at all.
fn write(path: &Path, simulator: &Simulator, more: &[&str]) {
    let known = Provider::ALL.map(|provider| (provider.name(), provider.rules()));
    let more = more.iter().map(|name| (*name, json!({})));
    let entries: Vec<_> = known
        .into_iter()
        .chain(more)
        .map(|(name, rules)| {
            let mut entry = json!({
                "name": name,
                "url": simulator.url(),
                "timeouts": {"request": "2s"},
                "polling": {"interval": "1s"},
                "limits": {"requestsPerSecond": 200, "burst": 200, "concurrency": 50},
                // Here failures are the tests' own, and one is not to hold up the others.
                "retry": {"breakerFailures": 1_000_000},
            });
            for (field, rule) in rules.as_object().unwrap() {
                entry[field] = rule.clone();
            }
            entry
        })
        .collect();
    let partial = path.with_extension("partial");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&partial, json!({"providers": entries}).to_string()).unwrap();
    fs::rename(&partial, path).unwrap();
}

pub async fn kubectl(namespace: &'static str) -> Kubectl<'static> {
    Kubectl::in_namespace(&world().await.operator, namespace).await
}

/// A spec with an operation of which the parameters tell what becomes.
pub fn spec(provider: Provider, parameters: Value) -> Value {
    json!({"operation": {"provider": provider.name(), "parameters": parameters}})
}

pub fn task(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": name}, "spec": spec})
}

pub async fn create(kubectl: Kubectl<'_>, name: &str, spec: Value) {
    kubectl
        .ok_with(&["create", "-f", "-"], &task(name, spec).to_string())
        .await;
}

pub fn phase(task: &Value) -> &str {
    task["status"]["phase"].as_str().unwrap_or_default()
}

/// The reason of a condition; nothing where there is none.
pub fn reason<'t>(task: &'t Value, type_: &str) -> &'t str {
    condition(task, type_, "reason")
}

/// The status of a condition; nothing where there is none.
pub fn status<'t>(task: &'t Value, type_: &str) -> &'t str {
    condition(task, type_, "status")
}

fn condition<'t>(task: &'t Value, type_: &str, field: &str) -> &'t str {
    let conditions = task["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .find(|condition| condition["type"] == type_)
        .and_then(|condition| condition[field].as_str())
        .unwrap_or_default()
}
