//! `kubectl task migrate`: every stored Task at the storage version, so that the old version can be dropped.

mod decide;
mod definition;
mod in_tree;
mod own;
mod pace;
mod plan;
mod rewrite;

use std::io::{self, stdout};
use std::time::Duration;

use clap::ValueEnum;
pub use definition::{Definition, Definitions, Mark};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use task_conversion::ConvertError;
use task_conversion::task::TASK;
use tokio::time::{sleep, timeout};

use crate::cluster::{self, Patience, Tasks};
use crate::report::{self, Report, Verdict};
use crate::{Outcome, progress};
use decide::Goal;
use own::{End, Engine, Limits, Tally};
use rewrite::{Rewriter, Stop};

/// Rewrite every stored Task at the storage version, and then say so in status.storedVersions of the CustomResourceDefinition.
///
/// Without --yes it only tells what there is to do. No field of a Task changes, nor its generation; one that is deleted or changed
/// meanwhile is left to whoever did it. Who has set which field (managedFields) is brought to the new version, too. After a kill it
/// goes on where it was. If the CustomResourceDefinition is changed meanwhile it stops, and storedVersions stays as it is.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// Do it.
    #[arg(long)]
    yes: bool,

    /// With --yes: have the API server judge every write without storing it.
    #[arg(long)]
    dry_run: bool,

    /// Who rewrites the Tasks.
    #[arg(long, value_enum, default_value_t)]
    engine: ChosenEngine,

    /// How many Tasks to rewrite a second at the most; 0: as many as go.
    #[arg(long, default_value_t = 50, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    qps: u32,

    /// How many Tasks to rewrite at the same time.
    #[arg(long, default_value_t = 8, value_name = "NUMBER", value_parser = clap::value_parser!(u16).range(1..))]
    concurrency: u16,

    /// How many Tasks to read at a time.
    #[arg(long, default_value_t = 250, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..))]
    page_size: u32,

    /// How long to try again where the API server or a webhook does not answer.
    // The API server itself waits 30 s for a webhook, and then says which.
    #[arg(long, default_value = "1m", value_name = "TIME", value_parser = cluster::duration)]
    patience: Duration,

    /// How long after a change of the CustomResourceDefinition every API server knows of it.
    #[arg(long, default_value = "10s", value_name = "TIME", value_parser = cluster::duration)]
    settle: Duration,

    /// How long all of it may take; then it ends with exit code 124, and can be gone on with.
    #[arg(long, value_name = "TIME", value_parser = cluster::duration)]
    timeout: Option<Duration>,

    #[command(flatten)]
    report: report::Args,
}

/// Who rewrites the Tasks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ChosenEngine {
    /// The cluster's own controller where it has one, else this program.
    #[default]
    Auto,
    /// The cluster's own controller, by a StorageVersionMigration.
    InTree,
    /// This program.
    Own,
}

/// Why nothing can be migrated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no client.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
    /// A migration is of all namespaces.
    #[error("a version is stored in all namespaces or in none: leave --namespace out")]
    Namespace,
    /// The definition cannot be read or written.
    #[error("cannot use the CustomResourceDefinition of Task")]
    Definition(#[source] Box<kube::Error>),
    /// The definition names no storage version.
    #[error("the CustomResourceDefinition of Task names no storage version")]
    NoStorage,
    /// It is one that this program does not know.
    #[error("the storage version is not one that this program knows")]
    Version(#[source] ConvertError),
    /// The Tasks cannot be read.
    #[error("cannot list Tasks")]
    List(#[source] Box<kube::Error>),
    /// Without it nobody can tell which of them are stored anew.
    #[error("the API server does not tell the resource version of the list of Tasks")]
    ListVersion,
    /// The person may not do it.
    #[error(transparent)]
    Forbidden(Stop),
    /// The cluster's own controller has not done it.
    #[error(transparent)]
    InTree(#[from] in_tree::Error),
    /// It was asked for, and there is none.
    #[error("the API server does not serve storagemigration.k8s.io: use --engine own")]
    NoInTree,
    /// The standard output takes no more.
    #[error("cannot write")]
    Write(#[from] io::Error),
}

fn definition_error(source: kube::Error) -> Error {
    Error::Definition(Box::new(source))
}

/// Plans or does it.
///
/// # Errors
/// See [`Error`].
pub async fn run(cluster: &cluster::Args, args: &Args) -> Result<Outcome, Error> {
    if cluster.names_namespace() {
        return Err(Error::Namespace);
    }
    let client = cluster.connect().await?.client;
    let mut report = Report::of("migrate");
    let mut untold = None;
    let work = async {
        let migration = Migration::of(client, args).await?;
        match args.yes {
            true => migration.carry_out(&mut untold, &mut report).await,
            false => migration.plan(&mut report).await,
        }
    };
    let ended = match args.timeout {
        Some(time) => timeout(time, work).await.ok(),
        None => Some(work.await),
    };
    // Whatever ended it: what was done is done, and the person must know of it.
    if let Some(tally) = untold {
        tell(&tally, &mut report);
    }
    let outcome = match ended {
        Some(Ok(())) => Ok(report.outcome(args.report.fail_on)),
        Some(Err(error)) if report.findings.is_empty() => return Err(error),
        Some(Err(error)) => {
            let why = crate::run::chain(&error);
            report.add(Verdict::Warn, "stopped", "", why);
            Err(error)
        }
        None => {
            let why = "time is up. Run it again to go on";
            report.add(Verdict::Warn, "stopped", "", why);
            Ok(Outcome::TimedOut)
        }
    };
    report.write(args.report.output, stdout().lock())?;
    outcome
}

/// Tells what came of the Tasks.
fn tell(tally: &Tally, report: &mut Report) {
    report.add(Verdict::Ok, "tasks", "", tally.story());
    for (name, why) in &tally.refused {
        report.add(Verdict::Warn, "refused", name, why);
    }
}

/// One migration, from the definition as it was at its beginning.
struct Migration<'a> {
    client: Client,
    tasks: Tasks,
    definitions: Definitions,
    definition: Definition,
    version: &'static str,
    args: &'a Args,
}

/// How often a definition is read again that somebody else writes at the same time.
const TRIES: usize = 5;

impl<'a> Migration<'a> {
    async fn of(client: Client, args: &'a Args) -> Result<Self, Error> {
        let definitions = Definitions::new(client.clone());
        let patience = Patience(args.patience);
        let definition = patience.insist(async || definitions.read().await).await;
        let definition = definition.map_err(definition_error)?;
        let definition = definition.ok_or(Error::NoStorage)?;
        let version = TASK
            .version(&format!("{}/{}", TASK.group(), definition.storage))
            .map_err(Error::Version)?;
        Ok(Self {
            tasks: Tasks::new(client.clone(), version, None),
            client,
            definitions,
            definition,
            version,
            args,
        })
    }

    /// The definition as it is now.
    async fn read_definition(&self) -> Result<Option<Definition>, Error> {
        let patience = Patience(self.args.patience);
        let read = patience.insist(async || self.definitions.read().await);
        read.await.map_err(definition_error)
    }

    /// Does it. `untold` is what came of the Tasks where it ends, or is dropped, before that was told.
    async fn carry_out(
        &self,
        untold: &mut Option<Tally>,
        report: &mut Report,
    ) -> Result<(), Error> {
        let mut goal = self.goal(None);
        if self.definition.has_old_storage() {
            self.settle().await;
            match self.begin().await? {
                Ok(since) => goal.since = Some(since),
                Err(end) => {
                    self.stopped(&end, report);
                    return Ok(());
                }
            }
        }
        if goal.since.is_some() && !self.args.dry_run && self.in_tree().await? {
            report.add(
                Verdict::Ok,
                "engine",
                "",
                "the cluster's own controller has rewritten the stored Tasks",
            );
            goal.since = None;
        }
        let rewriter = Rewriter {
            client: self.client.clone(),
            tasks: self.tasks.clone(),
            goal,
            dry_run: self.args.dry_run,
            patience: Patience(self.args.patience),
        };
        let engine = Engine {
            rewriter: &rewriter,
            definitions: &self.definitions,
            still: &self.definition,
            limits: Limits {
                page: self.args.page_size,
                concurrency: self.args.concurrency.into(),
                per_second: self.args.qps,
            },
        };
        let ended = engine.run(untold.insert(Tally::default())).await;
        let tally = untold.take().unwrap_or_default();
        tell(&tally, report);
        let ended = match ended {
            Err(End::Task(stop @ Stop::Forbidden(_))) => return Err(Error::Forbidden(stop)),
            Ok(()) if self.args.dry_run || !tally.refused.is_empty() => {
                report.add(Verdict::Note, "stored versions", "", self.untouched());
                return Ok(());
            }
            Ok(()) => self.finish().await?,
            Err(end) => Err(end),
        };
        match ended {
            Ok(()) => report.add(
                Verdict::Ok,
                "stored versions",
                "",
                format!("nothing is stored at another version than {}", self.version),
            ),
            Err(end) => self.stopped(&end, report),
        }
        Ok(())
    }

    fn stopped(&self, end: &End, report: &mut Report) {
        let why = crate::run::chain(end);
        report.add(
            Verdict::Warn,
            "stopped",
            "",
            format!("{why}. {}. Run it again to go on", self.untouched()),
        );
    }

    fn goal(&self, since: Option<String>) -> Goal {
        Goal {
            version: self.version,
            since,
            owners: self.version == task_api_v1::names::VERSION,
        }
    }

    fn untouched(&self) -> String {
        format!(
            "storedVersions still names {}",
            self.definition.stored.join(" and ")
        )
    }

    /// Waits until every API server knows of the last change of the definition.
    async fn settle(&self) {
        let now = Timestamp::now();
        let time = self.definition.time_to_settle(self.args.settle, now);
        if !time.is_zero() {
            let seconds = time.as_secs_f32();
            progress::say(&format!(
                "the CustomResourceDefinition was changed just now: waiting {seconds:.0} s until every API server knows of it"
            ));
            sleep(time).await;
        }
    }

    /// The resource version before which everything has to be rewritten: that of a run that was killed, or of now.
    async fn begin(&self) -> Result<Result<String, End>, Error> {
        if let Some(mark) = self.definition.valid_mark() {
            progress::say("going on with the migration that was begun before");
            return Ok(Ok(mark.since.clone()));
        }
        let patience = Patience(self.args.patience);
        let page = patience.insist(async || self.tasks.page(1, None).await);
        let page = page.await.map_err(|source| Error::List(Box::new(source)))?;
        let since = page.metadata.resource_version;
        let since = since.filter(|since| !since.is_empty());
        let since = since.ok_or(Error::ListVersion)?;
        if self.args.dry_run {
            return Ok(Ok(since));
        }
        let mark = Mark {
            storage: self.definition.storage.clone(),
            generation: self.definition.generation,
            since: since.clone(),
        };
        // The API server writes the definition's status at the same time.
        for _ in 0..TRIES {
            let now = self.read_definition().await?;
            let Some(now) = now.filter(|now| self.definition.is_still(now)) else {
                break;
            };
            match self.definitions.mark(&now, Some(&mark)).await {
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(error) => return Err(definition_error(error)),
                Ok(()) => return Ok(Ok(since)),
            }
        }
        let now = self.read_definition().await?;
        Ok(Err(own::changed(now)))
    }

    /// Has the cluster's own controller do it, if it is to, and says whether it has.
    async fn in_tree(&self) -> Result<bool, Error> {
        if self.args.engine == ChosenEngine::Own {
            return Ok(false);
        }
        let Some(served) = in_tree::served(&self.client).await? else {
            return match self.args.engine {
                ChosenEngine::InTree => Err(Error::NoInTree),
                _ => Ok(false),
            };
        };
        let patience = Patience(self.args.patience);
        let done = in_tree::run(self.client.clone(), &served, &self.definition, patience).await;
        match done {
            Ok(()) => Ok(true),
            Err(error) if self.args.engine == ChosenEngine::Auto => {
                progress::say(&format!("{error}; this program does it itself"));
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Says in the definition that all is done, if it is still the one that it was at the beginning.
    async fn finish(&self) -> Result<Result<(), End>, Error> {
        let old = self.definition.has_old_storage();
        for _ in 0..TRIES {
            let now = self.read_definition().await?;
            let Some(now) = now.filter(|now| self.definition.is_still(now)) else {
                let now = self.read_definition().await?;
                return Ok(Err(own::changed(now)));
            };
            let written = if old && now.has_old_storage() {
                self.definitions.trim(&now).await
            } else if now.mark.is_some() {
                self.definitions.mark(&now, None).await
            } else {
                return Ok(Ok(()));
            };
            match written {
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                Err(error) => return Err(definition_error(error)),
                Ok(()) => {}
            }
        }
        let now = self.read_definition().await?;
        Ok(match now {
            Some(now) if self.definition.is_still(&now) && !now.has_old_storage() => Ok(()),
            now => Err(own::changed(now)),
        })
    }
}
