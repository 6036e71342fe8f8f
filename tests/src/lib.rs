//! What the end-to-end tests stand on: a real control plane with the operator's real programs in it.

mod audit;
pub mod balancer;
mod etcd;
mod https;
mod kubectl;
mod operator;
pub mod replica;

pub use audit::{AuditLog, Request};
pub use etcd::{Error as EtcdError, etcd_range};
pub use https::{Error as HttpsError, Https};
pub use kubectl::{Kubectl, Outcome};
pub use operator::{Error, Operator};
