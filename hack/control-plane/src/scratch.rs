//! Folders and ports of this machine that control planes of any process share without colliding.
//!
//! A claim is a lock on a file, which the system gives back when its process ends, however it ends.

use std::{
    env,
    fs::{self, DirBuilder, File, TryLockError},
    hash::{BuildHasher, RandomState},
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use nix::unistd::{Uid, getuid};

/// Ports that the system does not hand out to outgoing connections (Linux begins at 32768), so that
/// one stays free while the server on it is being restarted.
const PORTS: std::ops::Range<u16> = 20_000..32_768;

const LOCK: &str = ".lock";

/// A claim that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder could not be written.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A folder that is to hold keys is there and belongs to somebody else, who could exchange them.
    #[error("{} belongs to another user", .0.display())]
    NotOurs(PathBuf),
    /// Every port is taken.
    #[error("no port between {} and {} is free", PORTS.start, PORTS.end)]
    NoPort,
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

/// A free TCP port of 127.0.0.1, which no other claim on this machine gives out while this one lives.
///
/// Nothing listens on it yet, and its server may be stopped and started again.
#[derive(Debug)]
pub struct Port {
    number: u16,
    _claim: File,
}

impl Port {
    /// Claims a free port.
    ///
    /// # Errors
    /// When none is free, or the claim cannot be written.
    pub fn claim() -> Result<Self, Error> {
        let folder = shared_folder("ports")?;
        // Each process begins somewhere else: a port just given up may still have late callers.
        let count = PORTS.end - PORTS.start;
        let offset = (RandomState::new().hash_one(()) % u64::from(count)) as u16;
        for step in 0..count {
            let number = PORTS.start + (offset + step) % count;
            let path = folder.join(number.to_string());
            if let Some(claim) = try_claim(&path)?
                && TcpListener::bind((Ipv4Addr::LOCALHOST, number)).is_ok()
            {
                return Ok(Self {
                    number,
                    _claim: claim,
                });
            }
        }
        Err(Error::NoPort)
    }

    /// The port.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// The port with its host, 127.0.0.1.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.number).into()
    }
}

/// A folder for the state of one control plane, readable by this person only.
#[derive(Debug)]
pub(crate) enum StateDir {
    /// Removed when dropped; by the next claim if this process is killed.
    Temporary { path: PathBuf, _claim: File },
    /// Left as it is.
    Fixed(PathBuf),
}

impl StateDir {
    /// Makes a new folder, and removes those that killed processes left.
    pub(crate) fn temporary() -> Result<Self, Error> {
        let parent = shared_folder("control-planes")?;
        let gate_path = parent.join(LOCK);
        let gate = File::create(&gate_path).map_err(io_error(&gate_path))?;
        // Between making a folder and locking it, it would look abandoned.
        gate.lock().map_err(io_error(&gate_path))?;
        remove_abandoned(&parent)?;
        let path = tempfile::Builder::new()
            .prefix("")
            .tempdir_in(&parent)
            .map_err(io_error(&parent))?
            .keep();
        let lock = path.join(LOCK);
        let claim =
            try_claim(&lock)?.ok_or_else(|| io_error(&lock)(io::ErrorKind::ResourceBusy.into()))?;
        Ok(Self::Temporary {
            path,
            _claim: claim,
        })
    }

    /// Uses `path`, and makes it if need be.
    pub(crate) fn fixed(path: &Path) -> Result<Self, Error> {
        make_private(path)?;
        Ok(Self::Fixed(path.to_owned()))
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Temporary { path, .. } | Self::Fixed(path) => path,
        }
    }
}

impl Drop for StateDir {
    fn drop(&mut self) {
        if let Self::Temporary { path, .. } = self {
            // What is left is removed by the next claim.
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// A folder below the system's temporary folder that all processes of this person share.
fn shared_folder(name: &str) -> Result<PathBuf, Error> {
    let own = env::temp_dir().join(format!("task-operator-{}", getuid()));
    make_private(&own)?;
    // Anybody may have made it before us: the temporary folder is everybody's.
    must_belong_to(&own, getuid())?;
    let path = own.join(name);
    make_private(&path)?;
    Ok(path)
}

fn must_belong_to(path: &Path, user: Uid) -> Result<(), Error> {
    // Of a link, not of what it points at.
    let found = fs::symlink_metadata(path).map_err(io_error(path))?;
    if found.is_dir() && found.uid() == user.as_raw() {
        Ok(())
    } else {
        Err(Error::NotOurs(path.to_owned()))
    }
}

fn make_private(path: &Path) -> Result<(), Error> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(io_error(path))
}

/// Locks the file `path` for as long as the result lives; `None` when another holds it.
fn try_claim(path: &Path) -> Result<Option<File>, Error> {
    let file = File::create(path).map_err(io_error(path))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(io_error(path)(source)),
    }
}

fn remove_abandoned(parent: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(parent).map_err(io_error(parent))? {
        let path = entry.map_err(io_error(parent))?.path();
        // One that is being removed by its owner at this moment is not an error either.
        if path.is_dir() && matches!(try_claim(&path.join(LOCK)), Ok(Some(_))) {
            let _ = fs::remove_dir_all(&path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_claims_never_share_a_port() {
        let ports: Vec<_> = (0..20).map(|_| Port::claim().unwrap()).collect();
        let mut numbers: Vec<_> = ports.iter().map(Port::number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), 20);
    }

    #[test]
    fn a_claimed_port_can_be_listened_on() {
        let port = Port::claim().unwrap();
        TcpListener::bind(port.address()).unwrap();
    }

    #[test]
    fn a_folder_of_another_user_and_a_link_are_not_trusted() {
        let dir = tempfile::tempdir().unwrap();
        must_belong_to(dir.path(), getuid()).unwrap();
        let stranger = Uid::from_raw(getuid().as_raw() + 1);
        assert!(must_belong_to(dir.path(), stranger).is_err());
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(dir.path(), &link).unwrap();
        assert!(must_belong_to(&link, getuid()).is_err());
    }

    #[test]
    fn a_folder_that_nobody_holds_is_removed_and_one_in_use_is_kept() {
        let parent = tempfile::tempdir().unwrap();
        let [abandoned, used] = ["abandoned", "used"].map(|name| parent.path().join(name));
        fs::create_dir(&abandoned).unwrap();
        fs::create_dir(&used).unwrap();
        let _claim = try_claim(&used.join(LOCK)).unwrap().unwrap();

        remove_abandoned(parent.path()).unwrap();

        assert!(!abandoned.exists());
        assert!(used.exists());
    }

    #[test]
    fn a_temporary_folder_goes_with_its_owner_and_a_fixed_one_stays() {
        let temporary = StateDir::temporary().unwrap();
        let path = temporary.path().to_owned();
        assert!(path.is_dir());
        drop(temporary);
        assert!(!path.exists());

        let parent = tempfile::tempdir().unwrap();
        let path = parent.path().join("a/b");
        drop(StateDir::fixed(&path).unwrap());
        assert!(path.is_dir());
    }
}
