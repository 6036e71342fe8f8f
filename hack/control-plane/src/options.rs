//! What can be chosen of a control plane.

use std::path::PathBuf;

/// What a control plane is to be like.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether controller manager, scheduler, kwok and one fake Node run too, so that workloads do. Without
    /// them it starts in half the time; then nothing collects garbage, removes namespaces or makes
    /// service accounts.
    pub workloads: bool,
    /// Further arguments of kube-apiserver, such as `--token-auth-file=…` or `--audit-policy-file=…`.
    pub api_server_args: Vec<String>,
    /// Further arguments of kube-controller-manager, such as `--feature-gates=…`.
    pub controller_manager_args: Vec<String>,
    /// Where its state goes; it must be empty or absent, and stays when the control plane ends. `None`: a temporary folder.
    pub state_dir: Option<PathBuf>,
}

impl Default for Options {
    /// Everything, in a temporary folder.
    fn default() -> Self {
        Self {
            workloads: true,
            api_server_args: Vec::new(),
            controller_manager_args: Vec::new(),
            state_dir: None,
        }
    }
}

impl Options {
    /// etcd and the API server only, in a temporary folder.
    #[must_use]
    pub fn api_server_only() -> Self {
        Self {
            workloads: false,
            ..Self::default()
        }
    }
}
