//! A control plane, and replicas of the controller that come and go, each with a network of its own.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use control_plane::process::{self, Process};
use control_plane::{Component, ControlPlane, Options, Port, crd};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config, ResourceExt};
use local_operator::CONTROLLER;
use serde_json::json;
use task_tests::AuditLog;
use tokio::time::{Instant, sleep};

use crate::network::{Network, Weather};

/// Into how many shards the replicas divide the Tasks.
pub const SHARDS: u32 = 6;

/// How long a Lease is good for.
pub const LEASE: Duration = Duration::from_secs(15);

/// The longest that anything takes here on a machine under heavy load, beside what it is made to wait.
const DEADLINE: Duration = Duration::from_secs(180);

const POLL: Duration = Duration::from_millis(100);

pub struct World {
    pub control_plane: ControlPlane,
    pub client: Client,
    pub audit: AuditLog,
    pub replicas: Vec<Replica>,
    folder: PathBuf,
    started: usize,
}

/// A replica of the controller.
pub struct Replica {
    pub process: Process,
    pub network: Network,
    _ports: [Port; 2],
}

impl World {
    /// A control plane in `folder`, which is emptied first, with Tasks and no replica.
    pub async fn start(folder: &Path) -> Self {
        let _ = fs::remove_dir_all(folder);
        local_operator::build(&local_operator::executables().unwrap())
            .await
            .unwrap();
        let audit = AuditLog::in_folder(&folder.join("audit")).unwrap();
        let options = Options {
            state_dir: Some(folder.join("control-plane")),
            api_server_args: audit.api_server_args(),
            ..Options::default()
        };
        let mut control_plane = ControlPlane::start(options).await.unwrap();
        let client = direct(&control_plane).await;
        // Nobody writes at the other version.
        let mut definition = task_crds::crd();
        definition.spec.conversion = None;
        crd::install(client.clone(), &definition).await.unwrap();
        // The garbage collector looks for new kinds every half minute, and at once when it starts.
        control_plane
            .restart(Component::ControllerManager)
            .await
            .unwrap();
        Self {
            control_plane,
            client,
            audit,
            replicas: Vec::new(),
            folder: folder.to_owned(),
            started: 0,
        }
    }

    /// Starts one more replica.
    pub async fn add_replica(&mut self) {
        let network = Network::start(self.client.clone()).await;
        let name = format!("replica-{}", self.started);
        self.started += 1;
        let kubeconfig = self.folder.join(format!("{name}.kubeconfig"));
        let config = json!({
            "clusters": [{"name": "c", "cluster": {"server": network.url()}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        });
        fs::write(&kubeconfig, config.to_string()).unwrap();
        let ports = [Port::claim().unwrap(), Port::claim().unwrap()];
        let args = [
            format!("--health-bind={}", ports[0].address()),
            format!("--metrics-bind={}", ports[1].address()),
            format!("--shards={SHARDS}"),
        ];
        let program = process::Program {
            name,
            path: local_operator::executables().unwrap().join(CONTROLLER),
            args: args.map(Into::into).into(),
            env: vec![("KUBECONFIG".into(), kubeconfig.into())],
        };
        let process = Process::start(program, &self.folder).unwrap();
        self.replicas.push(Replica {
            process,
            network,
            _ports: ports,
        });
    }

    /// Starts and stops replicas, as a kubelet does, until there are so many.
    pub async fn scale(&mut self, count: usize) {
        while self.replicas.len() < count {
            self.add_replica().await;
        }
        for mut replica in self.replicas.drain(count..) {
            let status = replica
                .process
                .terminate(Duration::from_secs(30))
                .await
                .unwrap();
            assert!(status.success(), "{status}: {}", replica.process.log_tail());
        }
    }

    /// Kills a replica if it still runs, and starts it again.
    pub fn restart(&mut self, replica: usize) {
        self.replicas[replica].process.restart().unwrap();
    }

    /// Changes the network of all replicas.
    pub fn turn(&self, weather: Weather) {
        for replica in &self.replicas {
            replica.network.turn(weather);
        }
    }

    /// Who holds the Lease of each shard.
    pub async fn holders(&self) -> BTreeMap<String, Option<String>> {
        let leases: Api<Lease> = Api::default_namespaced(self.client.clone());
        let list = leases
            .list(&ListParams::default().labels("task.example.io/lease=shard"))
            .await;
        let holder = |lease: Lease| {
            (
                lease.name_any(),
                lease.spec.and_then(|spec| spec.holder_identity),
            )
        };
        list.map(|list| list.into_iter().map(holder).collect())
            .unwrap_or_default()
    }

    /// Waits until every replica that runs holds as many shards as every other, or one more, and tells how long that took.
    pub async fn until_spread(&self) -> Duration {
        let start = Instant::now();
        loop {
            let holders: Vec<String> = self.holders().await.into_values().flatten().collect();
            let mut counts = BTreeMap::new();
            for holder in &holders {
                *counts.entry(holder).or_insert(0) += 1;
            }
            let even = SHARDS as usize / self.replicas.len();
            let names = self.replicas.iter().map(Replica::identity);
            let is_even = names
                .map(|name| counts.get(&name?).copied())
                .all(|count| count.is_some_and(|count| (even..=even + 1).contains(&count)));
            if holders.len() == SHARDS as usize && counts.len() == self.replicas.len() && is_even {
                return start.elapsed();
            }
            assert!(
                start.elapsed() < DEADLINE,
                "the shards are not spread: {counts:?}\n{}",
                self.logs()
            );
            sleep(POLL).await;
        }
    }

    /// The last lines that the replicas logged.
    pub fn logs(&self) -> String {
        let tails = self
            .replicas
            .iter()
            .map(|replica| replica.process.log_tail());
        tails.collect::<Vec<_>>().join("\n\n")
    }

    /// Everything that the replicas logged.
    pub fn log(&self) -> String {
        let logs = self
            .replicas
            .iter()
            .map(|replica| fs::read_to_string(replica.process.log_path()).unwrap());
        logs.collect()
    }
}

impl Replica {
    /// What its process calls itself, once it has said so.
    fn identity(&self) -> Option<String> {
        let log = fs::read_to_string(self.process.log_path()).ok()?;
        let (_, last) = log.rsplit_once("replica=\"")?;
        Some(last.split_once('"')?.0.to_owned())
    }
}

/// A client that tries nothing twice.
async fn direct(control_plane: &ControlPlane) -> Client {
    let kubeconfig = Kubeconfig::read_from(control_plane.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    config.default_retry = false;
    Client::try_from(config).unwrap()
}
