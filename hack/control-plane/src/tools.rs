//! The programs a control plane is made of, and their pinned versions.

/// The files of the Go module that names every program as a `tool` and pins it. They are part of this program, so that it
/// does not matter where the folder that it was built from is now.
pub(crate) const GO_MODULE: [(&str, &str); 2] = [
    ("go.mod", GO_MOD),
    ("go.sum", include_str!("../tools/go.sum")),
];

const GO_MOD: &str = include_str!("../tools/go.mod");

const KUBERNETES: &str = "k8s.io/kubernetes";

/// A program that runs, or talks to, a control plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tool {
    /// The store.
    Etcd,
    /// The command line client.
    Kubectl,
    /// The stand-in for kubelets.
    Kwok,
    /// The scheduler.
    KubeScheduler,
    /// The API server.
    KubeApiserver,
    /// The built-in controllers.
    KubeControllerManager,
}

impl Tool {
    /// Every tool, the quick ones to build first.
    pub const ALL: [Self; 6] = [
        Self::Etcd,
        Self::Kubectl,
        Self::Kwok,
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
            Self::KubeScheduler => "kube-scheduler",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
        }
    }

    /// Its version, as `tools/go.mod` pins it, such as `v1.36.3`.
    #[must_use]
    pub fn version(self) -> &'static str {
        // A test of this module keeps the fallback out of reach.
        required_version(GO_MOD, self.module()).unwrap_or("unknown")
    }

    /// The Go module that it is part of.
    const fn module(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::Kwok => "sigs.k8s.io/kwok",
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
            Self::KubeScheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
            Self::KubeApiserver => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::KubeControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
        }
    }

    /// The linker flags that make a Kubernetes program tell its true version: built as a
    /// dependency it would call itself `v0.0.0-master+$Format:%H$`.
    pub(crate) fn version_ldflags(self) -> String {
        if self.module() != KUBERNETES {
            return String::new();
        }
        let version = self.version();
        let mut numbers = version.trim_start_matches('v').split('.');
        let major = numbers.next().unwrap_or_default();
        let minor = numbers.next().unwrap_or_default();
        [
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
        .collect()
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
            let line = format!("\t{}", tool.package());
            assert!(
                GO_MOD.lines().any(|l| l == line),
                "{line} is no tool in go.mod"
            );
        }
    }

    #[test]
    fn only_kubernetes_programs_are_given_the_kubernetes_version() {
        assert_eq!(Tool::Etcd.version_ldflags(), "");
        assert!(
            Tool::Kubectl
                .version_ldflags()
                .contains(&format!("gitVersion={}", kubernetes_version()))
        );
    }
}
