//! `kubectl task diff`: in what Tasks differ, whatever versions they are of.

mod compare;
mod round_trip;
mod sides;

use std::io::{self, stdout};

pub use compare::{Difference, Scope, compare};
pub use round_trip::{Fate, converted, round_trip};
use task_conversion::ConvertError;

use crate::manifest::sources;
use crate::report::{self, Report, Verdict};
use crate::{Outcome, cluster, convert};

/// Tell field by field in what Tasks differ, whatever versions they are of.
///
/// Against --with another file or folder; with --round-trip, against themselves after a conversion to the other version and back;
/// else against the Tasks of the cluster, where only the fields count that the manifest has.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    sources: sources::Args,

    /// The file or folder to compare with.
    #[arg(long, value_name = "FILE")]
    with: Option<std::path::PathBuf>,

    /// Tell what is lost on the way to the other version and back, and what of it rides in an annotation only.
    #[arg(long, conflicts_with = "with")]
    round_trip: bool,

    /// The version to compare at.
    #[arg(long, value_name = "VERSION", default_value = "v1", value_parser = convert::version)]
    output_version: &'static str,

    #[command(flatten)]
    report: report::Args,
}

/// Why nothing can be compared.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The manifests cannot be read.
    #[error(transparent)]
    Sources(#[from] sources::Error),
    /// A manifest is none.
    #[error("{name}")]
    Manifest {
        /// The file.
        name: String,
        /// What is wrong with it.
        #[source]
        source: convert::files::Error,
    },
    /// A Task cannot be converted.
    #[error("Task {name}")]
    Task {
        /// Its namespace and name.
        name: String,
        /// Why.
        #[source]
        source: round_trip::Error,
    },
    /// A Task is of a version that there is not.
    #[error("Task {name}")]
    Version {
        /// Its namespace and name.
        name: String,
        /// What is wrong with its version.
        #[source]
        source: ConvertError,
    },
    /// A Task nests too deep.
    #[error("Task {name}")]
    Json {
        /// Its namespace and name.
        name: String,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
    /// There is no client.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// The API server does not give a Task.
    #[error("cannot read Task {name}")]
    Live {
        /// Its namespace and name.
        name: String,
        /// What the API server said.
        #[source]
        source: Box<kube::Error>,
    },
    /// The standard output takes no more.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

/// Compares.
///
/// # Errors
/// See [`Error`].
pub async fn run(cluster: &cluster::Args, args: &Args) -> Result<Outcome, Error> {
    let mut report = Report::of("diff");
    let sources = args.sources.read()?;
    if args.round_trip {
        for side in sides::as_written(&sources)? {
            tell_fates(&side, &mut report)?;
        }
    } else if let Some(with) = &args.with {
        let left = sides::at(&sources, args.output_version)?;
        let right = sides::at(&args.sources.read_other(with)?, args.output_version)?;
        for task in &left {
            match right.iter().find(|other| other.name == task.name) {
                Some(other) => tell(
                    &task.name,
                    &compare(&task.object, &other.object, Scope::All),
                    &mut report,
                ),
                None => report.add(
                    Verdict::Warn,
                    "missing",
                    &task.name,
                    "only the first side has it",
                ),
            }
        }
        for other in &right {
            if !left.iter().any(|task| task.name == other.name) {
                report.add(
                    Verdict::Warn,
                    "missing",
                    &other.name,
                    "only the second side has it",
                );
            }
        }
    } else {
        let cluster = cluster.connect().await?;
        for mut task in sides::at(&sources, args.output_version)? {
            match sides::live(&cluster, &mut task, args.output_version).await? {
                Some(live) => tell(
                    &task.name,
                    &compare(&task.object, &live, Scope::OfLeft),
                    &mut report,
                ),
                None => report.add(
                    Verdict::Warn,
                    "missing",
                    &task.name,
                    "the cluster does not have it",
                ),
            }
        }
    }
    if report.findings.is_empty() {
        report.add(Verdict::Note, "tasks", "", "there is no Task in it");
    }
    report.write(args.report.output, stdout().lock())?;
    Ok(report.outcome(args.report.fail_on))
}

fn tell(name: &str, differences: &[Difference], report: &mut Report) {
    if differences.is_empty() {
        report.add(Verdict::Ok, "same", name, "no difference");
    }
    for difference in differences {
        report.add(Verdict::Warn, "different", name, difference.to_string());
    }
}

fn tell_fates(task: &sides::Task, report: &mut Report) -> Result<(), Error> {
    let name = &task.name;
    let fates = round_trip(&task.object, task.version).map_err(|source| Error::Task {
        name: name.clone(),
        source,
    })?;
    if fates.is_empty() {
        report.add(
            Verdict::Ok,
            "round trip",
            name,
            "both versions say the same",
        );
    }
    for fate in fates {
        match fate {
            Fate::Lost(difference) => {
                report.add(Verdict::Loss, "lost", name, difference.to_string())
            }
            Fate::Odd(what) => report.add(Verdict::Warn, "annotation", name, what),
            Fate::Hidden(difference) => report.add(
                Verdict::Note,
                "annotation only",
                name,
                format!("without its annotation {difference}"),
            ),
        }
    }
    Ok(())
}
