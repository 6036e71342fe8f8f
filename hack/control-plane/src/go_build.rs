//! Building the tools from the Go module that pins them.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use crate::{
    die_with_parent,
    process::log_tail,
    progress::Progress,
    tools::{GoModule, Tool},
};

/// The stages of kwok that make it a kubelet whose Pods are ready at once: where they lie in kwok's
/// module.
const KWOK_STAGES: [&str; 3] = [
    "kustomize/stage/node/fast",
    "kustomize/stage/node/heartbeat-with-lease",
    "kustomize/stage/pod/fast",
];

const POLL: Duration = Duration::from_millis(200);

/// Why something could not be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No Go.
    #[error(
        "{what} is neither in $KUBEBUILDER_ASSETS nor in the cache, and to build it `go` is needed: \
         install Go (https://go.dev/dl/) and put it on PATH"
    )]
    NoGo {
        /// What was to be built.
        what: &'static str,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// Go ran and failed.
    #[error("`go` failed for {what}:\n{output}")]
    Go {
        /// What was to be built.
        what: &'static str,
        /// The last lines that it wrote.
        output: String,
    },
    /// A file could not be read or written.
    #[error("building {what} failed at {}", path.display())]
    Io {
        /// What was to be built.
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// Writes a Go module to the folder `module`.
///
/// The caller holds the lock of the cache.
pub(crate) fn write_module(go_module: GoModule, module: &Path) -> Result<(), Error> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io {
            what: "the programs",
            path,
            source,
        }
    };
    fs::create_dir_all(module).map_err(at(module))?;
    for (name, text) in [("go.mod", go_module.go_mod), ("go.sum", go_module.go_sum)] {
        let path = module.join(name);
        fs::write(&path, text).map_err(at(&path))?;
    }
    Ok(())
}

/// Builds `tool`, as the Go module pins it, as `dir/<name>`. The file appears there whole or not at all.
///
/// The caller holds the lock of the cache.
pub(crate) fn build(
    tool: Tool,
    module: &Path,
    dir: &Path,
    progress: &mut Progress,
) -> Result<(), Error> {
    let what = tool.name();
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io { what, path, source }
    };
    let partial = dir.join(format!(".{what}.partial"));
    let log = dir.join(format!(".{what}.build.log"));

    progress.step(what);
    require_go(what)?;
    let output = File::create(&log).map_err(at(&log))?;
    let errors = output.try_clone().map_err(at(&log))?;
    let mut command = die_with_parent::command("go");
    go_environment(&mut command, module)
        .args(["build", "-trimpath", "-ldflags"])
        .arg(format!("-s -w{}", tool.version_ldflags()))
        .arg("-o")
        .arg(&partial)
        .arg(tool.package())
        .stdout(output)
        .stderr(errors);
    let mut go = die_with_parent::spawn(command).map_err(at(Path::new("go")))?;
    let status = loop {
        if let Some(status) = go.try_wait().map_err(at(Path::new("go")))? {
            break status;
        }
        thread::sleep(POLL);
        progress.tick();
    };
    if !status.success() {
        return Err(Error::Go {
            what,
            output: log_tail(&log),
        });
    }
    let target = dir.join(what);
    fs::rename(&partial, &target).map_err(at(&target))?;
    fs::remove_file(&log).map_err(at(&log))?;
    progress.done();
    Ok(())
}

/// Copies kwok's stages to `target`, a folder that appears whole or not at all.
///
/// The caller holds the lock of the cache.
pub(crate) fn copy_kwok_stages(
    module: &Path,
    target: &Path,
    progress: &mut Progress,
) -> Result<(), Error> {
    const WHAT: &str = "kwok's stages";
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::Io {
            what: WHAT,
            path,
            source,
        }
    };
    progress.step(WHAT);
    let kwok = kwok_source(WHAT, module)?;
    let partial = target.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(at(&partial))?;
    }
    fs::create_dir(&partial).map_err(at(&partial))?;
    for folder in KWOK_STAGES {
        let folder = kwok.join(folder);
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let source = entry.map_err(at(&folder))?.path();
            let Some(name) = source.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            if name.ends_with(".yaml") && name != "kustomization.yaml" {
                let text = fs::read(&source).map_err(at(&source))?;
                let copy = partial.join(name);
                // Not fs::copy: files of the module cache are read-only, and so would the copy be.
                fs::write(&copy, text).map_err(at(&copy))?;
            }
        }
    }
    fs::rename(&partial, target).map_err(at(target))?;
    progress.done();
    Ok(())
}

/// The folder of kwok's source, downloaded if need be.
fn kwok_source(what: &'static str, module: &Path) -> Result<PathBuf, Error> {
    require_go(what)?;
    let mut command = Command::new("go");
    let output = go_environment(&mut command, module)
        .args(["mod", "download", "-json", "sigs.k8s.io/kwok"])
        .stdin(Stdio::null())
        .output()
        .map_err(|source| Error::NoGo { what, source })?;
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    match answer["Dir"].as_str() {
        Some(dir) if output.status.success() => Ok(dir.into()),
        _ => Err(Error::Go {
            what,
            output: [output.stdout, output.stderr]
                .map(|text| String::from_utf8_lossy(&text).into_owned())
                .concat(),
        }),
    }
}

/// Fails with a message that helps when there is no Go.
fn require_go(what: &'static str) -> Result<(), Error> {
    Command::new("go")
        .arg("version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .map(drop)
        .map_err(|source| Error::NoGo { what, source })
}

/// Makes a `go` command work in the folder `module`, and independent of the person's own Go settings, apart from where
/// modules come from and where what is built is cached.
fn go_environment<'a>(command: &'a mut Command, module: &Path) -> &'a mut Command {
    command
        .current_dir(module)
        .env("CGO_ENABLED", "0")
        // Not empty: an empty one falls back to what `go env -w` wrote.
        .env("GOFLAGS", "-mod=readonly")
        .env("GOWORK", "off")
        .env_remove("GOOS")
        .env_remove("GOARCH")
}
