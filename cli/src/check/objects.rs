//! Whether every Task survives being converted, and what in it still names v1alpha1.

use std::collections::BTreeMap;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Client;
use serde_json::Value;
use task_api_v1::names::{GROUP, VERSION};
use task_conversion::task::TASK;

use super::Step;
use crate::cluster::{Patience, Tasks, full_name, told};
use crate::diff::{Fate, round_trip};
use crate::names::LAST_APPLIED;
use crate::ownership;
use crate::progress::Progress;
use crate::report::{Report, Verdict};

/// How many Tasks are held in memory.
const PAGE: u32 = 250;

/// How many of a kind are told one by one.
const TOLD: usize = 20;

/// What is said of Tasks that could not all be read.
const UNKNOWN: &str = "not known, as not all Tasks could be read";

/// What was found in the Tasks.
#[derive(Default)]
struct Found {
    tasks: u64,
    /// The Tasks that do not come back as they were, and what was found.
    lost: Vec<(String, Verdict, String)>,
    /// How often each manager has entries of a version other than v1.
    owners: BTreeMap<String, u64>,
    owned: u64,
    last_applied: Vec<String>,
}

pub(super) async fn look(
    client: &Client,
    crd: &CustomResourceDefinition,
    step: Step,
    patience: Patience,
    report: &mut Report,
) {
    let served = crd.spec.versions.iter().filter(|version| version.served);
    let mut found = Found::default();
    let mut complete = served.clone().next().is_some();
    for version in served {
        // Each served version, so that the API server converts every Task, too.
        let Ok(known) = TASK.version(&format!("{GROUP}/{}", version.name)) else {
            complete = false;
            report.add(
                Verdict::Warn,
                "tasks",
                "",
                format!("this program does not know the version {}", version.name),
            );
            continue;
        };
        let tasks = Tasks::new(client.clone(), known, None);
        let mut of_version = Found::default();
        if let Err(error) = of_version.read(&tasks, known, patience).await {
            complete = false;
            let why = told(&error);
            report.add(
                Verdict::Warn,
                "tasks",
                "",
                format!("they cannot be read at {known}: {why}"),
            );
        }
        found.lost.append(&mut of_version.lost);
        if known == VERSION || found.tasks == 0 {
            found = Found {
                lost: std::mem::take(&mut found.lost),
                ..of_version
            };
        }
    }
    found.tell(complete, step, report);
}

impl Found {
    async fn read(
        &mut self,
        tasks: &Tasks,
        version: &'static str,
        patience: Patience,
    ) -> kube::Result<()> {
        let mut next: Option<String> = None;
        let mut progress = None;
        loop {
            let page = patience.insist(async || tasks.page(PAGE, next.as_deref()).await);
            let page = page.await?;
            let progress =
                progress.get_or_insert_with(|| Progress::start("converting", Some(page.total())));
            for task in &page.items {
                self.add(task, version);
            }
            progress.add(page.items.len() as u64);
            match page.next() {
                Some(token) => next = Some(token.to_owned()),
                None => return Ok(()),
            }
        }
    }

    fn add(&mut self, task: &Value, version: &'static str) {
        self.tasks += 1;
        let name = full_name(task);
        match round_trip(task, version) {
            Err(error) => {
                let why = crate::run::chain(&error);
                self.lost.push((
                    name.clone(),
                    Verdict::Loss,
                    format!("cannot be converted: {why}"),
                ));
            }
            Ok(fates) => {
                for fate in fates {
                    match fate {
                        Fate::Lost(difference) => self.lost.push((
                            name.clone(),
                            Verdict::Loss,
                            format!("from {version} and back: {difference}"),
                        )),
                        Fate::Odd(what) => self.lost.push((name.clone(), Verdict::Warn, what)),
                        Fate::Hidden(_) => {}
                    }
                }
            }
        }
        let stale = ownership::stale(task, VERSION);
        self.owned += u64::from(!stale.is_empty());
        for (manager, _) in stale {
            *self.owners.entry(manager.to_owned()).or_default() += 1;
        }
        let applied = task["metadata"]["annotations"][LAST_APPLIED].as_str();
        if applied.is_some_and(names_other_version) {
            self.last_applied.push(name);
        }
    }

    /// Tells what was found; of Tasks that could not all be read nothing good is said.
    fn tell(self, complete: bool, step: Step, report: &mut Report) {
        let tasks = self.tasks;
        let lost = |(_, verdict, _): &(_, Verdict, _)| *verdict == Verdict::Loss;
        if self.lost.iter().any(lost) {
            report.add(
                Verdict::Loss,
                "conversion",
                "",
                format!("not every one of {tasks} Tasks comes back as it was"),
            );
        } else if complete {
            report.add(
                Verdict::Ok,
                "conversion",
                "",
                format!("all {tasks} Tasks go to the other version and come back as they were"),
            );
        } else {
            report.add(Verdict::Loss, "conversion", "", UNKNOWN);
        }
        let more = self.lost.iter().skip(TOLD).map(|(_, verdict, _)| *verdict);
        let (more, worst) = (more.clone().count(), more.max());
        for (name, verdict, message) in self.lost.into_iter().take(TOLD) {
            report.add(verdict, "conversion", name, message);
        }
        if let Some(worst) = worst {
            report.add(worst, "conversion", "", format!("and {more} more"));
        }

        if self.owned == 0 && complete {
            report.add(
                Verdict::Ok,
                "managed fields",
                "",
                "no entry names another version than v1",
            );
        } else if self.owned == 0 {
            report.add(step.needs_old(), "managed fields", "", UNKNOWN);
        } else {
            let owners: Vec<_> = self
                .owners
                .iter()
                .map(|(manager, count)| format!("{manager} ({count})"))
                .collect();
            report.add(
                step.needs_old(),
                "managed fields",
                "",
                format!(
                    "{} of {tasks} Tasks have entries of v1alpha1, made by {}; kubectl task migrate rewrites them, once these write v1",
                    self.owned,
                    owners.join(", ")
                ),
            );
        }

        let count = self.last_applied.len();
        match self.last_applied.first() {
            None if !complete => report.add(step.needs_old(), "last applied", "", UNKNOWN),
            None => report.add(Verdict::Ok, "last applied", "", "kubectl apply remembers no Task of another version than v1"),
            Some(first) => report.add(
                step.needs_old(),
                "last applied",
                first,
                format!(
                    "{count} of {tasks} Tasks, this one first, were applied at v1alpha1 with kubectl apply; convert their manifests (kubectl task convert) and apply them"
                ),
            ),
        }
    }
}

/// Whether what kubectl apply remembers is of another version than v1.
fn names_other_version(applied: &str) -> bool {
    let applied: Value = serde_json::from_str(applied).unwrap_or_default();
    let version = applied["apiVersion"].as_str().unwrap_or_default();
    version.starts_with(GROUP) && version != format!("{GROUP}/{VERSION}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told_of(found: Found, complete: bool) -> Vec<(&'static str, Verdict)> {
        let mut report = Report::of("check");
        found.tell(complete, Step::RemoveV1alpha1, &mut report);
        let findings = report.findings.into_iter();
        findings
            .map(|finding| (finding.check, finding.verdict))
            .collect()
    }

    #[test]
    fn of_tasks_that_cannot_all_be_read_nothing_good_is_said() {
        let checks = ["conversion", "managed fields", "last applied"];
        let told = told_of(Found::default(), true);
        assert_eq!(told, checks.map(|check| (check, Verdict::Ok)));
        let told = told_of(Found::default(), false);
        let verdicts = [Verdict::Loss, Verdict::Warn, Verdict::Warn];
        assert_eq!(
            told,
            std::array::from_fn::<_, 3, _>(|at| (checks[at], verdicts[at]))
        );
    }

    #[test]
    fn what_is_not_told_one_by_one_is_as_grave_as_the_worst_of_it() {
        let lost = |verdict, count| {
            let one = ("default/a".to_owned(), verdict, String::new());
            vec![one; count]
        };
        for (rest, worst) in [
            (Verdict::Warn, Verdict::Warn),
            (Verdict::Loss, Verdict::Loss),
        ] {
            let found = Found {
                lost: [lost(Verdict::Warn, TOLD), lost(rest, 2)].concat(),
                ..Found::default()
            };
            assert_eq!(told_of(found, true)[TOLD + 1], ("conversion", worst));
        }
    }
}
