//! The programs a control plane is made of, and their pinned versions.

/// A Go module that names programs as `tool`s and pins them. Its files are part of this program, so that it does not matter where the
/// folder that it was built from is now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GoModule {
    /// The folder that it is written to, in the cache.
    pub(crate) folder: &'static str,
    /// The text of its `go.mod`.
    pub(crate) go_mod: &'static str,
    /// The text of its `go.sum`.
    pub(crate) go_sum: &'static str,
}

/// The module of a control plane's programs.
pub(crate) const CONTROL_PLANE: GoModule = GoModule {
    folder: ".module",
    go_mod: include_str!("../tools/go.mod"),
    go_sum: include_str!("../tools/go.sum"),
};

/// Helm's own: in one module with Kubernetes it would lift the libraries that Kubernetes is built with.
const HELM: GoModule = GoModule {
    folder: ".module-helm",
    go_mod: include_str!("../tools/helm/go.mod"),
    go_sum: include_str!("../tools/helm/go.sum"),
};

/// NATS' own, for the same reason.
const NATS: GoModule = GoModule {
    folder: ".module-nats",
    go_mod: include_str!("../tools/nats/go.mod"),
    go_sum: include_str!("../tools/nats/go.sum"),
};

const KUBERNETES: &str = "k8s.io/kubernetes";
const HELM_MODULE: &str = "helm.sh/helm/v3";
const NATS_MODULE: &str = "github.com/nats-io/nats-server/v2";

/// A program that runs, talks to, or makes manifests for a control plane, or is a queue beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// The store.
    Etcd,
    /// The command line client.
    Kubectl,
    /// The stand-in for kubelets.
    Kwok,
    /// The queue.
    NatsServer,
    /// What renders charts.
    Helm,
    /// The scheduler.
    KubeScheduler,
    /// The API server.
    KubeApiserver,
    /// The built-in controllers.
    KubeControllerManager,
}

impl Tool {
    /// Every tool, the quick ones to build first.
    pub const ALL: [Self; 8] = [
        Self::Etcd,
        Self::Kubectl,
        Self::Kwok,
        Self::NatsServer,
        Self::Helm,
        Self::KubeScheduler,
        Self::KubeApiserver,
        Self::KubeControllerManager,
    ];

    /// The name of its executable.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
            Self::NatsServer => "nats-server",
            Self::Helm => "helm",
            Self::KubeScheduler => "kube-scheduler",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
        }
    }

    /// The Go module that pins it.
    pub(crate) const fn go_module(self) -> GoModule {
        match self {
            Self::NatsServer => NATS,
            Self::Helm => HELM,
            _ => CONTROL_PLANE,
        }
    }

    /// Its version, as that module pins it, such as `v1.36.3`.
    #[must_use]
    pub fn version(self) -> &'static str {
        // A test of this module keeps the fallback out of reach.
        required_version(self.go_module().go_mod, self.module()).unwrap_or("unknown")
    }

    /// The Go module that it is part of.
    const fn module(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Kwok => "sigs.k8s.io/kwok",
            Self::NatsServer => NATS_MODULE,
            Self::Helm => HELM_MODULE,
            Self::Kubectl
            | Self::KubeScheduler
            | Self::KubeApiserver
            | Self::KubeControllerManager => KUBERNETES,
        }
    }

    /// The Go package it is built from.
    pub(crate) const fn package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::Kwok => "sigs.k8s.io/kwok/cmd/kwok",
            Self::NatsServer => NATS_MODULE,
            Self::Helm => "helm.sh/helm/v3/cmd/helm",
            Self::KubeScheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::KubeApiserver => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::KubeControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
        }
    }

    /// The linker flags that make a program tell its true version: built as a dependency Kubernetes would call itself
    /// `v0.0.0-master+$Format:%H$`, and Helm would render for Kubernetes 1.20.
    pub(crate) fn version_ldflags(self) -> String {
        let version = kubernetes_version();
        let mut numbers = version.trim_start_matches('v').split('.');
        let major = numbers.next().unwrap_or_default();
        let minor = numbers.next().unwrap_or_default();
        match self.module() {
            KUBERNETES => [
                "k8s.io/component-base/version",
                "k8s.io/client-go/pkg/version",
            ]
            .iter()
            .map(|package| {
                format!(
                    " -X {package}.gitVersion={version} -X {package}.gitMajor={major} \
                     -X {package}.gitMinor={minor} -X {package}.gitTreeState=clean"
                )
            })
            .collect(),
            HELM_MODULE => ["pkg/chartutil", "pkg/lint/rules"]
                .iter()
                .map(|package| {
                    format!(
                        " -X {HELM_MODULE}/{package}.k8sVersionMajor={major} \
                         -X {HELM_MODULE}/{package}.k8sVersionMinor={minor}"
                    )
                })
                .collect(),
            _ => String::new(),
        }
    }
}

/// The Kubernetes version that `tools/go.mod` pins, such as `v1.36.3`.
#[must_use]
pub fn kubernetes_version() -> &'static str {
    Tool::KubeApiserver.version()
}

fn required_version<'a>(go_mod: &'a str, module: &str) -> Option<&'a str> {
    go_mod.lines().find_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("require ").unwrap_or(line);
        let version = line.strip_prefix(module)?.strip_prefix(' ')?;
        let version = version.split_whitespace().next()?;
        version.starts_with('v').then_some(version)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_comes_from_go_mod() {
        for tool in Tool::ALL {
            let version = tool.version();
            assert!(version.starts_with('v'), "{tool:?}: {version}");
        }
        assert!(kubernetes_version().starts_with("v1."));
    }

    #[test]
    fn every_tool_is_a_package_of_its_module() {
        for tool in Tool::ALL {
            assert!(tool.package().starts_with(tool.module()), "{tool:?}");
        }
    }

    #[test]
    fn a_version_is_found_in_a_require_line_and_in_a_require_block() {
        let go_mod = "require a.b/c v1.2.3\nrequire (\n\ta.b/c/d v4.5.6 // indirect\n)\n";
        assert_eq!(required_version(go_mod, "a.b/c"), Some("v1.2.3"));
        assert_eq!(required_version(go_mod, "a.b/c/d"), Some("v4.5.6"));
        assert_eq!(required_version(go_mod, "a.b"), None);
    }

    #[test]
    fn a_replacement_is_no_version() {
        let go_mod = "replace k8s.io/api => k8s.io/api v0.1.2\n";
        assert_eq!(required_version(go_mod, "k8s.io/api"), None);
    }

    #[test]
    fn every_package_is_a_tool_of_the_go_module() {
        for tool in Tool::ALL {
            let package = tool.package();
            let lines = [format!("\t{package}"), format!("tool {package}")];
            let mut go_mod = tool.go_module().go_mod.lines();
            assert!(
                go_mod.any(|line| lines.iter().any(|tool| tool == line)),
                "{package} is no tool in go.mod"
            );
        }
    }

    #[test]
    fn kubernetes_programs_and_helm_are_given_the_kubernetes_version() {
        assert_eq!(Tool::Etcd.version_ldflags(), "");
        let version = kubernetes_version();
        let kubectl = Tool::Kubectl.version_ldflags();
        assert!(kubectl.contains(&format!("gitVersion={version}")));
        let minor = version.split('.').nth(1).unwrap();
        let helm = Tool::Helm.version_ldflags();
        assert!(helm.contains(&format!("k8sVersionMinor={minor}")));
    }
}
