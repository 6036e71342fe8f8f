//! Building the operator's programs from a program that cargo itself runs.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    path::{Path, PathBuf},
    process::ExitStatus,
};

use tokio::process::Command;

use crate::program::{CONTROLLER, CONVERSION};

/// The name of kubectl's plugin, which is that of its executable.
const PLUGIN: &str = "kubectl-task";

/// Why the operator's programs are not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is nothing to build them from.
    #[error("the current folder is not in a clone of this project: go to one and try again")]
    OutsideProject,
    /// Where this program lies, and so where its siblings would, is not known.
    #[error("cannot tell where this program lies")]
    Executable(#[source] io::Error),
    /// There is no cargo to build them with.
    #[error("cannot run cargo build")]
    Run(#[source] io::Error),
    /// They do not compile; cargo has said why.
    #[error("cargo build failed ({0})")]
    Failed(ExitStatus),
}

/// The root of this repository: of the package that cargo runs, or else around the current folder.
///
/// Not that of the clone from which this program was built, which may have been moved or copied since.
///
/// # Errors
/// [`Error::OutsideProject`].
pub fn workspace() -> Result<PathBuf, Error> {
    let package = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    [package, env::current_dir().ok()]
        .iter()
        .flatten()
        .find_map(|folder| workspace_around(folder))
        .map(Path::to_owned)
        .ok_or(Error::OutsideProject)
}

fn workspace_around(folder: &Path) -> Option<&Path> {
    folder
        .ancestors()
        .find(|folder| folder.join("hack/local-operator/Cargo.toml").is_file())
}

/// The folder of the programs that are built as this one is: its own, `<target>/<profile>`. A test lies one folder deeper.
///
/// # Errors
/// [`Error::Executable`].
pub fn executables() -> Result<PathBuf, Error> {
    let executable = env::current_exe().map_err(Error::Executable)?;
    Ok(folder_of_programs(&executable).to_owned())
}

fn folder_of_programs(executable: &Path) -> &Path {
    let folder = executable.parent().unwrap_or(executable);
    match folder.parent() {
        Some(profile) if folder.ends_with("deps") => profile,
        _ => folder,
    }
}

/// Builds both programs of the operator into `executables`, a folder as [`executables`] gives it. Cargo tells its progress
/// on standard error.
///
/// # Errors
/// When they do not compile, there is no cargo, or this is not run in the project.
pub async fn build(executables: &Path) -> Result<(), Error> {
    build_programs(executables, &[CONVERSION, CONTROLLER]).await
}

/// Builds kubectl's plugin likewise, and gives its path.
///
/// # Errors
/// As [`build`].
pub async fn build_plugin(executables: &Path) -> Result<PathBuf, Error> {
    build_programs(executables, &[PLUGIN]).await?;
    Ok(executables.join(PLUGIN))
}

async fn build_programs(executables: &Path, programs: &[&str]) -> Result<(), Error> {
    let target = executables.parent().unwrap_or(executables);
    let mut command = cargo();
    command
        .current_dir(workspace()?)
        .env("CARGO_TARGET_DIR", target)
        .arg("build");
    for program in programs {
        command.args(["--bin", program]);
    }
    if executables.ends_with("release") {
        command.arg("--release");
    }
    match command.status().await.map_err(Error::Run)? {
        status if status.success() => Ok(()),
        status => Err(Error::Failed(status)),
    }
}

/// A cargo command, the same cargo as the one that runs this program, which builds as a person's own would.
///
/// Cargo tells a program that it runs, as variables, which package that is. Build scripts look at the same variables
/// (ring's does): a build that inherits them compiles ring and all that is upon it anew, and so does the next
/// one that does not.
fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for name in described_package(env::vars_os().map(|(name, _)| name)) {
        command.env_remove(name);
    }
    command
}

/// Those of the variables by which cargo describes the package that it runs.
fn described_package(names: impl Iterator<Item = OsString>) -> impl Iterator<Item = OsString> {
    const PREFIXES: [&str; 5] = [
        "CARGO_PKG_",
        "CARGO_MANIFEST_",
        "CARGO_BIN_",
        "CARGO_CRATE_",
        "CARGO_PRIMARY_",
    ];
    let describes = |name: &OsStr| {
        let name = name.to_string_lossy();
        PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    };
    names.filter(move |name| describes(name))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_workspace_is_the_folder_with_the_lock_file_of_cargo() {
        assert!(workspace().unwrap().join("Cargo.lock").is_file());
    }

    #[test]
    fn the_workspace_is_the_clone_around_a_folder_wherever_it_lies() {
        let clone = tempfile::tempdir().unwrap();
        let package = clone.path().join("hack/local-operator");
        fs::create_dir_all(&package).unwrap();
        assert_eq!(workspace_around(&package), None);
        fs::write(package.join("Cargo.toml"), "").unwrap();
        for folder in [clone.path(), &package] {
            assert_eq!(workspace_around(folder), Some(clone.path()));
        }
    }

    #[test]
    fn a_test_and_a_program_find_the_same_folder() {
        for executable in ["t/debug/xtask", "t/debug/deps/first_light-0123"] {
            assert_eq!(folder_of_programs(Path::new(executable)), "t/debug");
        }
    }

    #[test]
    fn a_persons_settings_are_kept_and_the_package_that_runs_is_forgotten() {
        let names = [
            "CARGO_HOME",
            "CARGO_MANIFEST_DIR",
            "CARGO_TARGET_DIR",
            "CARGO_PKG_NAME",
        ];
        let forgotten: Vec<_> = described_package(names.into_iter().map(Into::into)).collect();
        assert_eq!(forgotten, ["CARGO_MANIFEST_DIR", "CARGO_PKG_NAME"]);
    }
}
