//! What there is to do.

use super::{Error, Migration};
use crate::cluster::Patience;
use crate::progress::Progress;
use crate::report::{Report, Verdict};

impl Migration<'_> {
    /// Looks at all Tasks and tells what there is to do, without writing anything.
    pub(super) async fn plan(&self, report: &mut Report) -> Result<(), Error> {
        let definition = &self.definition;
        report.add(
            Verdict::Ok,
            "storage version",
            "",
            format!(
                "{}, at generation {}",
                definition.storage, definition.generation
            ),
        );
        let stored = definition.stored.join(", ");
        if definition.has_old_storage() {
            report.add(
                Verdict::Note,
                "stored versions",
                "",
                format!("{stored}: Tasks may be stored at an old version"),
            );
        } else {
            report.add(Verdict::Ok, "stored versions", "", stored);
        }
        let begun = definition
            .valid_mark()
            .filter(|_| definition.has_old_storage());
        let goal = self.goal(begun.map(|mark| mark.since.clone()));
        let (mut all, mut storage, mut owners, mut any) = (0u64, 0u64, 0u64, 0u64);

        let patience = Patience(self.args.patience);
        let mut next: Option<String> = None;
        let mut progress = None;
        loop {
            let limit = self.args.page_size;
            let page = patience.insist(async || self.tasks.page(limit, next.as_deref()).await);
            let page = page.await.map_err(|source| Error::List(Box::new(source)))?;
            let progress =
                progress.get_or_insert_with(|| Progress::start("reading", Some(page.total())));
            for task in &page.items {
                let mut need = goal.need(task);
                // Where none was begun yet, any of them may be.
                need.storage |= definition.has_old_storage() && begun.is_none();
                all += 1;
                storage += u64::from(need.storage);
                owners += u64::from(need.owners);
                any += u64::from(need.any());
            }
            progress.add(page.items.len() as u64);
            match page.next() {
                Some(token) => next = Some(token.to_owned()),
                None => break,
            }
        }

        let verdict = |count| {
            if count > 0 {
                Verdict::Note
            } else {
                Verdict::Ok
            }
        };
        report.add(
            verdict(storage),
            "storage",
            "",
            format!(
                "{storage} of {all} Tasks have to be rewritten at {}{}",
                self.version,
                match begun {
                    Some(_) => ", going on with a migration that was begun",
                    None => "",
                }
            ),
        );
        report.add(
            verdict(owners),
            "managed fields",
            "",
            format!(
                "{owners} of {all} Tasks have entries of another version, which are rewritten too"
            ),
        );
        if any > 0 || definition.has_old_storage() {
            let pace = match self.args.qps {
                0 => "as fast as it goes".to_owned(),
                qps => format!(
                    "in {} s or more, at {qps} a second",
                    any.div_ceil(qps.into())
                ),
            };
            report.add(
                Verdict::Note,
                "plan",
                "",
                format!("--yes rewrites {any} Tasks {pace}"),
            );
        } else {
            report.add(Verdict::Ok, "plan", "", "there is nothing to do");
        }
        Ok(())
    }
}
