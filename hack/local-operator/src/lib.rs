//! task-conversion and task-controller on this machine, in front of a local control plane: what `make up` and
//! the end-to-end tests have in common.
//!
//! ```no_run
//! # async fn example(folder: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
//! use control_plane::{ControlPlane, Options};
//! use local_operator::{Program, Webhook, build, controller_kubeconfig, executables, issue_certificates};
//!
//! let control_plane = ControlPlane::start(Options::default()).await?;
//! let executables = executables()?;
//! build(&executables).await?;
//! issue_certificates(folder)?;
//! let conversion = Program::conversion(&executables, folder, folder)?;
//! let webhook = Webhook::of(conversion.listens(), folder)?;
//! webhook.install(control_plane.client()?).await?;
//! let kubeconfig = controller_kubeconfig(&control_plane, folder).await?;
//! let controller = Program::controller(&executables, &kubeconfig, folder, &[])?;
//! # Ok(())
//! # }
//! ```

mod cargo;
mod identity;
mod nats;
mod program;
mod registration;
mod webhook;

pub use cargo::{Error as BuildError, build, build_plugin, executables, workspace};
pub use identity::{Error as IdentityError, controller_kubeconfig, kubeconfig_of, manifest};
pub use nats::{Error as NatsError, Nats};
pub use program::{CONTROLLER, CONVERSION, Error as ProgramError, Program};
pub use registration::Error as RegistrationError;
pub use webhook::{Error as WebhookError, Webhook, issue_certificates};
