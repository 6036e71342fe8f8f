//! How a state folder comes and goes: one process at a time makes or removes it, and none removes a folder that was not made here.

use std::{
    fs::{self, File, OpenOptions},
    io::{
        self,
        ErrorKind::{AlreadyExists, NotFound},
        Write,
    },
    os::unix::fs::MetadataExt,
    path::PathBuf,
};

use crate::cluster_dir::{ClusterDir, Error};

/// The file that says that a folder is a state folder: only one that has it is ever removed.
const MARK: &str = "made-by-xtask-up";

/// What it says to who finds it.
const MARK_TEXT: &str =
    "The state of a local control plane. `make down` removes this folder and all that is in it.\n";

/// The right to begin or end what runs in a [`ClusterDir`], which one process at a time has: until it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Turn {
    _mark: File,
}

impl ClusterDir {
    fn mark(&self) -> PathBuf {
        self.root().join(MARK)
    }

    /// Makes the folder if it is not there, marks it, and waits until no other `up` or `down` runs.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a folder that holds files and no mark; they are not touched.
    pub(crate) fn make(&self) -> Result<Turn, Error> {
        loop {
            fs::create_dir_all(self.root()).map_err(|source| self.error(source))?;
            if self.is_there()? {
                if let Some(turn) = self.wait_for_turn()? {
                    return Ok(turn);
                }
            } else {
                let marked = OpenOptions::new()
                    .write(true)
                    .create_new(true)
                    .open(self.mark())
                    .and_then(|mut mark| mark.write_all(MARK_TEXT.as_bytes()));
                match marked {
                    // Another one made the mark, or removed the folder.
                    Err(err) if matches!(err.kind(), AlreadyExists | NotFound) => {}
                    marked => marked.map_err(|source| self.error(source))?,
                }
            }
        }
    }

    /// Waits until no other `up` or `down` runs; `None` if there is nothing, or an empty folder.
    ///
    /// # Errors
    /// [`Error::Foreign`] for a folder that holds files and no mark.
    pub(crate) fn find(&self) -> Result<Option<Turn>, Error> {
        while self.is_there()? {
            if let Some(turn) = self.wait_for_turn()? {
                return Ok(Some(turn));
            }
        }
        Ok(None)
    }

    /// Whether there is a state folder.
    fn is_there(&self) -> Result<bool, Error> {
        if self.mark().exists() {
            return Ok(true);
        }
        let mut entries = match fs::read_dir(self.root()) {
            Err(err) if err.kind() == NotFound => return Ok(false),
            entries => entries.map_err(|source| self.error(source))?,
        };
        if entries.next().is_none() {
            return Ok(false);
        }
        // Another one may have made it meanwhile; the mark is the first file that is made.
        if self.mark().exists() {
            return Ok(true);
        }
        Err(Error::Foreign {
            path: self.root().to_owned(),
        })
    }

    /// The turn is a lock on the mark; `None` if who had it before removed that.
    fn wait_for_turn(&self) -> Result<Option<Turn>, Error> {
        let path = self.mark();
        let at = |source| Error::Io {
            path: path.clone(),
            source,
        };
        let mark = match OpenOptions::new().write(true).open(&path) {
            Err(err) if err.kind() == NotFound => return Ok(None),
            opened => opened.map_err(at)?,
        };
        mark.lock().map_err(at)?;
        let locked = mark.metadata().map_err(at)?;
        let is_same = fs::metadata(&path)
            .is_ok_and(|named| (named.dev(), named.ino()) == (locked.dev(), locked.ino()));
        Ok(is_same.then_some(Turn { _mark: mark }))
    }

    /// Removes what a supervisor that is gone left, and makes the folder anew.
    pub(crate) fn reset(&self, turn: &Turn) -> Result<(), Error> {
        self.clear(turn)?;
        for folder in [self.logs(), self.certificates()] {
            fs::create_dir_all(&folder).map_err(|source| Error::Io {
                path: folder,
                source,
            })?;
        }
        Ok(())
    }

    /// Removes the folder. Whoever calls it knows that no supervisor runs.
    pub(crate) fn remove(&self, turn: Turn) -> Result<(), Error> {
        self.clear(&turn)?;
        fs::remove_file(self.mark()).map_err(|source| self.error(source))?;
        // Not so if it is a link, or another `up` begins here.
        let _ = fs::remove_dir(self.root());
        Ok(())
    }

    /// Removes all but the mark.
    fn clear(&self, _turn: &Turn) -> Result<(), Error> {
        let entries = fs::read_dir(self.root()).map_err(|source| self.error(source))?;
        for entry in entries {
            let entry = entry.map_err(|source| self.error(source))?;
            if entry.file_name() == MARK {
                continue;
            }
            let path = entry.path();
            let removed = match entry.file_type() {
                Ok(kind) if kind.is_dir() => fs::remove_dir_all(&path),
                _ => fs::remove_file(&path),
            };
            removed.map_err(|source| Error::Io { path, source })?;
        }
        Ok(())
    }

    fn error(&self, source: io::Error) -> Error {
        Error::Io {
            path: self.root().to_owned(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{thread, time::Duration};

    use super::*;

    fn at(root: PathBuf) -> ClusterDir {
        ClusterDir::new(Some(root)).unwrap()
    }

    fn cluster_dir() -> (tempfile::TempDir, ClusterDir) {
        let dir = tempfile::tempdir().unwrap();
        let cluster_dir = at(dir.path().join("cluster"));
        let turn = cluster_dir.make().unwrap();
        cluster_dir.reset(&turn).unwrap();
        (dir, cluster_dir)
    }

    #[test]
    fn a_state_folder_may_be_asked_for_where_there_is_nothing_yet() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["", "not/yet"] {
            let turn = at(dir.path().join(folder)).make();
            assert!(turn.is_ok(), "{turn:?}");
        }
    }

    #[test]
    fn a_folder_that_holds_something_else_is_neither_used_nor_removed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("supervisor.lock");
        fs::write(&file, "keep").unwrap();
        let cluster_dir = at(dir.path().to_owned());
        assert!(matches!(cluster_dir.make(), Err(Error::Foreign { .. })));
        assert!(matches!(cluster_dir.find(), Err(Error::Foreign { .. })));
        assert_eq!(fs::read_to_string(file).unwrap(), "keep");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_was_made_is_removed_and_nothing_is_left_beside_it() {
        let (dir, cluster_dir) = cluster_dir();
        let turn = cluster_dir.find().unwrap().unwrap();
        cluster_dir.remove(turn).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert!(cluster_dir.find().unwrap().is_none());
    }

    #[test]
    fn of_a_state_folder_behind_a_link_only_what_is_in_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let [link, folder] = ["link", "folder"].map(|name| dir.path().join(name));
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        let cluster_dir = at(link.clone());
        let turn = cluster_dir.make().unwrap();
        cluster_dir.reset(&turn).unwrap();
        cluster_dir.remove(turn).unwrap();
        assert_eq!(fs::read_dir(&link).unwrap().count(), 0);
    }

    #[test]
    fn one_has_its_turn_after_another_also_where_that_one_removed_the_folder() {
        let (_dir, cluster_dir) = cluster_dir();
        let turn = cluster_dir.find().unwrap().unwrap();
        let next = cluster_dir.clone();
        let waits = thread::spawn(move || next.make().map(|_turn| next.mark().exists()));
        thread::sleep(Duration::from_millis(50));
        assert!(!waits.is_finished());
        cluster_dir.remove(turn).unwrap();
        assert!(waits.join().unwrap().unwrap());
    }
}
