//! Rewriting all Tasks by requests of our own.

use futures::{StreamExt, stream};

use super::definition::{Definition, Definitions};
use super::pace::Pace;
use super::rewrite::{Rewriter, Rewritten, Stop};
use crate::cluster::{Page, full_name};
use crate::progress::Progress;

/// How fast it goes.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How many Tasks are read at a time; so many are held in memory.
    pub page: u32,
    /// How many are rewritten at the same time.
    pub concurrency: usize,
    /// How many are rewritten a second at the most; 0: as many as go.
    pub per_second: u32,
}

/// What came of the Tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// How many needed nothing.
    pub already: usize,
    /// How many were rewritten.
    pub written: usize,
    /// How many somebody else wrote meanwhile.
    pub by_others: usize,
    /// How many were deleted meanwhile.
    pub gone: usize,
    /// Which were refused, and why.
    pub refused: Vec<(String, String)>,
}

/// Why not all Tasks were looked at.
#[derive(Debug, thiserror::Error)]
pub enum End {
    /// Somebody changed the definition.
    #[error(
        "somebody changed the CustomResourceDefinition meanwhile: its storage version is {storage}, at generation {generation}"
    )]
    Changed {
        /// Its storage version now.
        storage: String,
        /// Its generation now.
        generation: i64,
    },
    /// The definition cannot be read any more.
    #[error("cannot read the CustomResourceDefinition")]
    Definition(#[source] Box<kube::Error>),
    /// The Tasks cannot be listed any more.
    #[error("cannot list Tasks")]
    List(#[source] Box<kube::Error>),
    /// One of them stopped it.
    #[error(transparent)]
    Task(#[from] Stop),
}

/// Rewrites every Task that needs it, a page at a time, for as long as the definition is `still` the same.
pub struct Engine<'e> {
    /// Rewrites one.
    pub rewriter: &'e Rewriter,
    /// The definition in the cluster.
    pub definitions: &'e Definitions,
    /// The definition as it was at the beginning.
    pub still: &'e Definition,
    /// How fast it goes.
    pub limits: Limits,
}

impl Engine<'_> {
    /// Rewrites them. `tally` tells what came of them, also where it ends early.
    ///
    /// # Errors
    /// See [`End`]. What was done stays done, and is not done again by another run.
    pub async fn run(&self, tally: &mut Tally) -> Result<(), End> {
        let pace = Pace::of(self.limits.per_second);
        let mut page = self.page(None).await?;
        let progress = Progress::start("rewriting", Some(page.total()));
        loop {
            self.definition_is_still_the_same().await?;
            let next = page.next().map(str::to_owned);
            let mut rewritten = stream::iter(std::mem::take(&mut page.items))
                .map(|task| async {
                    let name = full_name(&task);
                    if self.rewriter.goal.need(&task).any() {
                        pace.wait().await;
                    }
                    (name, self.rewriter.rewrite(task).await)
                })
                .buffer_unordered(self.limits.concurrency.max(1));
            while let Some((name, rewritten)) = rewritten.next().await {
                tally.add(name, rewritten?);
                progress.add(1);
            }
            drop(rewritten);
            let Some(next) = next else { return Ok(()) };
            page = self.page(Some(&next)).await?;
        }
    }

    async fn page(&self, from: Option<&str>) -> Result<Page, End> {
        let Rewriter {
            tasks, patience, ..
        } = self.rewriter;
        let page = patience.insist(async || tasks.page(self.limits.page, from).await);
        page.await.map_err(|source| End::List(Box::new(source)))
    }

    async fn definition_is_still_the_same(&self) -> Result<(), End> {
        let patience = self.rewriter.patience;
        let now = patience.insist(async || self.definitions.read().await);
        let now = now
            .await
            .map_err(|source| End::Definition(Box::new(source)))?;
        match now {
            Some(now) if self.still.is_still(&now) => Ok(()),
            now => Err(changed(now)),
        }
    }
}

/// What to say of a definition that is not the one that it was.
pub fn changed(now: Option<Definition>) -> End {
    let (storage, generation) = now.map_or_else(
        || ("not told".to_owned(), 0),
        |now| (now.storage, now.generation),
    );
    End::Changed {
        storage,
        generation,
    }
}

impl Tally {
    fn add(&mut self, name: String, rewritten: Rewritten) {
        match rewritten {
            Rewritten::Already => self.already += 1,
            Rewritten::Written => self.written += 1,
            Rewritten::ByOthers => self.by_others += 1,
            Rewritten::Gone => self.gone += 1,
            Rewritten::Refused(why) => self.refused.push((name, why)),
        }
    }

    /// In words.
    #[must_use]
    pub fn story(&self) -> String {
        let Self {
            already,
            written,
            by_others,
            gone,
            refused,
        } = self;
        let mut story = format!("{written} rewritten");
        for (count, what) in [
            (*already, "needed nothing"),
            (*by_others, "written by others meanwhile"),
            (*gone, "deleted meanwhile"),
            (refused.len(), "refused"),
        ] {
            if count > 0 {
                story.push_str(&format!(", {count} {what}"));
            }
        }
        story
    }
}
