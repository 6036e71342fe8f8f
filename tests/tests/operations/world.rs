//! The operator, and the provider that it has operations carried out by.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use control_plane::{Binaries, Port, Tool};
use local_operator::Nats;
use operation_signals::{
    nats::{Context, Servers},
    signature::{Scheme, Secrets},
};
use provider_simulator::{Caller, Simulator};
use serde_json::{Value, json};
use task_tests::{Kubectl, Operator};
use tokio::sync::OnceCell;

/// The operator and the provider of all tests of this file; each test works in a namespace of its own.
pub struct World {
    pub operator: Operator,
    pub simulator: Simulator,
    pub callbacks: Callbacks,
    pub queue: Queue,
    providers: PathBuf,
    // The simulator lives on it, whatever becomes of the test that started it.
    _runtime: tokio::runtime::Runtime,
}

/// The queue that all of them publish to.
pub struct Queue {
    pub nats: Mutex<Nats>,
    pub context: Context,
}

/// Where callbacks go to, and who may send them.
pub struct Callbacks {
    pub url: String,
    authority: String,
    folder: PathBuf,
    _port: Port,
}

/// The secrets of the providers, as Standard Webhooks has them.
pub const SECRET: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
pub const OTHER_SECRET: &str = "whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=";

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
    /// It proves its callbacks by `X-Signature`, and is often asked beneath them.
    Signing,
    /// It proves its callbacks by a token.
    Bearing,
    /// Its secret is replaced.
    Rotating,
    /// Nobody else's operations are counted under its name.
    Counted,
}

impl Provider {
    const ALL: [Self; 9] = [
        Self::Steady,
        Self::Replaying,
        Self::Forgetful,
        Self::Waiting,
        Self::Orphaning,
        Self::Signing,
        Self::Bearing,
        Self::Rotating,
        Self::Counted,
    ];

    /// How its callbacks are proved.
    pub fn scheme(self) -> Scheme {
        match self {
            Self::Signing => Scheme::HmacSha256,
            Self::Bearing => Scheme::Bearer,
            _ => Scheme::StandardWebhooks,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Replaying => "replaying",
            Self::Forgetful => "forgetful",
            Self::Waiting => "waiting",
            Self::Orphaning => "orphaning",
            Self::Signing => "signing",
            Self::Bearing => "bearing",
            Self::Rotating => "rotating",
            Self::Counted => "counted",
        }
    }

    fn rules(self, callbacks: &Callbacks) -> Value {
        let mut rules = self.own_rules();
        let scheme = format!("{:?}", self.scheme());
        let file = callbacks.secret_file(self);
        rules["callbacks"] = json!({"scheme": scheme, "secretFile": file});
        rules
    }

    fn own_rules(self) -> Value {
        match self {
            Self::Steady | Self::Bearing | Self::Rotating | Self::Counted => json!({}),
            Self::Signing => json!({"polling": {"interval": "1s", "safetyInterval": "2s"}}),
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
        let callbacks = Callbacks::prepare(&folder.with_extension("callbacks"));
        simulator.call_back_by(callbacks.caller(Provider::Steady, SECRET));
        write(&providers, &simulator, &callbacks, &[]);
        let queue = Queue::start(&runtime, &folder.with_extension("queue")).await;
        simulator.publish_to(queue.context.clone());
        let nats_url = queue.nats.lock().unwrap().url();
        let args = [
            "--providers".into(),
            providers.clone().into(),
            "--callback-cert-dir".into(),
            callbacks.folder.clone().into(),
            "--callback-bind".into(),
            callbacks._port.address().to_string().into(),
            "--callback-url".into(),
            callbacks.url.clone().into(),
            "--nats-url".into(),
            nats_url.into(),
            "--nats-ack-wait".into(),
            "5s".into(),
            "--nats-max-deliveries".into(),
            "4".into(),
        ];
        let operator = Operator::start_controller_with(&folder, &args)
            .await
            .unwrap();
        Self {
            operator,
            simulator,
            callbacks,
            queue,
            providers,
            _runtime: runtime,
        }
    }

    /// Has these names of the provider configured too.
    pub fn configure(&self, more: &[&str]) {
        write(&self.providers, &self.simulator, &self.callbacks, more);
    }
}

impl Queue {
    async fn start(runtime: &tokio::runtime::Runtime, folder: &Path) -> Self {
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder).unwrap();
        let binaries = tokio::task::spawn_blocking(Binaries::find_or_build).await;
        let executable = binaries.unwrap().unwrap();
        let nats = Nats::start(executable.path(Tool::NatsServer), folder).await;
        let nats = nats.unwrap();
        let servers = Servers {
            urls: nats.url().parse().unwrap(),
            ..Servers::default()
        };
        let connected = runtime.spawn(async move { servers.connect("tests").await });
        Self {
            nats: Mutex::new(nats),
            context: connected.await.unwrap().unwrap(),
        }
    }
}

impl Callbacks {
    fn prepare(folder: &Path) -> Self {
        local_operator::issue_certificates(folder).unwrap();
        let port = Port::claim().unwrap();
        let callbacks = Self {
            url: format!("https://{}", port.address()),
            authority: fs::read_to_string(folder.join("ca.crt")).unwrap(),
            folder: folder.to_owned(),
            _port: port,
        };
        for provider in Provider::ALL {
            callbacks.change_secret(provider, SECRET);
        }
        callbacks
    }

    /// Who sends callbacks of this provider with this secret.
    pub fn caller(&self, provider: Provider, secret: &str) -> Caller {
        let secrets = Secrets::parse(provider.scheme(), secret).unwrap();
        Caller::new(secrets, &self.authority).unwrap()
    }

    pub fn change_secret(&self, provider: Provider, secrets: &str) {
        fs::write(self.secret_file(provider), secrets).unwrap();
    }

    fn secret_file(&self, provider: Provider) -> PathBuf {
        self.folder.join(provider.name())
    }
}

/// Writes the file, whole or not at all.
fn write(path: &Path, simulator: &Simulator, callbacks: &Callbacks, more: &[&str]) {
    let known = Provider::ALL.map(|provider| (provider.name(), provider.rules(callbacks)));
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

/// The same, of which the end is learnt this way.
pub fn spec_with(completion: &str, provider: Provider, parameters: Value) -> Value {
    let mut spec = spec(provider, parameters);
    spec["operation"]["completion"] = json!(completion);
    spec
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
