//! `kubectl task convert`: manifests from one version of Task to the other, without a cluster.

mod comments;
mod edit;
pub mod files;
mod interrupt;
mod items;
pub mod object;
mod write;

use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use task_conversion::ConvertError;
use task_conversion::task::TASK;

use crate::Outcome;
use crate::manifest::sources::{self, Source};
use crate::progress::say;
use crate::report::FailOn;
use files::Converted;
use interrupt::Interrupt;

/// Convert manifests to another version of Task, without a cluster.
///
/// It is the conversion that the webhook does, to the byte. Files may hold many documents and Lists; what is no Task is kept as it
/// is, to the byte, and so are comments, the order of fields and their style wherever a field stays. What became of each file is
/// told on the standard error. If one file cannot be converted, none is written.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    sources: sources::Args,

    /// The version to convert to: v1 or v1alpha1.
    #[arg(long, value_name = "VERSION", value_parser = version)]
    output_version: &'static str,

    /// The form of what is written to the standard output.
    #[arg(short, long, value_enum, default_value_t)]
    output: Form,

    /// Write each file back to where it was read from.
    #[arg(long, conflicts_with = "output")]
    in_place: bool,

    /// From which finding on to end with exit code 1: a lost comment is one to warn of.
    #[arg(long, value_enum, default_value_t = FailOn::Loss, value_name = "GRAVITY")]
    fail_on: FailOn,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Form {
    /// The text of the files, converted.
    #[default]
    Yaml,
    /// JSON: the object, or a List where there are several.
    Json,
}

/// Why nothing was converted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifests cannot be read.
    #[error(transparent)]
    Sources(#[from] sources::Error),
    /// Some cannot be converted. Which and why has been told.
    #[error("{0} of the files cannot be converted; nothing was written")]
    Files(usize),
    /// The standard input cannot be written back.
    #[error("--in-place needs files: the standard input cannot be written back")]
    Stdin,
    /// A file cannot be written.
    #[error("cannot write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The person pressed Ctrl-C.
    #[error("interrupted: {written} of {of} files were written, and the others are as they were")]
    Interrupted {
        /// How many files were written.
        written: usize,
        /// How many there are to write.
        of: usize,
    },
    /// The standard output takes no more.
    #[error("cannot write")]
    Write(#[source] io::Error),
}

/// A version that Task has.
///
/// # Errors
/// When it has no such version.
pub fn version(text: &str) -> Result<&'static str, ConvertError> {
    // With its group is fine as well.
    match text.contains('/') {
        true => TASK.version(text),
        false => TASK.version(&format!("{}/{text}", TASK.group())),
    }
}

/// Converts the manifests.
///
/// # Errors
/// See [`Error`]; then nothing has been written, unless writing itself failed.
pub fn run(args: &Args) -> Result<Outcome, Error> {
    let desired = args.output_version;
    let sources = args.sources.read()?;
    if args.in_place && sources.iter().any(|source| source.path.is_none()) {
        return Err(Error::Stdin);
    }
    let converted = convert_all(&sources, desired)?;
    for (source, file) in sources.iter().zip(&converted) {
        for line in file.story(&source.name(), desired) {
            say(&line);
        }
    }
    if args.in_place {
        write_back(&sources, &converted)?;
    } else {
        let text = match args.output {
            Form::Yaml => write::joined(converted.iter().map(|file| file.text.as_str())),
            Form::Json => write::json(converted.iter().flat_map(|file| &file.documents)),
        };
        stdout().write_all(text.as_bytes()).map_err(Error::Write)?;
    }
    let fails = match args.fail_on {
        FailOn::None => false,
        FailOn::Warn => converted.iter().any(Converted::warned),
        FailOn::Loss => converted.iter().any(Converted::lost),
    };
    Ok(if fails {
        Outcome::Findings
    } else {
        Outcome::Fine
    })
}

/// Writes the files that have changed. Where one may not be written, none is.
fn write_back(sources: &[Source], converted: &[Converted]) -> Result<(), Error> {
    let changed: Vec<(&Path, &str)> = sources
        .iter()
        .zip(converted)
        .filter(|(source, file)| source.text != file.text)
        .filter_map(|(source, file)| Some((source.path.as_deref()?, file.text.as_str())))
        .collect();
    let file_error = |path: &Path| {
        let path = path.to_owned();
        |source| Error::File { path, source }
    };
    for (path, _) in &changed {
        write::may_be_replaced(path).map_err(file_error(path))?;
    }
    let interrupt = Interrupt::watched();
    for (written, (path, text)) in changed.iter().enumerate() {
        if interrupt.came() {
            return Err(Error::Interrupted {
                written,
                of: changed.len(),
            });
        }
        write::replace(path, text).map_err(file_error(path))?;
    }
    Ok(())
}

fn convert_all(sources: &[Source], desired: &'static str) -> Result<Vec<Converted>, Error> {
    let mut converted = Vec::new();
    let mut failed = 0;
    for source in sources {
        match files::convert(&source.text, desired) {
            Ok(file) => converted.push(file),
            Err(error) => {
                failed += 1;
                say(&format!("{}: {}", source.name(), crate::run::chain(&error)));
            }
        }
    }
    if failed > 0 {
        return Err(Error::Files(failed));
    }
    Ok(converted)
}
