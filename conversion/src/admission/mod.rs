//! Admission of Tasks: the answers to AdmissionReviews (`admission.k8s.io/v1`), as pure functions of the review's bytes.
//!
//! [`mutate`] gives a Task its defaults and finishes the removal of an operation, [`validate`] refuses one that breaks a rule and warns of what is allowed but rarely meant.
//! Objects are judged at v1, which the API server converts them to first. A dry run is answered like any other: there is no side
//! effect to leave out.
//!
//! Whatever comes in, there is an answer. As long as the review's uid can be read it is an AdmissionReview with that uid, which the
//! API server passes on to whoever made the request; without one the API server would take no answer, so then it is plain text and
//! HTTP 400, which is what the API server counts and logs as a broken call.

mod defaults;
mod fit;
mod place;
mod removal;
mod request;
mod reset;
mod response;
mod warnings;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use request::{Operation, Subresource};
use task_api_v1::problem::Problem;
use task_api_v1::validation;

use request::{Request, ReviewError};
use response::Verdict;

/// An answer, and what is worth counting and logging about it. Nothing but `body` tells what stands in an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What to send: an AdmissionReview as JSON where `http_status` is 200, otherwise a line of text.
    pub body: String,
    /// 200, or 400 where not even the uid of a review could be read.
    pub http_status: u16,
    /// How it went.
    pub outcome: Outcome,
    /// What was asked for; `None` when that could not be read.
    pub operation: Option<Operation>,
    /// What part of a Task was asked for; `None` when that could not be read.
    pub subresource: Option<Subresource>,
    /// The version that the client used, where it is one of Task's.
    pub version: Option<&'static str>,
    /// `namespace/name` of the object, as far as the review has them.
    pub object: String,
    /// How many warnings the client gets.
    pub warnings: usize,
    /// How many problems the object was refused for.
    pub problems: usize,
}

/// How the answer to an admission review went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// The request may go on, as it is.
    #[default]
    Allowed,
    /// The request may go on, with a patch.
    Patched,
    /// The request is refused: the object breaks a rule.
    Denied,
    /// The request is refused since the review could not be judged: it is malformed, or of another kind. One line says why.
    Failed(String),
    /// Judging the review panicked, which is a bug. The request is refused.
    Panicked,
}

impl Outcome {
    /// The outcome in a word, for a metric.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Patched => "patched",
            Self::Denied => "denied",
            Self::Failed(_) => "failed",
            Self::Panicked => "panicked",
        }
    }
}

/// Answers the review in `body` with a JSON Patch of the defaults that the Task leaves out, and of what is left of an operation that a
/// client of an older version has removed; without one when there is neither.
pub fn mutate(body: &[u8]) -> Answer {
    answer(body, |request| {
        match (request.subresource, request.object) {
            (Subresource::Task, Some(object)) => {
                let mut patch = defaults::missing(object);
                // Last, as it takes along what the defaults have added to it.
                patch.0.extend(removal::rest_of_operation(request));
                Verdict::patched(&patch)
            }
            _ => Verdict::default(),
        }
    })
}

/// Answers the review in `body`: whether the Task may be written, or else everything that is wrong with it.
///
/// A deletion is never refused. Of an update only what it touches is judged. The schema judges the status; here it is only seen to that
/// a write of it loses nothing.
pub fn validate(body: &[u8]) -> Answer {
    answer(body, |request| {
        let problems = problems(request);
        if problems.is_empty() {
            Verdict::warned(warnings::warnings(request))
        } else {
            Verdict::invalid(&request.name, &problems)
        }
    })
}

fn problems(request: &Request<'_>) -> Vec<Problem> {
    let Some(object) = request.object else {
        return Vec::new();
    };
    let old = request.old_object;
    match request.subresource {
        Subresource::Task => {
            let mut problems = match old {
                Some(old) => validation::problems_of_update(object, old),
                None => validation::problems(object),
            };
            problems.extend(fit::losses(request));
            if problems.is_empty() {
                // What breaks a rule may break the conversion too, and that would say less of it.
                problems.extend(fit::problem_with_older_form(object, old));
            }
            problems
        }
        Subresource::Status => fit::losses(request),
        Subresource::Scale => validation::problems_of_scale(object, old),
    }
}

fn answer(body: &[u8], judge: impl FnOnce(&Request<'_>) -> Verdict) -> Answer {
    let mut uid = None;
    let request = match std::str::from_utf8(body) {
        Ok(text) => Request::read(text, &mut uid),
        Err(error) => Err(ReviewError::NotUtf8(error.valid_up_to())),
    };
    let Some(uid) = uid else {
        let error = request.err().unwrap_or(ReviewError::NoUid).to_string();
        return Answer {
            body: format!("{error}\n"),
            http_status: 400,
            outcome: Outcome::Failed(error),
            ..Answer::default()
        };
    };
    let (verdict, outcome) = match &request {
        Ok(request) => match catch_unwind(AssertUnwindSafe(|| judge(request))) {
            Ok(verdict) => {
                let outcome = match (&verdict.refusal, &verdict.patch) {
                    (Some(_), _) => Outcome::Denied,
                    (None, Some(_)) => Outcome::Patched,
                    (None, None) => Outcome::Allowed,
                };
                (verdict, outcome)
            }
            Err(_) => {
                let bug = "judging the object panicked, which is a bug in the conversion server";
                let verdict = Verdict::refused(500, "InternalError", bug.to_owned());
                (verdict, Outcome::Panicked)
            }
        },
        Err(error) => {
            let verdict = Verdict::refused(400, "BadRequest", error.to_string());
            (verdict, Outcome::Failed(error.to_string()))
        }
    };
    let request = request.ok();
    Answer {
        body: verdict.review(uid),
        http_status: 200,
        outcome,
        operation: request.as_ref().map(|request| request.operation),
        subresource: request.as_ref().map(|request| request.subresource),
        version: request.as_ref().and_then(Request::known_version),
        object: request
            .map(|request| request.identity())
            .unwrap_or_default(),
        warnings: verdict.warnings.len(),
        problems: verdict.problems(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::panic)]
    fn a_panic_is_answered_with_the_uid() {
        let review = r#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u","operation":"DELETE","kind":{"group":"task.example.io","version":"v1","kind":"Task"},"resource":{"group":"task.example.io","version":"v1","resource":"tasks"},"oldObject":{}}}"#;
        let answer = answer(review.as_bytes(), |_| panic!("on purpose"));
        assert_eq!(
            (answer.http_status, answer.outcome),
            (200, Outcome::Panicked)
        );
        let review: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(review["response"]["uid"], "u");
        assert_eq!(review["response"]["allowed"], false);
        assert_eq!(review["response"]["status"]["code"], 500);
    }
}
