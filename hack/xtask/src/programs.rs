//! A program of the operator under the supervisor's eyes.

use std::{io, path::PathBuf};

use control_plane::process;
use local_operator::Program;

use crate::status::{Build, Running};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Process(#[from] process::Error),
    #[error("cannot use {}", path.display())]
    Build { path: PathBuf, source: io::Error },
}

/// A program that is started again when it has ended or was built anew.
pub(crate) struct Supervised {
    program: Program,
    build: Build,
}

impl Supervised {
    /// Takes over a program that was just started.
    pub(crate) fn new(program: Program) -> Result<Self, Error> {
        let build = build_of(&program)?;
        Ok(Self { program, build })
    }

    /// What runs.
    pub(crate) fn running(&self) -> Running {
        let process = self.program.process();
        Running {
            name: process.name().to_owned(),
            pid: process.id(),
            build: self.build,
            listens: self.program.listens(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.program.process().name()
    }

    /// Whether it has ended, which it never does by itself.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Error> {
        Ok(self.program.process_mut().exit_status()?.is_some())
    }

    /// Whether its executable has been built anew since it was started.
    pub(crate) fn is_outdated(&self) -> Result<bool, Error> {
        Ok(build_of(&self.program)? != self.build)
    }

    /// Starts the newest build, after killing what runs.
    pub(crate) fn restart(&mut self) -> Result<(), Error> {
        self.build = build_of(&self.program)?;
        Ok(self.program.process_mut().restart()?)
    }
}

/// The build that lies where `program` was started from.
fn build_of(program: &Program) -> Result<Build, Error> {
    let path = program.executable();
    Build::of(path).map_err(|source| Error::Build {
        path: path.to_owned(),
        source,
    })
}
