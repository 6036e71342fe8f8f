//! `kubectl task status`: how Tasks are, readably.

mod story;
mod view;

use std::io::{self, Write, stdout};

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;
use tabwriter::TabWriter;
use task_api_v1::names::VERSION;
use view::View;
pub(crate) use view::age;

use crate::cluster::{self, Patience, Tasks};
use crate::report::{self, Format, Report};
use crate::{Outcome, cluster::Reach};

/// Tell how Tasks are: of one all there is to tell, of many a line each.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The Task; all of the namespace where none is named.
    name: Option<String>,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    report: report::Args,
}

/// Why it cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no client.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// The Tasks cannot be read.
    #[error("cannot read Tasks")]
    Read(#[source] Box<kube::Error>),
    /// There is no such Task.
    #[error("there is no Task {0}")]
    Missing(String),
    /// The standard output takes no more.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

/// How many Tasks are read at a time.
const PAGE: u32 = 250;

fn read_error(source: kube::Error) -> Error {
    Error::Read(Box::new(source))
}

/// Tells it.
///
/// # Errors
/// See [`Error`].
pub async fn run(cluster: &cluster::Args, args: &Args) -> Result<Outcome, Error> {
    let cluster = cluster.connect().await?;
    let namespace = (!args.reach.all_namespaces).then(|| cluster.namespace.clone());
    let tasks = Tasks::new(cluster.client.clone(), VERSION, namespace);
    let now = Timestamp::now();
    let mut out = stdout().lock();
    let views = match &args.name {
        Some(name) => {
            let task = tasks
                .get(&cluster.namespace, name)
                .await
                .map_err(read_error)?;
            let task =
                task.ok_or_else(|| Error::Missing(format!("{}/{name}", cluster.namespace)))?;
            if args.report.output == Format::Table {
                out.write_all(story::tell(&task, now).as_bytes())?;
            }
            vec![View::of(&task, now)]
        }
        None => {
            let views = read_all(&tasks, now).await?;
            if args.report.output == Format::Table {
                table(&views, args.reach.all_namespaces, &mut out)?;
            }
            views
        }
    };
    let mut report = Report::of("status");
    for view in &views {
        report.add(view.verdict(), "task", view.full_name(), view.summary());
    }
    match args.report.output {
        Format::Table => {}
        Format::Json => writeln!(
            out,
            "{}",
            serde_json::to_string_pretty(&views).map_err(io::Error::from)?
        )?,
        other => report.write(other, &mut out)?,
    }
    Ok(report.outcome(args.report.fail_on))
}

async fn read_all(tasks: &Tasks, now: Timestamp) -> Result<Vec<View>, Error> {
    let patience = Patience(std::time::Duration::from_secs(5));
    let mut views = Vec::new();
    let mut next: Option<String> = None;
    loop {
        let page = patience.insist(async || tasks.page(PAGE, next.as_deref()).await);
        let page = page.await.map_err(read_error)?;
        views.extend(page.items.iter().map(|task: &Value| View::of(task, now)));
        match page.next() {
            Some(token) => next = Some(token.to_owned()),
            None => return Ok(views),
        }
    }
}

fn table(views: &[View], all_namespaces: bool, out: &mut impl Write) -> io::Result<()> {
    if views.is_empty() {
        crate::progress::say("there are no Tasks");
        return Ok(());
    }
    let mut out = TabWriter::new(out).padding(3);
    let namespace = |name: &str| {
        if all_namespaces {
            format!("{name}\t")
        } else {
            String::new()
        }
    };
    writeln!(
        out,
        "{}NAME\tPHASE\tREADY\tOPERATION\tAGE\tWAITS FOR",
        namespace("NAMESPACE")
    )?;
    for view in views {
        let View {
            name,
            phase,
            ready,
            operation,
            age,
            waits_for,
            ..
        } = view;
        let namespace = namespace(&view.namespace);
        let waits_for = waits_for.as_deref().unwrap_or_default();
        writeln!(
            out,
            "{namespace}{name}\t{phase}\t{ready}\t{operation}\t{age}\t{waits_for}"
        )?;
    }
    out.flush()
}
