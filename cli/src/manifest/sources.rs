//! The files that `-f` names.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The endings of the names of manifests, as for kubectl.
const ENDINGS: [&str; 3] = ["json", "yaml", "yml"];

/// The name of the standard input.
const STDIN: &str = "-";

/// Why the manifests cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("cannot read {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// There is one standard input.
    #[error("the standard input (-) can be read once only")]
    StdinTwice,
    /// A folder has no manifest in it.
    #[error("{} has no file that ends with .json, .yaml or .yml{}", path.display(), if *recursive { "" } else { "; -R looks in the folders below it as well" })]
    Empty {
        /// The folder.
        path: PathBuf,
        /// Whether the folders in it were looked through as well.
        recursive: bool,
    },
}

/// The flags.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub struct Args {
    /// A file, a folder, or - for the standard input. May be given more than once.
    #[arg(short, long = "filename", required = true, value_name = "FILE")]
    filenames: Vec<PathBuf>,

    /// Look in the folders below the given ones as well.
    #[arg(short = 'R', long)]
    recursive: bool,
}

/// A manifest that was read.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its file; `None` for the standard input.
    pub path: Option<PathBuf>,
    /// What it holds.
    pub text: String,
}

impl Source {
    /// How people call it.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.path {
            Some(path) => path.display().to_string(),
            None => "standard input".to_owned(),
        }
    }
}

impl Args {
    /// Reads all of them, the files of a folder in the order of their names.
    ///
    /// # Errors
    /// When one cannot be read, or a folder has none.
    pub fn read(&self) -> Result<Vec<Source>, Error> {
        let mut sources = Vec::new();
        if self.names_stdin() > 1 {
            return Err(Error::StdinTwice);
        }
        for path in &self.filenames {
            sources.extend(read(path, self.recursive)?);
        }
        Ok(sources)
    }

    /// Reads one more file or folder, just as the others.
    ///
    /// # Errors
    /// As [`Args::read`].
    pub fn read_other(&self, path: &Path) -> Result<Vec<Source>, Error> {
        if path == Path::new(STDIN) && self.names_stdin() > 0 {
            return Err(Error::StdinTwice);
        }
        read(path, self.recursive)
    }

    fn names_stdin(&self) -> usize {
        let names = self.filenames.iter();
        names.filter(|path| *path == Path::new(STDIN)).count()
    }
}

/// Reads one file, or the files of a folder in the order of their names.
///
/// # Errors
/// When one cannot be read, or a folder has none.
pub fn read(path: &Path, recursive: bool) -> Result<Vec<Source>, Error> {
    if path == Path::new(STDIN) {
        let mut text = String::new();
        let read = io::stdin().read_to_string(&mut text);
        read.map_err(io_error(path))?;
        return Ok(vec![Source { path: None, text }]);
    }
    if !path.is_dir() {
        return Ok(vec![read_file(path)?]);
    }
    let mut files = BTreeSet::new();
    collect(path, recursive, &mut files)?;
    if files.is_empty() {
        return Err(Error::Empty {
            path: path.to_owned(),
            recursive,
        });
    }
    files.iter().map(|file| read_file(file)).collect()
}

fn read_file(path: &Path) -> Result<Source, Error> {
    Ok(Source {
        path: Some(path.to_owned()),
        text: fs::read_to_string(path).map_err(io_error(path))?,
    })
}

fn collect(folder: &Path, recursive: bool, files: &mut BTreeSet<PathBuf>) -> Result<(), Error> {
    for entry in fs::read_dir(folder).map_err(io_error(folder))? {
        let entry = entry.map_err(io_error(folder))?;
        let path = entry.path();
        // Of a link, not of what it points at: a link to a folder may lead in a circle.
        if entry.file_type().map_err(io_error(&path))?.is_dir() {
            if recursive {
                collect(&path, recursive, files)?;
            }
        } else if ENDINGS
            .iter()
            .any(|ending| path.extension() == Some(OsStr::new(ending)))
            // A link that points at nothing is an error, as a file that cannot be read is.
            && fs::metadata(&path).map_err(io_error(&path))?.is_file()
        {
            files.insert(path);
        }
    }
    Ok(())
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(recursive: bool) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("below")).unwrap();
        for name in ["b.yaml", "a.yml", "c.json", "d.txt", "below/e.yaml"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let args = Args {
            filenames: vec![folder.path().to_owned()],
            recursive,
        };
        let sources = args.read().unwrap();
        let name = |source: &Source| {
            let path = source.path.as_ref().unwrap();
            path.strip_prefix(folder.path())
                .unwrap()
                .display()
                .to_string()
        };
        sources.iter().map(name).collect()
    }

    #[test]
    fn a_folder_gives_its_manifests_in_the_order_of_their_names() {
        assert_eq!(names(false), ["a.yml", "b.yaml", "c.json"]);
        assert_eq!(names(true), ["a.yml", "b.yaml", "below/e.yaml", "c.json"]);
    }

    #[test]
    fn a_link_that_points_at_nothing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("a.yaml");
        std::os::unix::fs::symlink("nowhere", &link).unwrap();
        let error = read(folder.path(), false).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot read {}", link.display()));
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let args = Args {
            filenames: vec!["nowhere.yaml".into()],
            recursive: false,
        };
        assert_eq!(
            args.read().unwrap_err().to_string(),
            "cannot read nowhere.yaml"
        );
    }
}
