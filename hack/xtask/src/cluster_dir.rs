//! Where the local control plane of `make up` keeps its state, and who owns it.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read, Write},
    path::{self, Path, PathBuf},
    thread,
    time::Duration,
};

use local_operator::BuildError;
use nix::{
    sys::signal::{self, Signal},
    unistd::Pid,
};

use crate::say;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Executables(#[from] BuildError),
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error(
        "{} holds files and was not made by `cargo xtask up`: nothing was done",
        path.display()
    )]
    Foreign { path: PathBuf },
    #[error("another supervisor already runs")]
    Taken,
    #[error(
        "{} is in use, but process {pid} is not its supervisor (perhaps that one runs in another container): nothing was done",
        path.display()
    )]
    Stranger { path: PathBuf, pid: i32 },
    #[error("cannot signal the supervisor, process {pid}")]
    Signal { pid: i32, source: io::Error },
}

/// The state folder: by default one for each target folder of cargo. How it comes and goes: `turn.rs`.
///
/// Its owner is the process that holds the lock on its file `supervisor.lock`. The system lets go of a lock
/// when its holder ends, however it ends, so what the lock says is always true, which a file with
/// a process id is not.
#[derive(Clone, Debug)]
pub(crate) struct ClusterDir {
    root: PathBuf,
    executables: PathBuf,
    is_default: bool,
}

impl ClusterDir {
    /// The folder `root`, or else that of the target folder from which this program runs.
    pub(crate) fn new(root: Option<PathBuf>) -> Result<Self, Error> {
        let executables = local_operator::executables()?;
        let target = executables.parent().unwrap_or(&executables);
        let is_default = root.is_none();
        let root = root.unwrap_or_else(|| target.join("local-cluster"));
        // Other programs are told paths in it, wherever they run.
        let root = path::absolute(&root).map_err(|source| Error::Io { path: root, source })?;
        Ok(Self {
            root,
            executables,
            is_default,
        })
    }

    /// The command that stops what runs here.
    pub(crate) fn stop_command(&self) -> String {
        if self.is_default {
            "make down".to_owned()
        } else {
            format!("cargo xtask down --state-dir {}", say::quoted(&self.root))
        }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of the programs of this workspace, in which this one lies too.
    pub(crate) fn executables(&self) -> &Path {
        &self.executables
    }

    /// A program of this workspace, as built beside this one.
    pub(crate) fn executable(&self, name: &str) -> PathBuf {
        self.executables.join(name)
    }

    pub(crate) fn control_plane(&self) -> PathBuf {
        self.root.join("control-plane")
    }

    /// The folder of task-conversion's certificate.
    pub(crate) fn certificates(&self) -> PathBuf {
        self.root.join("certificates")
    }

    /// The folder of our programs' logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// The log of one of our programs.
    pub(crate) fn log(&self, program: &str) -> PathBuf {
        self.logs().join(format!("{program}.log"))
    }

    /// The file of the providers that the controller knows.
    pub(crate) fn providers(&self) -> PathBuf {
        self.root.join("providers.yaml")
    }

    /// What proves the callbacks of the simulator.
    pub(crate) fn callback_secret(&self) -> PathBuf {
        self.root.join("callback-secret")
    }

    pub(crate) fn status(&self) -> PathBuf {
        self.root.join("status.json")
    }

    pub(crate) fn kubectl_cache(&self) -> PathBuf {
        self.root.join("kubectl-cache")
    }

    pub(crate) fn supervisor_log(&self) -> PathBuf {
        self.root.join("supervisor.log")
    }

    fn supervisor_lock(&self) -> PathBuf {
        self.root.join("supervisor.lock")
    }

    /// Makes this process the owner, until the file is dropped.
    pub(crate) fn own(&self) -> Result<File, Error> {
        let path = self.supervisor_lock();
        let at = |source| Error::Io {
            path: path.clone(),
            source,
        };
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(at)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(Error::Taken),
            Err(TryLockError::Error(source)) => return Err(at(source)),
        }
        file.set_len(0)
            .and_then(|()| write!(file, "{}", std::process::id()))
            .map_err(at)?;
        Ok(file)
    }

    /// The owner, if there is one.
    pub(crate) fn supervisor(&self) -> Result<Option<Supervisor>, Error> {
        let path = self.supervisor_lock();
        let at = |source| Error::Io {
            path: path.clone(),
            source,
        };
        let mut file = match File::open(&path) {
            Err(err) if err.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(at)?,
        };
        loop {
            match file.try_lock_shared() {
                Ok(()) => return Ok(None),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(at(source)),
            }
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(at)?;
            if let Ok(pid) = text.parse() {
                return Supervisor::verified(pid, &path).map(Some);
            }
            // It holds the lock and is about to write its id.
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// The process that owns a [`ClusterDir`].
#[derive(Debug)]
pub(crate) struct Supervisor {
    pid: Pid,
}

impl Supervisor {
    /// A lock is seen in every container that shares the folder, a process id is not.
    fn verified(pid: i32, path: &Path) -> Result<Self, Error> {
        let command_line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let mut args = command_line.split(|&byte| byte == 0);
        if !args.any(|arg| arg == b"supervise") {
            return Err(Error::Stranger {
                path: path.to_owned(),
                pid,
            });
        }
        Ok(Self {
            pid: Pid::from_raw(pid),
        })
    }

    pub(crate) fn signal(&self, signal: Signal) -> Result<(), Error> {
        signal::kill(self.pid, signal).map_err(|errno| Error::Signal {
            pid: self.pid.as_raw(),
            source: errno.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster_dir() -> (tempfile::TempDir, ClusterDir) {
        let dir = tempfile::tempdir().unwrap();
        let cluster_dir = ClusterDir::new(Some(dir.path().join("cluster"))).unwrap();
        let turn = cluster_dir.make().unwrap();
        cluster_dir.reset(&turn).unwrap();
        (dir, cluster_dir)
    }

    #[test]
    fn a_lock_that_is_let_go_leaves_no_supervisor_behind() {
        let (_dir, cluster_dir) = cluster_dir();
        assert!(cluster_dir.supervisor().unwrap().is_none());
        drop(cluster_dir.own().unwrap());
        assert!(cluster_dir.supervisor().unwrap().is_none());
    }

    #[test]
    fn the_command_that_stops_it_names_the_folder_as_a_shell_reads_it() {
        let cluster_dir = ClusterDir::new(Some("/a folder/it's".into())).unwrap();
        assert_eq!(
            cluster_dir.stop_command(),
            r"cargo xtask down --state-dir '/a folder/it'\''s'"
        );
        assert_eq!(ClusterDir::new(None).unwrap().stop_command(), "make down");
    }

    #[test]
    fn there_is_one_supervisor_at_most() {
        let (_dir, cluster_dir) = cluster_dir();
        let _lock = cluster_dir.own().unwrap();
        assert!(matches!(cluster_dir.own(), Err(Error::Taken)));
    }

    #[test]
    fn a_process_that_is_no_supervisor_is_never_signalled() {
        let (_dir, cluster_dir) = cluster_dir();
        // This test's own process holds the lock.
        let _lock = cluster_dir.own().unwrap();
        assert!(matches!(
            cluster_dir.supervisor(),
            Err(Error::Stranger { .. })
        ));
    }
}
