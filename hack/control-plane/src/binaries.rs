//! Where the programs come from: a folder that the person names, the cache, or a build into the cache.

use std::{
    env, fs,
    fs::File,
    io,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::{
    go_build,
    progress::Progress,
    tools::{CONTROL_PLANE, GoModule, Tool},
};

/// The folder of kwok's stages, beside kwok.
const STAGES: &str = "kwok-stages";

/// Why there are no programs to run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no place to keep them.
    #[error(
        "neither XDG_CACHE_HOME nor HOME is set: there is no place to keep the control plane's programs"
    )]
    NoCache,
    /// The cache cannot be used.
    #[error("the cache {} cannot be used", path.display())]
    Cache {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A program could not be built.
    #[error(transparent)]
    Build(#[from] go_build::Error),
    /// The thread that looked for them did not come back.
    #[error("the search for the control plane's programs was interrupted: {0}")]
    Interrupted(String),
}

/// The executables of a control plane, Helm, NATS, and the stages that kwok runs.
#[derive(Clone, Debug)]
pub struct Binaries {
    /// By `Tool as usize`.
    paths: [PathBuf; Tool::ALL.len()],
    kwok_stages: Vec<PathBuf>,
}

impl Binaries {
    /// Finds every program, each by itself: in `$KUBEBUILDER_ASSETS`, then in
    /// `${XDG_CACHE_HOME:-~/.cache}/task-operator/control-plane/<its version>/`; what is in neither
    /// is built with `go` into the latter. That takes minutes, so progress is told on standard error.
    ///
    /// Only one process builds at a time; the others wait for it. A build that is killed leaves
    /// nothing that looks like a program.
    ///
    /// # Errors
    /// When something is missing and cannot be built.
    pub fn find_or_build() -> Result<Self, Error> {
        Places::from_environment()?.find_or_build()
    }

    /// The executable of a tool.
    #[must_use]
    pub fn path(&self, tool: Tool) -> &Path {
        &self.paths[tool as usize]
    }

    /// The stage files for kwok's `--config`, in name order.
    #[must_use]
    pub fn kwok_stages(&self) -> &[PathBuf] {
        &self.kwok_stages
    }
}

/// The folders that programs are looked for in.
struct Places {
    assets: Option<PathBuf>,
    /// Holds a folder for each version: the programs of Kubernetes share one, etcd, kwok, NATS and Helm have their own, so that
    /// a change of any version is noticed.
    cache: PathBuf,
}

impl Places {
    fn from_environment() -> Result<Self, Error> {
        let set = |name| {
            env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let caches = set("XDG_CACHE_HOME")
            .or_else(|| set("HOME").map(|home| home.join(".cache")))
            .ok_or(Error::NoCache)?;
        Ok(Self {
            assets: set("KUBEBUILDER_ASSETS"),
            cache: caches.join("task-operator/control-plane"),
        })
    }

    fn find_or_build(&self) -> Result<Binaries, Error> {
        if !self.complete() {
            self.build_missing()?;
        }
        let stages = self.stages();
        let mut kwok_stages = fs::read_dir(&stages)
            .and_then(|entries| {
                entries
                    .map(|entry| Ok(entry?.path()))
                    .collect::<io::Result<Vec<_>>>()
            })
            .map_err(|source| Error::Cache {
                path: stages,
                source,
            })?;
        kwok_stages.sort();
        Ok(Binaries {
            paths: self.paths(),
            kwok_stages,
        })
    }

    fn complete(&self) -> bool {
        self.missing().next().is_none() && self.stages().is_dir()
    }

    fn missing(&self) -> impl Iterator<Item = Tool> {
        Tool::ALL
            .into_iter()
            .filter(|&tool| self.find(tool).is_none())
    }

    fn find(&self, tool: Tool) -> Option<PathBuf> {
        let asset = self.assets.as_ref().map(|folder| folder.join(tool.name()));
        [asset, Some(self.cached(tool))]
            .into_iter()
            .flatten()
            .find(|path| is_executable(path))
    }

    /// Where a tool lies in the cache.
    fn cached(&self, tool: Tool) -> PathBuf {
        self.folder(tool).join(tool.name())
    }

    fn folder(&self, tool: Tool) -> PathBuf {
        self.cache.join(tool.version())
    }

    fn paths(&self) -> [PathBuf; Tool::ALL.len()] {
        let mut paths = <[PathBuf; Tool::ALL.len()]>::default();
        for tool in Tool::ALL {
            paths[tool as usize] = self.find(tool).unwrap_or_else(|| self.cached(tool));
        }
        paths
    }

    fn stages(&self) -> PathBuf {
        self.folder(Tool::Kwok).join(STAGES)
    }

    fn build_missing(&self) -> Result<(), Error> {
        let _lock = self.lock()?;
        // Whoever held the lock before may have built them.
        let missing: Vec<_> = self.missing().collect();
        let stages = self.stages();
        let stages_are_missing = !stages.is_dir();
        let mut progress = Progress::new(missing.len() + usize::from(stages_are_missing));
        if missing.len() > 1 {
            progress.note(&format!(
                "control plane of Kubernetes {}: building {} programs into {} (once; some minutes each)",
                Tool::KubeApiserver.version(),
                missing.len(),
                self.cache.display()
            ));
        }
        for tool in missing {
            let module = self.made_module(tool.go_module())?;
            go_build::build(tool, &module, &self.made_folder(tool)?, &mut progress)?;
        }
        if stages_are_missing {
            let module = self.made_module(CONTROL_PLANE)?;
            self.made_folder(Tool::Kwok)?;
            go_build::copy_kwok_stages(&module, &stages, &mut progress)?;
        }
        Ok(())
    }

    /// The folder of a Go module, with the module in it.
    fn made_module(&self, module: GoModule) -> Result<PathBuf, Error> {
        let folder = self.cache.join(module.folder);
        go_build::write_module(module, &folder)?;
        Ok(folder)
    }

    /// The folder of a tool's version, made if need be.
    fn made_folder(&self, tool: Tool) -> Result<PathBuf, Error> {
        let path = self.folder(tool);
        match fs::create_dir_all(&path) {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::Cache { path, source }),
        }
    }

    /// Waits until this process alone may write to the cache; until the file is dropped.
    fn lock(&self) -> Result<File, Error> {
        let path = self.cache.join(".lock");
        let at = |source| Error::Cache {
            path: path.clone(),
            source,
        };
        fs::create_dir_all(&self.cache).map_err(at)?;
        let file = File::create(&path).map_err(at)?;
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) => {}
            Err(fs::TryLockError::Error(source)) => return Err(at(source)),
        }
        Progress::new(0)
            .note("control plane: waiting for another process that builds its programs");
        file.lock().map_err(at)?;
        Ok(file)
    }
}

fn is_executable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(folder: &Path, name: &str, mode: u32) {
        let path = folder.join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn places() -> (tempfile::TempDir, Places) {
        let dir = tempfile::tempdir().unwrap();
        let places = Places {
            assets: Some(dir.path().join("assets")),
            cache: dir.path().join("cache"),
        };
        fs::create_dir(dir.path().join("assets")).unwrap();
        for tool in Tool::ALL {
            fs::create_dir_all(places.folder(tool)).unwrap();
            put(&places.folder(tool), tool.name(), 0o755);
        }
        fs::create_dir(places.stages()).unwrap();
        (dir, places)
    }

    #[test]
    fn each_program_is_looked_up_by_itself_and_the_assets_win() {
        let (_dir, places) = places();
        let assets = places.assets.clone().unwrap();
        put(&assets, "etcd", 0o755);

        let found = places.find_or_build().unwrap();

        assert_eq!(found.path(Tool::Etcd), assets.join("etcd"));
        assert_eq!(found.path(Tool::Kwok), places.cached(Tool::Kwok));
    }

    #[test]
    fn a_program_of_another_version_is_not_taken() {
        let (_dir, places) = places();
        assert!(places.complete());
        for tool in [Tool::Etcd, Tool::Kwok] {
            let other = places.cache.join("v0.0.1");
            fs::rename(places.folder(tool), &other).unwrap();
            assert_eq!(places.missing().collect::<Vec<_>>(), [tool]);
            fs::rename(other, places.folder(tool)).unwrap();
        }
    }

    #[test]
    fn a_file_that_cannot_be_executed_is_no_program() {
        let (_dir, places) = places();
        put(&places.folder(Tool::Etcd), "etcd", 0o644);
        assert!(places.missing().any(|tool| tool == Tool::Etcd));
    }

    #[test]
    fn the_stages_are_listed_in_name_order() {
        let (_dir, places) = places();
        for name in ["pod-ready.yaml", "node-initialize.yaml"] {
            fs::write(places.stages().join(name), "").unwrap();
        }
        let stages = places.find_or_build().unwrap().kwok_stages;
        assert!(stages[0].ends_with("node-initialize.yaml"), "{stages:?}");
        assert_eq!(stages.len(), 2);
    }
}
