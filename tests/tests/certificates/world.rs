//! An API server, task-conversion, and controllers that look after its certificates.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use control_plane::process::{self, Process};
use control_plane::{ControlPlane, Options, Port, crd};
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams};
use kube::core::ApiResource;
use local_operator::CONTROLLER;
use serde_json::{Value, json};
use task_crds::{CONVERSION_PATH, webhooks};
use task_tests::balancer::Balancer;
use task_tests::replica::Replica;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::kubelet::Kubelet;

/// The namespace of the operator.
pub const SYSTEM: &str = "task-system";

/// The Secret of the authorities.
pub const AUTHORITIES: &str = "task-conversion-ca";

/// The Secret of the serving certificate.
pub const SERVING: &str = "task-conversion-tls";

/// The name of the definition and of both registrations.
const NAME: &str = webhooks::NAME;

/// A controller.
pub struct Controller {
    pub process: Process,
    metrics: Port,
    _health: Port,
}

/// Everything. Its processes end with this one.
pub struct World {
    pub control_plane: ControlPlane,
    pub client: Client,
    pub controllers: Vec<Controller>,
    pub kubelet: Kubelet,
    /// The replicas of task-conversion behind the balancer.
    pub replicas: Vec<Replica>,
    pub balancer: Arc<Balancer>,
}

impl World {
    /// Starts everything with its state in `folder`, which is emptied first: so many controllers with these arguments, and the webhooks
    /// registered as they are installed, without a `caBundle`, but on this machine.
    pub async fn start(folder: &Path, controllers: usize, args: &[&str]) -> Self {
        let _ = fs::remove_dir_all(folder);
        let executables = local_operator::executables().unwrap();
        local_operator::build(&executables).await.unwrap();
        let options = Options {
            state_dir: Some(folder.join("control-plane")),
            ..Options::api_server_only()
        };
        let control_plane = ControlPlane::start(options).await.unwrap();
        let client = control_plane.client().unwrap();
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}});
        create(&client, "v1", "Namespace", namespace).await;

        let controllers = (0..controllers)
            .map(|number| {
                let logs = folder.join(format!("controller-{number}"));
                controller(&executables, control_plane.kubeconfig(), logs, number, args)
            })
            .collect();
        let kubelet = Kubelet::mount(client.clone(), folder.join("certificates")).await;
        let replicas: Vec<_> = ["conversion-0", "conversion-1"]
            .map(|name| Replica::start(name, kubelet.folder(), folder))
            .into();
        let addresses = replicas.iter().map(|replica| replica.port.address());
        let addresses: Vec<_> = addresses.collect();
        let balancer = Balancer::start(&addresses, kubelet.trusted()).await;
        let base = format!("https://{}", balancer.address());
        let mut definition = task_crds::crd();
        crd::convert_at(&mut definition, &format!("{base}{CONVERSION_PATH}"), "");
        let conversion_of = definition.spec.conversion.as_mut();
        let config = conversion_of.and_then(|of| of.webhook.as_mut()?.client_config.as_mut());
        config.unwrap().ca_bundle = None;
        crd::install(client.clone(), &definition).await.unwrap();

        let mut mutating = webhooks::mutating();
        for webhook in mutating.webhooks.iter_mut().flatten() {
            webhooks::call_at(&mut webhook.client_config, &base, "");
            webhook.client_config.ca_bundle = None;
        }
        let mut validating = webhooks::validating();
        for webhook in validating.webhooks.iter_mut().flatten() {
            webhooks::call_at(&mut webhook.client_config, &base, "");
            webhook.client_config.ca_bundle = None;
        }
        for object in [json!(mutating), json!(validating)] {
            let kind = object["kind"].as_str().unwrap().to_owned();
            create(&client, "admissionregistration.k8s.io/v1", &kind, object).await;
        }
        Self {
            control_plane,
            client,
            controllers,
            kubelet,
            replicas,
            balancer: Arc::new(balancer),
        }
    }

    /// The certificates of every `caBundle`, in PEM: of the definition and then of each webhook of both registrations.
    pub async fn bundles(&self) -> Vec<String> {
        let mut bundles = Vec::new();
        for kind in KINDS {
            let object = self.registration(kind).await;
            let hooks = match object["webhooks"].as_array() {
                Some(hooks) => hooks.clone(),
                None => vec![object["spec"]["conversion"]["webhook"].clone()],
            };
            bundles.extend(hooks.iter().map(|hook| {
                let bundle = hook["clientConfig"]["caBundle"].as_str();
                decode(bundle.unwrap_or_default())
            }));
        }
        bundles
    }

    /// The definition, or a registration.
    pub async fn registration(&self, kind: &str) -> Value {
        json!(self.registrations(kind).get(NAME).await.unwrap())
    }

    /// Changes it by a merge patch.
    pub async fn patch(&self, kind: &str, patch: &Value) {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        let registrations = self.registrations(kind);
        registrations.patch(NAME, &params, &patch).await.unwrap();
    }

    fn registrations(&self, kind: &str) -> Api<DynamicObject> {
        let version = match kind {
            DEFINITION => "apiextensions.k8s.io/v1",
            _ => "admissionregistration.k8s.io/v1",
        };
        Api::all_with(self.client.clone(), &resource(version, kind))
    }

    /// Deletes a Secret of the operator.
    pub async fn delete_secret(&self, name: &str) {
        let resource = resource("v1", "Secret");
        let secrets: Api<DynamicObject> =
            Api::namespaced_with(self.client.clone(), SYSTEM, &resource);
        secrets.delete(name, &Default::default()).await.unwrap();
    }

    /// How often the controllers that run have made this change, by their metrics.
    pub async fn changes(&self, change: &str) -> usize {
        let start = format!("task_certificates_changes_total{{change=\"{change}\"}} ");
        let mut sum = 0;
        for controller in &self.controllers {
            let text = controller.metrics().await;
            let value = text.lines().find_map(|line| line.strip_prefix(&start));
            sum += value.map_or(0, |value| value.parse::<usize>().unwrap());
        }
        sum
    }

    /// How often the controllers have told of this change in their logs, also those that were killed since.
    pub fn logged(&self, change: &str) -> usize {
        let logs = self.controllers.iter().map(|controller| {
            let log = fs::read_to_string(controller.process.log_path()).unwrap();
            log.lines().filter(|line| line.contains(change)).count()
        });
        logs.sum()
    }

    /// The last lines that the programs logged.
    pub fn logs(&self) -> String {
        let controllers = self.controllers.iter();
        let replicas = self.replicas.iter().map(|replica| &replica.process);
        controllers
            .map(|controller| &controller.process)
            .chain(replicas)
            .map(|process| format!("{} logged:\n{}\n", process.name(), process.log_tail()))
            .collect()
    }
}

/// The kinds that hold a `caBundle`.
pub const KINDS: [&str; 3] = [
    DEFINITION,
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// The kind of the definition.
pub const DEFINITION: &str = "CustomResourceDefinition";

impl Controller {
    async fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(self.metrics.address()).await.unwrap();
        let request = b"GET /metrics HTTP/1.0\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }
}

fn controller(
    executables: &Path,
    kubeconfig: &Path,
    logs: PathBuf,
    number: usize,
    args: &[&str],
) -> Controller {
    fs::create_dir_all(&logs).unwrap();
    let [metrics, health] = [(); 2].map(|()| Port::claim().unwrap());
    let mut all: Vec<OsString> = [
        "--self-managed-certs",
        "--certs-name=127.0.0.1",
        "--certs-interval=300ms",
        "--metrics-bind",
        &metrics.address().to_string(),
        "--health-bind",
        &health.address().to_string(),
        // One controller is enough for the Tasks.
        "--namespace",
        if number == 0 { "" } else { SYSTEM },
    ]
    .map(OsString::from)
    .into();
    all.extend(args.iter().map(OsString::from));
    let program = process::Program {
        name: CONTROLLER.into(),
        path: executables.join(CONTROLLER),
        args: all,
        env: vec![("KUBECONFIG".into(), kubeconfig.into())],
    };
    Controller {
        process: Process::start(program, &logs).unwrap(),
        metrics,
        _health: health,
    }
}

/// How objects of a kind are asked for.
pub fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(group, version, kind))
}

async fn create(client: &Client, api_version: &str, kind: &str, object: Value) {
    let api = Api::all_with(client.clone(), &resource(api_version, kind));
    let object: DynamicObject = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

/// The text that is written in Base64.
pub fn decode(text: &str) -> String {
    let bytes: k8s_openapi::ByteString = serde_json::from_value(json!(text)).unwrap();
    String::from_utf8(bytes.0).unwrap()
}
