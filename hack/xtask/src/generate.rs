//! The generated files of this repository.

use std::{fs, io, path::PathBuf};

use local_operator::{BuildError, workspace};

use crate::{chart, reference};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Workspace(#[from] BuildError),
    #[error(transparent)]
    Chart(#[from] chart::Error),
    #[error("cannot read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is not as it is generated, first in line {line}: run `make generate`", path.display())]
    Drift { path: PathBuf, line: usize },
}

/// Writes what has to be registered with the API server, its reference for people, the chart's templates of it, and the manifest; or with `check` compares them with
/// the files.
pub(crate) fn generate(check: bool) -> Result<(), Error> {
    let root = workspace()?;
    let settle = |path: PathBuf, wanted: String| {
        if check {
            compare(path, &wanted)
        } else {
            fs::write(&path, wanted).map_err(|source| Error::Write { path, source })
        }
    };
    for (name, wanted) in task_crds::files() {
        settle(root.join("crds").join(name), wanted)?;
    }
    let reference = reference::page(&task_crds::crd());
    settle(root.join("docs/api-reference.md"), reference)?;
    for (name, wanted) in chart::templates() {
        settle(root.join(chart::CHART).join("templates").join(name), wanted)?;
    }
    // Rendered last, from the templates as they now are.
    settle(root.join("deploy/install.yaml"), chart::manifest(&root)?)
}

fn compare(path: PathBuf, wanted: &str) -> Result<(), Error> {
    let found = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(Error::Read { path, source }),
    };
    match first_difference(&found, wanted) {
        None => Ok(()),
        Some(line) => Err(Error::Drift { path, line }),
    }
}

/// The number of the first line in which two texts differ.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return None;
    }
    let same = one
        .split_inclusive('\n')
        .zip(other.split_inclusive('\n'))
        .take_while(|(a, b)| a == b);
    Some(same.count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_differs_is_told() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
        assert_eq!(first_difference("a", "a\n"), Some(1));
    }
}
