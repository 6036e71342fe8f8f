//! The flags about what is written, and what counts as a failure.

use clap::ValueEnum;

/// The flags.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Output")]
#[group(skip)]
pub struct Args {
    /// The form of what is written to the standard output.
    #[arg(short, long, value_enum, default_value_t)]
    pub output: Format,

    /// From which finding on to end with exit code 1.
    #[arg(long, value_enum, default_value_t, value_name = "GRAVITY")]
    pub fail_on: FailOn,
}

/// The form of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns, for people.
    #[default]
    Table,
    /// One JSON object, for programs.
    Json,
    /// JUnit's XML, for CI.
    Junit,
    /// A table in Markdown, for a pull request.
    Markdown,
}

/// What counts as a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum FailOn {
    /// Nothing that was found.
    None,
    /// Whatever has to be done, or would not work.
    #[default]
    Warn,
    /// Only what would be lost.
    Loss,
}
