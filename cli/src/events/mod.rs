//! `kubectl task events`: what happened to Tasks.

use std::io::{self, Write, stdout};

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::jiff::Timestamp;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::json;
use tabwriter::TabWriter;
use task_api_v1::names::{GROUP, KIND};

use crate::cluster::{self, Reach};
use crate::report::{Format, Report, Verdict};
use crate::{Outcome, progress, status};

/// Tell what happened to Tasks, the newest last.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The Task; all of the namespace where none is named.
    name: Option<String>,

    #[command(flatten)]
    reach: Reach,

    /// The form of what is written to the standard output.
    #[arg(short, long, value_enum, default_value_t)]
    output: Format,
}

/// Why it cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no client.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// The Events cannot be read.
    #[error("cannot read Events")]
    Read(#[source] Box<kube::Error>),
    /// The standard output takes no more.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

/// Tells it.
///
/// # Errors
/// See [`Error`].
pub async fn run(cluster: &cluster::Args, args: &Args) -> Result<Outcome, Error> {
    let cluster = cluster.connect().await?;
    let api: Api<Event> = match args.reach.all_namespaces {
        true => Api::all(cluster.client.clone()),
        false => Api::namespaced(cluster.client.clone(), &cluster.namespace),
    };
    let mut selector = format!("involvedObject.kind={KIND}");
    if let Some(name) = &args.name {
        selector.push_str(&format!(",involvedObject.name={name}"));
    }
    let list = api.list(&ListParams::default().fields(&selector)).await;
    let mut events = list.map_err(|source| Error::Read(Box::new(source)))?.items;
    // Others have a kind of that name too.
    events.retain(|event| {
        let version = event.involved_object.api_version.as_deref();
        version.is_some_and(|version| version.split('/').next() == Some(GROUP))
    });
    events.sort_by_key(time);

    let mut out = stdout().lock();
    let mut report = Report::of("events");
    for event in &events {
        let verdict = if is_warning(event) {
            Verdict::Warn
        } else {
            Verdict::Ok
        };
        report.add(
            verdict,
            "event",
            subject(event),
            format!("{}: {}", reason(event), message(event)),
        );
    }
    match args.output {
        Format::Table => table(&events, &mut out)?,
        Format::Json => {
            let events: Vec<_> = events.iter().map(|event| json!(event)).collect();
            writeln!(
                out,
                "{}",
                serde_json::to_string_pretty(&events).map_err(io::Error::from)?
            )?;
        }
        other => report.write(other, &mut out)?,
    }
    // What happened is no finding about how things are.
    Ok(Outcome::Fine)
}

fn table(events: &[Event], out: &mut impl Write) -> io::Result<()> {
    if events.is_empty() {
        progress::say("there are no Events of Tasks");
        return Ok(());
    }
    let now = Timestamp::now();
    let mut out = TabWriter::new(out).padding(3);
    writeln!(out, "LAST\tTYPE\tREASON\tTASK\tCOUNT\tMESSAGE")?;
    for event in events {
        let last =
            time(event).map(|time| status::age(&json!(time.to_string()), now).unwrap_or_default());
        let series = event.series.as_ref().and_then(|series| series.count);
        let count = series.or(event.count).unwrap_or(1);
        let type_ = event.type_.as_deref().unwrap_or_default();
        writeln!(
            out,
            "{}\t{type_}\t{}\t{}\t{count}\t{}",
            last.unwrap_or_default(),
            reason(event),
            subject(event),
            message(event),
        )?;
    }
    out.flush()
}

/// When it happened last.
fn time(event: &Event) -> Option<Timestamp> {
    let series = event
        .series
        .as_ref()
        .and_then(|series| series.last_observed_time.as_ref());
    let times = [
        series.map(|time| time.0),
        event.event_time.as_ref().map(|time| time.0),
        event.last_timestamp.as_ref().map(|time| time.0),
        event.creation_timestamp().map(|time| time.0),
    ];
    times.into_iter().flatten().next()
}

fn is_warning(event: &Event) -> bool {
    event.type_.as_deref() == Some("Warning")
}

fn reason(event: &Event) -> &str {
    event.reason.as_deref().unwrap_or_default()
}

fn message(event: &Event) -> String {
    let message = event.message.as_deref().unwrap_or_default();
    message.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn subject(event: &Event) -> String {
    let object = &event.involved_object;
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!("{}/{}", text(&object.namespace), text(&object.name))
}
