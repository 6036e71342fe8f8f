//! The server, over TLS: mostly the real program as a child process.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod bounds;
mod certificate;
mod drain;
mod folder;
mod load;
mod log;
mod malformed;
mod patience;
mod program;
mod versions;
