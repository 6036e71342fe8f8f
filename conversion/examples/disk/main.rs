//! A conversion server for a kind of another project, `Disk`, with three versions. `docs/your-own-crd.md` walks through it.

use std::process::ExitCode;

use clap::Parser;
use task_conversion::server::{self, Args};

mod kind;
#[cfg(test)]
mod tests;

fn main() -> ExitCode {
    server::main(&Args::parse(), &kind::service())
}
