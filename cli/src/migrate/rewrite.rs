//! Rewriting one Task.

use kube::Client;
use kube::api::PatchParams;
use kube::core::Request;
use serde_json::Value;

use super::decide::Goal;
use crate::cluster::{Patience, Tasks, full_name, names, told};
use crate::names::FIELD_MANAGER;

/// How often a Task is read again that somebody else keeps changing.
const TRIES: usize = 10;

/// What came of one Task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rewritten {
    /// There was nothing to do.
    Already,
    /// It was written.
    Written,
    /// Somebody else wrote it meanwhile, which does the same.
    ByOthers,
    /// It was deleted meanwhile.
    Gone,
    /// The API server does not take it as it is, for the reason given.
    Refused(String),
}

/// A reason to stop.
#[derive(Debug, thiserror::Error)]
pub enum Stop {
    /// The API server, or a webhook that it asks, does not answer.
    #[error("{task}")]
    Unanswered {
        /// The Task at which it was seen.
        task: String,
        /// What the API server said last.
        #[source]
        source: Box<kube::Error>,
    },
    /// The person may not write Tasks.
    #[error("no permission to patch Tasks")]
    Forbidden(#[source] Box<kube::Error>),
}

/// Rewrites Tasks.
#[derive(Clone)]
pub struct Rewriter {
    /// For requests.
    pub client: Client,
    /// All Tasks at the goal's version.
    pub tasks: Tasks,
    /// What to bring them to.
    pub goal: Goal,
    /// Have the API server judge the writes without storing them.
    pub dry_run: bool,
    /// How long to wait for an answer.
    pub patience: Patience,
}

/// What an answer to a patch means.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Conflict,
    NotFound,
    Forbidden,
    Refused,
    Unanswered,
}

impl Rewriter {
    /// Rewrites a Task, as it was read, if it needs to be.
    ///
    /// Neither a Task that was deleted nor one that has changed is touched: a changed one is read again.
    ///
    /// # Errors
    /// See [`Stop`].
    pub async fn rewrite(&self, mut task: Value) -> Result<Rewritten, Stop> {
        let mut changed = false;
        for _ in 0..TRIES {
            if !self.goal.need(&task).any() {
                return Ok(match changed {
                    true => Rewritten::ByOthers,
                    false => Rewritten::Already,
                });
            }
            let Err(error) = self.patience.insist(async || self.patch(&task).await).await else {
                return Ok(Rewritten::Written);
            };
            let unanswered = |error| Stop::Unanswered {
                task: full_name(&task),
                source: Box::new(error),
            };
            match meaning(&error) {
                Answer::Conflict => {
                    changed = true;
                    let (namespace, name) = names(&task);
                    let read = self
                        .patience
                        .insist(async || self.tasks.get(namespace, name).await);
                    match read.await.map_err(unanswered)? {
                        Some(newer) => task = newer,
                        None => return Ok(Rewritten::Gone),
                    }
                }
                Answer::NotFound => {
                    // An admission webhook may say so as well, of a Task that is there.
                    let (namespace, name) = names(&task);
                    let read = self
                        .patience
                        .insist(async || self.tasks.get(namespace, name).await);
                    let same = read.await.map_err(unanswered)?;
                    let same =
                        same.filter(|same| same["metadata"]["uid"] == task["metadata"]["uid"]);
                    return Ok(match same {
                        Some(_) => Rewritten::Refused(told(&error)),
                        None => Rewritten::Gone,
                    });
                }
                Answer::Forbidden => return Err(Stop::Forbidden(Box::new(error))),
                Answer::Refused => return Ok(Rewritten::Refused(told(&error))),
                Answer::Unanswered => return Err(unanswered(error)),
            }
        }
        // Whoever writes it that often stores it at the version that is wanted.
        Ok(if self.goal.need(&task).storage {
            Rewritten::Refused("somebody changes it all the time".to_owned())
        } else {
            Rewritten::ByOthers
        })
    }

    async fn patch(&self, task: &Value) -> kube::Result<()> {
        let (namespace, name) = names(task);
        let params = PatchParams {
            dry_run: self.dry_run,
            ..PatchParams::apply(FIELD_MANAGER)
        };
        let patch = kube::api::Patch::Merge(self.goal.patch(task));
        let request = Request::new(self.tasks.path(Some(namespace))).patch(name, &params, &patch);
        let request = request.map_err(kube::Error::BuildRequest)?;
        // The answer is the whole object, and of no use.
        self.client.request_text(request).await.map(drop)
    }
}

fn meaning(error: &kube::Error) -> Answer {
    let kube::Error::Api(status) = error else {
        return Answer::Unanswered;
    };
    match status.code {
        // A webhook or a policy that refuses chooses the code.
        400..500 if status.message.contains("denied") => Answer::Refused,
        404 => Answer::NotFound,
        409 => Answer::Conflict,
        401 | 403 => Answer::Forbidden,
        429 | 500.. => Answer::Unanswered,
        _ => Answer::Refused,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn what_an_answer_means() {
        for (code, message, expected) in [
            (404, "tasks \"a\" not found", Answer::NotFound),
            (
                404,
                "admission webhook \"w\" denied the request: no owner",
                Answer::Refused,
            ),
            (409, "the object has been modified", Answer::Conflict),
            (
                409,
                "admission webhook \"w\" denied the request: busy",
                Answer::Refused,
            ),
            (
                403,
                "tasks \"a\" is forbidden: User \"u\" cannot patch resource",
                Answer::Forbidden,
            ),
            (
                403,
                "admission webhook \"w\" denied the request: no",
                Answer::Refused,
            ),
            (
                403,
                "ValidatingAdmissionPolicy 'p' denied request: no",
                Answer::Refused,
            ),
            (422, "spec.image: Invalid value", Answer::Refused),
            (500, "conversion webhook failed", Answer::Unanswered),
            (503, "no endpoints", Answer::Unanswered),
        ] {
            let status = Status::failure(message, "").with_code(code);
            let error = kube::Error::Api(status.boxed());
            assert_eq!(meaning(&error), expected, "{code} {message}");
        }
    }
}
