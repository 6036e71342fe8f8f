//! `/convert`: ConversionReviews.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use axum::body::Body;
use axum::extract::State as Shared;
use axum::response::Response;
use tracing::warn;

use super::metrics::Request;
use super::routes::{Counted, json};
use super::state::{Answered, State};
use crate::Event;
use crate::json::{Malformed, Scanner};
use crate::review::{self, Answer};

/// Answers a review. One that was read whole is always answered with 200, as the API server wants it: failures are told in the answer.
pub(super) async fn convert(Shared(state): Shared<Arc<State>>, body: Body) -> Response {
    let kind = state.kind;
    let answered = state
        .review(body, |body| {
            guarded(body, |body| review::answer(kind, body))
        })
        .await;
    let Answered { held, answer, took } = match answered {
        Ok(answered) => answered,
        Err(error) => return axum::response::IntoResponse::into_response(error),
    };
    let metrics = &state.metrics;
    metrics.reviewed("convert", held.bytes().len(), took);
    metrics.converted(&answer.converted);
    metrics.rests(answer.events);
    metrics.panicked(answer.panics);
    tell(&answer);
    let (from, to) = versions(&answer.converted);
    let result = match answer.failure {
        None => "success",
        Some(_) => "failure",
    };
    let mut response = json(held.answered_with(answer.body));
    response.extensions_mut().insert(Counted(Request {
        endpoint: "convert",
        from,
        to,
        result,
    }));
    response
}

/// The versions that the objects of a review came in and went out.
fn versions(
    converted: &BTreeMap<(&'static str, &'static str), usize>,
) -> (&'static str, &'static str) {
    let mut versions = converted.keys().copied();
    let Some((from, to)) = versions.next() else {
        return ("", "");
    };
    match versions.next() {
        None => (from, to),
        // All of a review go to one version.
        Some(_) => ("mixed", to),
    }
}

/// The answer, or a failure when it panics.
fn guarded(body: &[u8], answer: impl FnOnce(&[u8]) -> Answer) -> Answer {
    catch_unwind(AssertUnwindSafe(|| answer(body))).unwrap_or_else(|_| {
        let failure = "the answer panicked, which is a bug in the conversion server";
        let (version, uid) = catch_unwind(|| identity(body)).unwrap_or_default();
        let version = version.unwrap_or("\"apiextensions.k8s.io/v1\"");
        let uid = uid.unwrap_or("\"\"");
        Answer {
            body: format!(
                r#"{{"kind":"ConversionReview","apiVersion":{version},"response":{{"uid":{uid},"convertedObjects":[],"result":{{"status":"Failure","message":"{failure}"}}}}}}"#
            ),
            failure: Some(failure.to_owned()),
            panics: 1,
            ..Answer::default()
        }
    })
}

/// The apiVersion of a review and the uid of its request, as they are written, as far as they can be read.
fn identity(body: &[u8]) -> (Option<&str>, Option<&str>) {
    let (mut version, mut uid) = (None, None);
    let mut scanner = Scanner::new(std::str::from_utf8(body).unwrap_or_default());
    // What was read before an error is of use all the same.
    let _ = scanner.object(|scanner, key| {
        match key.name().as_ref() {
            "apiVersion" => version = string(scanner)?,
            "request" if scanner.peek() == b'{' => scanner.object(|scanner, key| {
                match key.name().as_ref() {
                    "uid" => uid = string(scanner)?,
                    _ => drop(scanner.value()?),
                }
                Ok::<_, Malformed>(())
            })?,
            _ => drop(scanner.value()?),
        }
        Ok::<_, Malformed>(())
    });
    (version, uid)
}

fn string<'a>(scanner: &mut Scanner<'a>) -> Result<Option<&'a str>, Malformed> {
    Ok(Some(scanner.value()?).filter(|value| value.starts_with('"')))
}

/// Logs what an administrator may want to look into, and no content of any object.
fn tell(answer: &Answer) {
    if let Some(failure) = &answer.failure {
        warn!("a conversion failed: {failure}");
    }
    for note in &answer.notes {
        let object = &note.object;
        match &note.event {
            Event::Broken(why) => warn!(
                object,
                "an annotation under a reserved key was ignored: {why}"
            ),
            Event::Misplaced => warn!(
                object,
                "an annotation under the reserved key of the object's own version was dropped"
            ),
            Event::Omitted => warn!(
                object,
                "the annotations are too large: what the other version alone can say was left out"
            ),
            Event::Written | Event::Restored => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_panics_is_a_failure_with_the_uid_of_its_request() {
        let body = br#"{"apiVersion":"apiextensions.k8s.io/v1beta1","request":{"objects":[],"uid":"u-1"}}"#;
        let answer = guarded(body, |_| panic!("a bug"));
        assert_eq!(answer.panics, 1);
        let review: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(review["apiVersion"], "apiextensions.k8s.io/v1beta1");
        assert_eq!(review["response"]["uid"], "u-1");
        assert_eq!(review["response"]["result"]["status"], "Failure");
        assert_eq!(
            review["response"]["result"]["message"],
            answer.failure.unwrap()
        );
    }

    #[test]
    fn whatever_panics_is_answered() {
        for body in [&b""[..], b"\xff", b"[]", b"{\"request\":{\"uid\":1"] {
            let answer = guarded(body, |_| panic!("a bug"));
            let review: serde_json::Value = serde_json::from_str(&answer.body).unwrap();
            assert_eq!(review["response"]["uid"], "");
        }
    }

    #[test]
    fn objects_of_several_versions_are_counted_as_mixed() {
        let converted = BTreeMap::from([(("v1", "v1"), 1), (("v1alpha1", "v1"), 1)]);
        assert_eq!(versions(&converted), ("mixed", "v1"));
    }
}
