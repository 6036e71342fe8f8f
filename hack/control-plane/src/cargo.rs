//! Cargo, run by a program that cargo itself runs.

use std::{
    env,
    ffi::{OsStr, OsString},
    process::Command,
};

/// A cargo command, the same cargo as the one that runs this program, which builds as a person's own would.
///
/// Cargo tells a program that it runs, as variables, which package that is. Build scripts look at the same variables
/// (ring's does): a build that inherits them compiles ring and all that is upon it anew, and so does the next
/// one that does not.
#[must_use]
pub fn cargo() -> Command {
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
    use super::*;

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
