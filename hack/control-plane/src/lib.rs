//! A real local control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler, and kwok
//! in the place of a kubelet, so that Pods become Ready and Deployments available.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! use control_plane::{ControlPlane, Options};
//!
//! let control_plane = ControlPlane::start(Options::default()).await?;
//! let pods = kube::Api::<k8s_openapi::api::core::v1::Pod>::default_namespaced(control_plane.client()?);
//! assert!(pods.list(&Default::default()).await?.items.is_empty());
//! let status = control_plane.kubectl().args(["get", "nodes"]).status().await?;
//! assert!(status.success());
//! # Ok(())
//! # }
//! ```
//!
//! The programs are found, or built once with Go, by [`Binaries::find_or_build`]. Ports are free ones and
//! state is in a temporary folder, so any number of control planes can run side by side. Every process is killed when the
//! [`ControlPlane`] is dropped, and also when the process that started it ends in whatever way, SIGKILL
//! included.
//!
//! Linux only: see `die_with_parent`.

mod binaries;
pub mod certificates;
mod cluster;
mod components;
pub mod crd;
mod credentials;
mod die_with_parent;
mod go_build;
mod node;
mod options;
pub mod process;
mod progress;
mod readiness;
mod scratch;
mod tools;

pub use binaries::{Binaries, Error as BinariesError};
pub use cluster::{ControlPlane, Error};
pub use components::Component;
pub use credentials::Error as CredentialsError;
pub use go_build::Error as BuildError;
pub use options::Options;
pub use readiness::Error as ReadinessError;
pub use scratch::{Error as ScratchError, Port};
pub use tools::{Tool, kubernetes_version};
