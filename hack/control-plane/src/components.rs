//! How each component of the control plane is run: its arguments, as a pure function of the paths and ports.

use std::{ffi::OsString, net::SocketAddr, path::Path};

use crate::{
    binaries::Binaries,
    credentials::{Credentials, SERVICE_RANGE},
    process::Program,
    tools::Tool,
};

/// The addresses of Pods, which nobody can reach.
pub(crate) const POD_RANGE: &str = "10.244.0.0/16";

/// A process of the control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// etcd, without waiting for the disk: data survives the process, not the machine.
    Etcd,
    /// kube-apiserver.
    ApiServer,
    /// kube-controller-manager: Deployments, garbage collection, namespaces, service accounts.
    ControllerManager,
    /// kube-scheduler.
    Scheduler,
    /// kwok, which makes Pods Ready at once. No container runs.
    Kwok,
}

impl Component {
    /// Those without which there is no API, in the order in which they need each other.
    pub(crate) const API: [Self; 2] = [Self::Etcd, Self::ApiServer];

    /// Those that make workloads run.
    pub(crate) const WORKLOADS: [Self; 3] = [Self::ControllerManager, Self::Scheduler, Self::Kwok];

    /// The tool that it is a process of.
    #[must_use]
    pub const fn tool(self) -> Tool {
        match self {
            Self::Etcd => Tool::Etcd,
            Self::ApiServer => Tool::KubeApiserver,
            Self::ControllerManager => Tool::KubeControllerManager,
            Self::Scheduler => Tool::KubeScheduler,
            Self::Kwok => Tool::Kwok,
        }
    }
}

impl std::fmt::Display for Component {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.tool().name())
    }
}

/// What the arguments are made of.
#[derive(Debug)]
pub(crate) struct Layout<'a> {
    pub binaries: &'a Binaries,
    pub credentials: &'a Credentials,
    pub data: &'a Path,
    pub etcd: SocketAddr,
    pub etcd_peer: SocketAddr,
    pub api_server: SocketAddr,
    pub workloads: bool,
    pub api_server_args: &'a [String],
    pub controller_manager_args: &'a [String],
}

impl Layout<'_> {
    /// How `component` is run.
    pub(crate) fn program(&self, component: Component) -> Program {
        let mut args = Args::default();
        match component {
            Component::Etcd => self.etcd(&mut args),
            Component::ApiServer => self.api_server(&mut args),
            Component::ControllerManager => self.controller_manager(&mut args),
            Component::Scheduler => args
                .path("--kubeconfig", &self.credentials.scheduler)
                .flag("--leader-elect", "false")
                .flag("--secure-port", "0"),
            Component::Kwok => self.kwok(&mut args),
        };
        Program {
            name: component.to_string(),
            path: self.binaries.path(component.tool()).to_owned(),
            args: args.0,
            env: Vec::new(),
        }
    }

    fn etcd<'a>(&self, args: &'a mut Args) -> &'a mut Args {
        let client = format!("http://{}", self.etcd);
        let peer = format!("http://{}", self.etcd_peer);
        args.path("--data-dir", self.data)
            .flag("--listen-client-urls", &client)
            .flag("--advertise-client-urls", &client)
            .flag("--listen-peer-urls", &peer)
            .flag("--initial-advertise-peer-urls", &peer)
            .flag("--initial-cluster", &format!("default={peer}"))
            .flag("--unsafe-no-fsync", "true")
    }

    fn api_server<'a>(&self, args: &'a mut Args) -> &'a mut Args {
        let Credentials {
            signing_key,
            signing_public_key,
            ..
        } = self.credentials;
        args.flag("--etcd-servers", &format!("http://{}", self.etcd))
            .flag("--bind-address", &self.api_server.ip().to_string())
            .flag("--secure-port", &self.api_server.port().to_string())
            .flag("--advertise-address", &self.api_server.ip().to_string())
            // A loopback address is no valid endpoint of the Service `kubernetes`, which nobody could reach anyway.
            .flag("--endpoint-reconciler-type", "none")
            .path("--tls-cert-file", &self.credentials.serving_cert)
            .path("--tls-private-key-file", &self.credentials.serving_key)
            .path("--client-ca-file", &self.credentials.authority)
            .flag("--authorization-mode", "RBAC")
            .flag("--service-cluster-ip-range", SERVICE_RANGE)
            .flag("--service-account-issuer", "https://kubernetes.default.svc")
            .path("--service-account-key-file", signing_public_key)
            .path("--service-account-signing-key-file", signing_key)
            .flag("--allow-privileged", "true");
        if !self.workloads {
            // It refuses Pods until their service account exists, which nobody makes here.
            args.flag("--disable-admission-plugins", "ServiceAccount");
        }
        args.0
            .extend(self.api_server_args.iter().map(OsString::from));
        args
    }

    fn controller_manager<'a>(&self, args: &'a mut Args) -> &'a mut Args {
        args.path("--kubeconfig", &self.credentials.controller_manager)
            .path(
                "--service-account-private-key-file",
                &self.credentials.signing_key,
            )
            .path("--root-ca-file", &self.credentials.authority)
            .flag("--use-service-account-credentials", "true")
            // By default it holds itself back, to seconds at the start and in tests with many objects.
            .flag("--kube-api-qps", "500")
            .flag("--kube-api-burst", "1000")
            // Of a Node that was not heard of for less than a minute (the machine slept, or was too busy for kwok) it would
            // mark all Pods as not ready, and kwok, unlike a kubelet, never as ready again.
            .flag("--node-monitor-grace-period", "24h")
            .flag("--leader-elect", "false")
            .flag("--secure-port", "0");
        args.0
            .extend(self.controller_manager_args.iter().map(OsString::from));
        args
    }

    fn kwok<'a>(&self, args: &'a mut Args) -> &'a mut Args {
        args.path("--kubeconfig", &self.credentials.kwok)
            .flag("--manage-all-nodes", "true")
            .flag("--node-lease-duration-seconds", "40")
            .flag("--cidr", POD_RANGE);
        for stage in self.binaries.kwok_stages() {
            args.path("--config", stage);
        }
        args
    }
}

/// Arguments of the form `--name=value`, which every component understands.
#[derive(Default)]
struct Args(Vec<OsString>);

impl Args {
    fn flag(&mut self, name: &str, value: &str) -> &mut Self {
        self.0.push(format!("{name}={value}").into());
        self
    }

    fn path(&mut self, name: &str, value: &Path) -> &mut Self {
        let mut arg = OsString::from(name);
        arg.push("=");
        arg.push(value);
        self.0.push(arg);
        self
    }
}
