//! `kubectl task migrate` on a real API server, with the real webhook behind it, and a look into etcd at what is stored.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod disturbed;
mod in_tree;
mod owners;
mod quiet;
mod world;
