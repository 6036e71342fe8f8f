//! `kubectl task check`: whether a cluster is ready for the next step of the way from v1alpha1 to v1.

mod certificate;
mod helm;
mod objects;
mod schema;
mod storage;
mod uninstall;
mod webhook;

use std::io::{self, stdout};
use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use task_api_v1::names::{GROUP, PLURAL};
use tokio::time::{Instant, sleep, timeout_at};

use crate::cluster::{self, Cluster, Patience};
use crate::report::{self, Report, Verdict};
use crate::{Outcome, progress};

/// Tell whether this cluster is ready for v1, or for what `--for` names.
///
/// It converts every Task both ways, has the API server do it too, and looks at the webhook and its certificate authority, at what is
/// stored, at who has set which field, at what kubectl apply and Helm remember, and at the schemas. It writes nothing.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// What the cluster is to be ready for.
    #[arg(long = "for", value_enum, default_value_t, value_name = "STEP")]
    step: Step,

    /// The definition that is to be installed, to compare its schemas with those that are; by default that of this program's version.
    #[arg(long, value_name = "FILE")]
    crd: Option<PathBuf>,

    /// Warn of a certificate authority that expires within this time.
    #[arg(long, default_value = "720h", value_name = "TIME", value_parser = cluster::duration)]
    expiring: Duration,

    /// Look again until all is well.
    #[arg(long)]
    wait: bool,

    /// How long to wait; then it ends with exit code 124.
    #[arg(long, default_value = "5m", value_name = "TIME", requires = "wait", value_parser = cluster::duration)]
    timeout: Duration,

    #[command(flatten)]
    report: report::Args,
}

/// A step of the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Serve both versions, and store v1.
    #[default]
    V1,
    /// Drop v1alpha1: nothing may need it any more.
    RemoveV1alpha1,
    /// Remove the operator: no Task may be left behind.
    Uninstall,
}

impl Step {
    /// How much it matters that something still needs v1alpha1.
    fn needs_old(self) -> Verdict {
        match self {
            Self::V1 => Verdict::Note,
            Self::RemoveV1alpha1 | Self::Uninstall => Verdict::Warn,
        }
    }
}

/// Why the cluster cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no client.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// The definition cannot be read.
    #[error("cannot read the CustomResourceDefinition of Task")]
    Definition(#[source] Box<kube::Error>),
    /// The file of the new definition cannot be used.
    #[error(transparent)]
    Schema(#[from] schema::Error),
    /// The standard output takes no more.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

/// Between two looks.
const EVERY: Duration = Duration::from_secs(5);

/// Looks at the cluster.
///
/// # Errors
/// See [`Error`].
pub async fn run(cluster: &cluster::Args, args: &Args) -> Result<Outcome, Error> {
    let cluster = cluster.connect().await?;
    let new = schema::new_definition(args.crd.as_deref())?;
    let deadline = Instant::now() + args.timeout;
    loop {
        let mut report = Report::of("check");
        let look = look(&cluster, args, &new, &mut report);
        let looked = match args.wait {
            true => timeout_at(deadline, look).await,
            false => Ok(look.await),
        };
        let why = match looked {
            Ok(Ok(())) if report.outcome(args.report.fail_on) != Outcome::Fine => {
                let findings = report.findings.iter();
                let open = findings.filter(|finding| finding.verdict >= Verdict::Warn);
                format!("{} findings", open.count())
            }
            Ok(Ok(())) => return args.end(&report, Outcome::Fine),
            Ok(Err(error)) if !args.wait => return Err(error),
            Ok(Err(error)) => {
                let why = crate::run::chain(&error);
                report.add(Verdict::Warn, "stopped", "", &why);
                why
            }
            Err(_) => {
                let why = "time is up before all was looked at";
                report.add(Verdict::Warn, "stopped", "", why);
                return args.end(&report, Outcome::TimedOut);
            }
        };
        if !args.wait {
            return args.end(&report, Outcome::Findings);
        }
        if Instant::now() + EVERY >= deadline {
            return args.end(&report, Outcome::TimedOut);
        }
        progress::say(&format!("{why}; looking again in {} s", EVERY.as_secs()));
        sleep(EVERY).await;
    }
}

impl Args {
    fn end(&self, report: &Report, outcome: Outcome) -> Result<Outcome, Error> {
        report.write(self.report.output, stdout().lock())?;
        Ok(outcome)
    }
}

async fn look(
    cluster: &Cluster,
    args: &Args,
    new: &CustomResourceDefinition,
    report: &mut Report,
) -> Result<(), Error> {
    let api: Api<CustomResourceDefinition> = Api::all(cluster.client.clone());
    let crd = match api.get(&format!("{PLURAL}.{GROUP}")).await {
        Ok(crd) => crd,
        Err(kube::Error::Api(status)) if status.is_not_found() => {
            let verdict = match args.step {
                Step::Uninstall => Verdict::Ok,
                Step::V1 | Step::RemoveV1alpha1 => Verdict::Warn,
            };
            report.add(verdict, "definition", "", "Task is not installed");
            return Ok(());
        }
        Err(error) => return Err(Error::Definition(Box::new(error))),
    };
    if args.step == Step::Uninstall {
        uninstall::look(&cluster.client, report).await;
        return Ok(());
    }
    storage::look(&crd, args.step, report);
    schema::look(&crd, new, report);
    webhook::look(&cluster.client, &crd, args.expiring, report).await;
    objects::look(&cluster.client, &crd, args.step, Patience(EVERY), report).await;
    helm::look(&cluster.client, args.step, report).await;
    Ok(())
}
