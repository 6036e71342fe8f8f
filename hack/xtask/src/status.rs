//! What the supervisor tells `up`, as a file.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use serde::{Deserialize, Serialize};

/// Written by the supervisor each time that it changes, first when everything has been started.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Status {
    /// A cluster administrator's.
    pub kubeconfig: PathBuf,
    pub kubectl: PathBuf,
    pub conversion: Running,
    pub controller: Running,
    /// Of the queue; nothing from a supervisor that has none.
    #[serde(default)]
    pub nats_url: String,
}

/// A program of this workspace that runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Running {
    pub name: String,
    pub pid: u32,
    /// The build that was started.
    pub build: Build,
    /// Where it listens once it is of use.
    pub listens: SocketAddr,
}

impl Status {
    /// Writes it, whole or not at all.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let partial = path.with_extension("partial");
        fs::write(&partial, serde_json::to_vec_pretty(self)?)?;
        fs::rename(&partial, path)
    }

    /// Reads it; `None` until it has been written, also if that is to happen again because somebody spoiled it.
    pub(crate) fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).ok()),
            Err(err) if err.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(err) => Err(err),
        }
    }
}

/// What tells one build of a program from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Build {
    bytes: u64,
    modified_nanos: u128,
}

impl Build {
    /// The build that lies at `path` now.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        let file = fs::metadata(path)?;
        let modified = file.modified()?.duration_since(UNIX_EPOCH);
        Ok(Self {
            bytes: file.len(),
            modified_nanos: modified.unwrap_or_default().as_nanos(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("status.json");
        fs::write(dir.path().join("program"), "1").unwrap();
        let running = Running {
            name: "program".into(),
            pid: 7,
            build: Build::of(&dir.path().join("program")).unwrap(),
            listens: ([127, 0, 0, 1], 80).into(),
        };
        let status = Status {
            kubeconfig: "kubeconfig".into(),
            kubectl: "kubectl".into(),
            conversion: running.clone(),
            controller: running,
            nats_url: "nats://127.0.0.1:4222".into(),
        };
        assert_eq!(Status::read(&path).unwrap(), None);
        status.write(&path).unwrap();
        assert_eq!(Status::read(&path).unwrap(), Some(status));
        fs::write(&path, "{").unwrap();
        assert_eq!(Status::read(&path).unwrap(), None);
    }

    #[test]
    fn a_program_that_was_written_again_is_another_build() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("program");
        fs::write(&path, "1").unwrap();
        let before = Build::of(&path).unwrap();
        fs::write(&path, "22").unwrap();
        assert_ne!(Build::of(&path).unwrap(), before);
    }
}
