//! The commands that need a cluster, on a real API server with the real webhook behind it, and with a look into etcd at what is stored.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod check;
mod diff;
mod disturbed;
mod expired;
mod in_tree;
mod memory;
mod owners;
mod quiet;
mod refused;
mod status;
mod world;
