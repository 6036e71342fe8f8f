//! The answer to a ConversionReview (`apiextensions.k8s.io/v1`), as the API server's own converter checks it.
//!
//! Whatever comes in, the answer is a ConversionReview: on success as many objects as came, in the same order; otherwise a failure
//! whose message names every bad object, up to [`NAMED_FAILURES`].

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::json::{self, MAX_DEPTH, Malformed, Node, Scanner};
use crate::{ConvertError, Event, Events, Kind};

/// How many bad objects a failure message names.
pub const NAMED_FAILURES: usize = 10;

/// How many [`Note`]s an answer carries.
pub const NOTES: usize = 20;

/// The longest failure message, in bytes.
const MESSAGE_LIMIT: usize = 8 * 1024;

/// The longest part of a message that is about one object, in bytes: as many as are named fit into a message.
const OBJECT_LIMIT: usize = 768;

/// The longest name that Kubernetes knows, in bytes.
const NAME_LIMIT: usize = 253;

/// The longest piece of a bad value that a message shows, in bytes.
const FOUND_LIMIT: usize = 64;

/// An answer, and what is worth counting and logging about it.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The ConversionReview to send, as JSON.
    pub body: String,
    /// Why the review as a whole failed, on one line; `None` when it succeeded.
    pub failure: Option<String>,
    /// How many objects were converted, by the versions they came in and went out.
    pub converted: BTreeMap<(&'static str, &'static str), usize>,
    /// Objects whose reserved annotations were out of the ordinary; the first [`NOTES`] of them.
    pub notes: Vec<Note>,
    /// How many times each thing happened to the reserved annotations.
    pub events: EventCounts,
    /// How many conversions panicked.
    pub panics: usize,
}

/// How many times each [`Event`] happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCounts {
    /// [`Event::Written`].
    pub written: usize,
    /// [`Event::Restored`].
    pub restored: usize,
    /// [`Event::Broken`].
    pub broken: usize,
    /// [`Event::Misplaced`].
    pub misplaced: usize,
    /// [`Event::Omitted`].
    pub omitted: usize,
}

/// Something out of the ordinary about one object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// `namespace/name`, as far as the object has them.
    pub object: String,
    /// What happened to its annotations.
    pub event: Event,
}

/// Why a body is no review that can be answered with objects.
#[derive(Debug, thiserror::Error)]
enum ReviewError {
    #[error("the body is no ConversionReview: not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    #[error("the body is no ConversionReview: {0}")]
    Malformed(#[from] Malformed),
    #[error("kind: expected ConversionReview, found {0}")]
    WrongKind(String),
    #[error("apiVersion: expected apiextensions.k8s.io/v1, found {0}")]
    WrongVersion(String),
    #[error("request: expected an object, found {0}")]
    NoRequest(&'static str),
    #[error("request.{name}: expected {expected}, found {found}")]
    BadRequest {
        name: &'static str,
        expected: &'static str,
        found: &'static str,
    },
    #[error("request.desiredAPIVersion: {0}")]
    UnknownVersion(ConvertError),
}

/// Answers the review in `body`.
///
/// Every failure, a panic in the conversion of an object included, is an answer too: this never fails and never panics.
pub fn answer(kind: &Kind, body: &[u8]) -> Answer {
    let mut review = Review::default();
    let mut answer = Answer::default();
    let mut out = String::with_capacity(body.len() + body.len() / 8 + 512);
    let result = match std::str::from_utf8(body) {
        Ok(text) => review.read(kind, text, &mut out, &mut answer),
        Err(error) => Err(ReviewError::NotUtf8(error.valid_up_to())),
    };
    answer.failure = match result {
        Ok(()) => review.failures.message(),
        Err(error) => Some(one_line(&error.to_string(), MESSAGE_LIMIT)),
    };

    match &answer.failure {
        None => {
            // The API server sends what the head is made of before the objects; whoever does not costs a move of the objects.
            if review.head_of != Some((review.api_version, review.uid)) {
                let mut head = String::new();
                review.write_head(&mut head);
                out.replace_range(..review.objects_at, &head);
            }
            out.push_str("],\"result\":{\"status\":\"Success\"}}}");
        }
        Some(message) => {
            out.clear();
            review.write_head(&mut out);
            out.push_str("],\"result\":{\"status\":\"Failure\",\"message\":");
            json::encode_into(&mut out, message);
            out.push_str("}}}");
        }
    }
    answer.body = out;
    answer
}

/// The levels that a review puts around an object. An object may nest as deep as the API server lets it by itself.
const LEVELS_AROUND: usize = 3;

/// What was read of a review.
#[derive(Default)]
struct Review<'a> {
    api_version: Option<&'a str>,
    uid: Option<&'a str>,
    /// The length of the body in bytes.
    length: usize,
    /// Where in the answer the objects begin, once they have begun.
    objects_at: usize,
    /// What the head of the answer was made of then: the apiVersion and the uid.
    head_of: Option<(Option<&'a str>, Option<&'a str>)>,
    failures: Failures,
}

/// The kind of a review.
const KIND: &str = "ConversionReview";

/// The apiVersions of the reviews that are answered; they differ in nothing that matters here.
const VERSIONS: [&str; 2] = ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"];

impl<'a> Review<'a> {
    /// Writes an answer up to its objects, from what has been read so far.
    fn write_head(&self, out: &mut String) {
        let api_version = self.api_version.unwrap_or("\"apiextensions.k8s.io/v1\"");
        out.push_str("{\"kind\":\"ConversionReview\",\"apiVersion\":");
        out.push_str(api_version);
        out.push_str(",\"response\":{\"uid\":");
        out.push_str(self.uid.unwrap_or("\"\""));
        out.push_str(",\"convertedObjects\":[");
    }

    fn read(
        &mut self,
        kind: &Kind,
        text: &'a str,
        out: &mut String,
        answer: &mut Answer,
    ) -> Result<(), ReviewError> {
        self.length = text.len();
        let mut review_kind = None;
        let mut api_version = None;
        let mut request = None;
        let mut scanner = Scanner::with_depth(text, MAX_DEPTH + LEVELS_AROUND);
        scanner.object(|scanner, key| {
            match key.name().as_ref() {
                "kind" => review_kind = Some(scanner.value()?),
                "apiVersion" => {
                    let value = scanner.value()?;
                    api_version = Some(value);
                    self.api_version = string_only(value);
                }
                "request" if scanner.peek() == b'{' => {
                    let read = self.request(kind, scanner, out, answer);
                    // The request of another review is no good either, but that is not what is wrong.
                    if read.is_err() && review_kind.is_some() && !is_string(review_kind, KIND) {
                        return Err(ReviewError::WrongKind(found(review_kind)));
                    }
                    request = Some(Ok(read?));
                }
                "request" => request = Some(Err(Node::from(scanner.value()?).kind())),
                _ => {
                    scanner.value()?;
                }
            }
            Ok::<_, ReviewError>(())
        })?;
        scanner.end()?;
        if !is_string(review_kind, KIND) {
            return Err(ReviewError::WrongKind(found(review_kind)));
        }
        if !VERSIONS
            .iter()
            .any(|version| is_string(api_version, version))
        {
            return Err(ReviewError::WrongVersion(found(api_version)));
        }
        request
            .unwrap_or(Err("nothing"))
            .map_err(ReviewError::NoRequest)
    }

    fn request(
        &mut self,
        kind: &Kind,
        scanner: &mut Scanner<'a>,
        out: &mut String,
        answer: &mut Answer,
    ) -> Result<(), ReviewError> {
        let mut desired = None;
        let mut waiting = None;
        scanner.object(|scanner, key| {
            match key.name().as_ref() {
                "uid" => self.uid = string_only(scanner.value()?),
                "desiredAPIVersion" => desired = Some(desired_version(kind, scanner.value()?)?),
                "objects" => match desired {
                    Some(desired) if scanner.peek() == b'[' => {
                        self.objects(kind, desired, scanner, out, answer)?;
                        waiting = None;
                    }
                    // The API server names the version first; whoever does not costs a second look at the objects.
                    _ => waiting = Some(scanner.value()?),
                },
                _ => {
                    scanner.value()?;
                }
            }
            Ok::<_, ReviewError>(())
        })?;
        let missing = || ReviewError::BadRequest {
            name: "desiredAPIVersion",
            expected: "a string",
            found: "nothing",
        };
        let desired = desired.ok_or_else(missing)?;
        match waiting {
            None | Some("null") => Ok(()),
            Some(text) if text.starts_with('[') => {
                let scanner = &mut Scanner::with_depth(text, MAX_DEPTH + LEVELS_AROUND);
                self.objects(kind, desired, scanner, out, answer)
            }
            Some(text) => {
                let found = Node::from(text).kind();
                Err(ReviewError::BadRequest {
                    name: "objects",
                    expected: "an array",
                    found,
                })
            }
        }
    }

    fn objects(
        &mut self,
        kind: &Kind,
        desired: &'static str,
        scanner: &mut Scanner<'a>,
        out: &mut String,
        answer: &mut Answer,
    ) -> Result<(), ReviewError> {
        // A member that is written twice counts as its last writing.
        self.failures = Failures::default();
        *answer = Answer::default();
        out.clear();
        self.write_head(out);
        self.head_of = Some((self.api_version, self.uid));
        self.objects_at = out.len();
        // What the rests add to the objects stays in proportion to what was sent.
        let mut events = Events::with_more_to_unfold(self.length);
        let mut index = 0;
        scanner.array(|scanner| {
            let mut object = kind.read(scanner)?;
            let result = catch_unwind(AssertUnwindSafe(|| {
                kind.convert(&mut object, desired, &mut events)
            }));
            match result {
                Ok(Ok(from)) => {
                    *answer.converted.entry((from, desired)).or_default() += 1;
                    answer.note(&object, &mut events);
                    if index > 0 {
                        out.push(',');
                    }
                    object.write(out);
                }
                Ok(Err(error)) => {
                    events.take();
                    let error = shortened(error).to_string();
                    self.failures.add(index, &object, kind, desired, &error);
                }
                Err(_) => {
                    events.take();
                    answer.panics += 1;
                    let bug = "the conversion panicked, which is a bug in the conversion server";
                    self.failures.add(index, &object, kind, desired, bug);
                }
            }
            index += 1;
            Ok::<_, ReviewError>(())
        })
    }
}

/// Whether a value is there and is this string, however it is escaped.
fn is_string(value: Option<&str>, text: &str) -> bool {
    let raw = value.and_then(|value| value.strip_prefix('"')?.strip_suffix('"'));
    raw.is_some_and(|raw| json::decode(raw) == text)
}

fn string_only(text: &str) -> Option<&str> {
    text.starts_with('"').then_some(text)
}

fn desired_version(kind: &Kind, value: &str) -> Result<&'static str, ReviewError> {
    let node = Node::from(value);
    let Some(raw) = node.string() else {
        return Err(ReviewError::BadRequest {
            name: "desiredAPIVersion",
            expected: "a string",
            found: node.kind(),
        });
    };
    kind.version(&json::decode(raw))
        .map_err(|error| ReviewError::UnknownVersion(shortened(error)))
}

impl Answer {
    fn note(&mut self, object: &Node<'_>, events: &mut Events) {
        for event in events.take() {
            let (count, ordinary) = match event {
                Event::Written => (&mut self.events.written, true),
                Event::Restored => (&mut self.events.restored, true),
                Event::Broken(_) => (&mut self.events.broken, false),
                Event::Misplaced => (&mut self.events.misplaced, false),
                Event::Omitted => (&mut self.events.omitted, false),
            };
            *count += 1;
            if !ordinary && self.notes.len() < NOTES {
                self.notes.push(Note {
                    object: identity(object),
                    event,
                });
            }
        }
    }
}

/// The bad objects of a review.
#[derive(Default)]
struct Failures {
    named: Vec<String>,
    more: usize,
}

impl Failures {
    fn add(&mut self, index: usize, object: &Node<'_>, kind: &Kind, desired: &str, error: &str) {
        if self.named.len() == NAMED_FAILURES {
            self.more += 1;
            return;
        }
        let from = member(object, "apiVersion")
            .map(|version| one_line(version, FOUND_LIMIT))
            .unwrap_or_else(|| "an unknown version".to_owned());
        let identity = identity(object);
        let to = format!("{}/{desired}", kind.group());
        let message =
            format!("objects[{index}] {identity}: cannot convert from {from} to {to}: {error}");
        self.named.push(one_line(&message, OBJECT_LIMIT));
    }

    fn message(&self) -> Option<String> {
        let mut message = self.named.join("; ");
        if self.more > 0 {
            message += &format!("; and {} more", self.more);
        }
        (!message.is_empty()).then_some(message)
    }
}

/// `namespace/name` of an object as it is written in its JSON, on one line and not longer than names are.
fn identity(object: &Node<'_>) -> String {
    let metadata = match object {
        Node::Object(object) => object.get("metadata"),
        _ => None,
    };
    let part = |name: &str| {
        let text = metadata.and_then(|metadata| member(metadata, name))?;
        Some(one_line(text, NAME_LIMIT))
    };
    let name = part("name").or_else(|| part("generateName").map(|prefix| prefix + "*"));
    let name = name.unwrap_or_else(|| "(no name)".to_owned());
    match part("namespace") {
        Some(namespace) => format!("{namespace}/{name}"),
        None => name,
    }
}

fn member<'n>(object: &'n Node<'_>, name: &str) -> Option<&'n str> {
    match object {
        Node::Object(object) => object.get(name)?.string(),
        _ => None,
    }
}

/// What stands where something else was expected: the beginning of a string, in quotes, or the kind of any other value.
fn found(value: Option<&str>) -> String {
    let Some(node) = value.map(Node::from) else {
        return "nothing".to_owned();
    };
    match node.string() {
        Some(raw) => format!("{:?}", cut(&json::decode(raw), FOUND_LIMIT)),
        None => node.kind().to_owned(),
    }
}

/// The same error with no more than the beginning of what was found.
fn shortened(mut error: ConvertError) -> ConvertError {
    if let ConvertError::WrongKind { found, .. } | ConvertError::UnknownVersion { found, .. } =
        &mut error
    {
        *found = cut(found, FOUND_LIMIT);
    }
    error
}

/// The text on one line, whatever a log or a terminal makes of a character, and cut after `limit` bytes.
fn one_line(text: &str, limit: usize) -> String {
    let mut line = String::with_capacity(text.len().min(limit));
    for character in text.chars() {
        if line.len() > limit {
            break;
        }
        match character {
            '"' | '\'' | '\\' => line.push(character),
            // Control characters, line separators and marks that turn the direction of writing.
            _ => line.extend(character.escape_debug()),
        }
    }
    cut(&line, limit)
}

/// The text without what follows after `limit` bytes, of which an ellipsis tells.
fn cut(text: &str, limit: usize) -> String {
    match text.get(..text.floor_char_boundary(limit)) {
        Some(beginning) if beginning.len() < text.len() => format!("{beginning}…"),
        _ => text.to_owned(),
    }
}
