//! The wire protocol: where calls go to, and what the answers mean. Pure.
//!
//! | call | is | answers |
//! |---|---|---|
//! | start | `POST {url}/operations` | 202 (or 200, 201) with `Operation-Location` and `{id, status}` |
//! | look-up | `GET {url}/operations/{Operation-Id}` | 200, or 404: it was never accepted |
//! | poll | `GET` of the operation | 200 with `{id, status, error, result, url}`, or 404: it is forgotten |
//! | cancel | `DELETE` of the operation | 2xx, or 404: there is nothing to cancel |
//!
//! What the provider tells by itself has the form of the answer to a poll.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use reqwest::Url;
use serde::Deserialize;
use serde_json::Value;

use super::{
    answer::{Answer, Failure, Status, Told},
    decide::Call,
    providers::validate::{ID, Provider},
    retry_after,
};

/// The longest text of a provider's that goes into a status as it is, in characters.
const TEXT_LENGTH_MAX: usize = 1024;

/// The longest result, in characters.
const RESULT_LENGTH_MAX: usize = 16 * 1024;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To start an operation.
    Start,
    /// About an operation.
    About(Call),
}

/// The part of an answer that counts.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'r> {
    /// The code.
    pub code: u16,
    /// The header `Retry-After`.
    pub retry_after: Option<&'r str>,
    /// The header `Operation-Location`.
    pub location: Option<&'r str>,
    /// The body.
    pub body: &'r [u8],
}

#[derive(Debug, Deserialize)]
struct Body {
    id: Option<String>,
    status: Option<String>,
    error: Option<BodyError>,
    result: Option<Value>,
    url: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
struct BodyError {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl Provider {
    /// Where operations are started.
    pub fn start_url(&self) -> Url {
        self.at(&self.entry.paths.start)
    }

    /// Where the operation with this id, or at this path of the provider's own, is asked about. It is at the provider's origin, whatever
    /// the id is.
    pub fn operation_url(&self, handle: &str) -> Url {
        if !handle.starts_with('/') {
            return self.at(&self.entry.paths.operation.replace(ID, &encoded(handle)));
        }
        let (path, query) = match handle.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (handle, None),
        };
        let mut url = self.url.clone();
        url.set_path(path);
        url.set_query(query);
        url
    }

    /// A URL below the provider's.
    fn at(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}{path}"));
        url
    }

    /// The name by which the operation is asked about from now on: its id, or the path of its `Operation-Location` where that is
    /// another than the id gives.
    fn handle(&self, id: Option<&str>, location: Option<&str>) -> Result<Option<String>, Failure> {
        let usual = id.map(|id| {
            // An id that begins like a path would be taken for one.
            if id.starts_with('/') {
                self.at(&self.entry.paths.operation.replace(ID, &encoded(id)))
                    .path()
                    .to_owned()
            } else {
                id.to_owned()
            }
        });
        let Some(location) = location else {
            return Ok(usual);
        };
        let there = self.start_url().join(location).ok().filter(|url| {
            url.origin() == self.url.origin()
                && url.username().is_empty()
                && url.password().is_none()
        });
        let Some(there) = there else {
            return Err(Failure::new(
                "PollingUrlRefused",
                "the provider named an Operation-Location that is not its own; the operation is asked about by its id",
            ));
        };
        let is_usual = usual
            .as_deref()
            .is_some_and(|usual| self.operation_url(usual) == there);
        let path = match there.query() {
            Some(query) => format!("{}?{query}", there.path()),
            None => there.path().to_owned(),
        };
        Ok(if is_usual { usual } else { Some(path) })
    }

    /// What a reply means. `now` is what dates are measured against.
    pub fn answer(&self, asked: Asked, reply: Reply<'_>, now: Timestamp) -> Answer {
        let cap = self.entry.retry.max_retry_after.0;
        let wait = reply
            .retry_after
            .and_then(|text| retry_after::parse(text, now, cap));
        let code = reply.code;
        match (asked, code) {
            (Asked::Start, 200..=202) => self.started(reply, wait),
            (Asked::Start, 408 | 409 | 425 | 500..) => failed(reply, wait, false),
            (Asked::Start, 429) => failed(reply, wait, true),
            (Asked::Start, _) => Answer::Refused(failure(reply)),
            (Asked::About(_), 404 | 410) => Answer::NotFound,
            (Asked::About(Call::Cancel), 200..=299) => match body(reply.body) {
                Some(body) if body.status.is_some() => Answer::Told(told(body, wait)),
                _ => Answer::Agreed,
            },
            (Asked::About(_), 200..=299) => match body(reply.body) {
                Some(body) if body.status.is_some() => Answer::Told(told(body, wait)),
                _ => unreadable(wait),
            },
            (Asked::About(_), _) => failed(reply, wait, true),
        }
    }

    /// How an operation stands, as the provider says by itself; `None` if that is not what the protocol says.
    pub fn reported(&self, bytes: &[u8]) -> Option<Told> {
        let body = body(bytes).filter(|body| body.status.is_some())?;
        let handle = self.handle(body.id.as_deref(), None).ok().flatten();
        Some(Told {
            id: handle.filter(|handle| handle.chars().count() <= TEXT_LENGTH_MAX),
            ..told(body, None)
        })
    }

    fn started(&self, reply: Reply<'_>, wait: Option<Duration>) -> Answer {
        let body = body(reply.body);
        let id = body.as_ref().and_then(|body| body.id.clone());
        let (handle, refused) = match self.handle(id.as_deref(), reply.location) {
            Ok(handle) => (handle, None),
            Err(refused) => (id, Some(refused)),
        };
        let mut told = match body {
            Some(body) => told(body, wait),
            None if handle.is_some() => Told {
                retry_after: wait,
                ..Told::default()
            },
            None => return unreadable(wait),
        };
        told.id = handle.filter(|handle| handle.chars().count() <= TEXT_LENGTH_MAX);
        told.error = told.error.or(refused);
        Answer::Told(told)
    }
}

fn body(bytes: &[u8]) -> Option<Body> {
    serde_json::from_slice(bytes).ok()
}

fn told(body: Body, retry_after: Option<Duration>) -> Told {
    let status = match body.status.as_deref() {
        Some("Succeeded") => Status::Succeeded,
        Some("Failed") => Status::Failed,
        Some("Canceled") => Status::Canceled,
        // NotStarted, Running, and whatever else is no end.
        _ => Status::UnderWay,
    };
    let result = body.result.map(|result| match result {
        Value::String(text) => cut(&text, RESULT_LENGTH_MAX),
        other => cut(&other.to_string(), RESULT_LENGTH_MAX),
    });
    Told {
        // Only the answer to the start says by which name it goes.
        id: None,
        status,
        error: body.error.map(named),
        result,
        url: body.url.filter(|url| is_for_a_browser(url)),
        retry_after,
    }
}

fn named(error: BodyError) -> Failure {
    let code = cut(&error.code, 128);
    Failure {
        code: if code.is_empty() {
            "Failed".to_owned()
        } else {
            code
        },
        message: cut(&error.message, TEXT_LENGTH_MAX),
    }
}

/// What a reply that is no success says of the reason.
fn failure(reply: Reply<'_>) -> Failure {
    #[derive(Deserialize)]
    struct Refusal {
        error: BodyError,
    }
    let code = format!("HTTP{}", reply.code);
    let said = serde_json::from_slice::<Refusal>(reply.body).ok();
    let message = match said {
        Some(Refusal { error }) if error.code.is_empty() => error.message,
        Some(Refusal { error }) => format!("{}: {}", error.code, error.message),
        None => format!("the provider answered {}", reply.code),
    };
    Failure::new(&code, cut(&message, TEXT_LENGTH_MAX))
}

fn failed(reply: Reply<'_>, retry_after: Option<Duration>, without_effect: bool) -> Answer {
    Answer::Failed {
        failure: failure(reply),
        retry_after,
        without_effect,
    }
}

fn unreadable(retry_after: Option<Duration>) -> Answer {
    Answer::Failed {
        failure: Failure::new(
            "UnreadableAnswer",
            "the provider's answer is not what the protocol says",
        ),
        retry_after,
        without_effect: false,
    }
}

fn is_for_a_browser(url: &str) -> bool {
    url.chars().count() <= TEXT_LENGTH_MAX
        && Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

fn cut(text: &str, length: usize) -> String {
    text.chars().take(length).collect()
}

/// The id as one segment of a path.
fn encoded(id: &str) -> String {
    id.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => {
                char::from(byte).to_string()
            }
            // As an only dot, or as two, it would be no name.
            b'.' if !id.trim_matches('.').is_empty() => ".".to_owned(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
