//! What a person reads while a command runs: on standard error, so that standard output holds results only.

use std::{error::Error, path::Path};

/// The next step begins.
pub(crate) fn step(what: &str) {
    eprintln!("==> {what}");
}

/// The command failed.
pub(crate) fn error(err: &dyn Error) {
    eprintln!("error: {}", with_causes(err));
}

/// An error and what caused it, in one line.
pub(crate) fn with_causes(err: &dyn Error) -> String {
    std::iter::successors(Some(err), |err| (*err).source())
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

/// A path as a shell reads it.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}
