//! Reading an AdmissionReview.
//!
//! Not by way of kube's `AdmissionReview<T>`: that fails as a whole when one part of an object is odd, and then nobody knows the uid
//! that the answer must have.

use task_api_v1::names::{GROUP, KIND, PLURAL, VERSION};

use crate::json::{Key, Malformed, Node, Object, Scanner, decode};
use crate::task::TASK;

/// The apiVersion of the reviews that are answered, as it is written in JSON.
pub(super) const API_VERSION: &str = "\"admission.k8s.io/v1\"";

/// What an AdmissionReview asks about a Task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request<'a> {
    /// What is to be done.
    pub(super) operation: Operation,
    /// What part of the Task it is done to.
    pub(super) subresource: Subresource,
    /// The version that the client used.
    pub(super) client_version: String,
    /// The name of the object; empty where the API server is to make one up.
    pub(super) name: String,
    /// The namespace.
    pub(super) namespace: String,
    /// The text of the object as it would become; `None` for a deletion.
    pub(super) object: Option<&'a str>,
    /// The text of the object as it is; `None` for a creation.
    pub(super) old_object: Option<&'a str>,
}

/// What is to be done to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// It comes to be.
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
}

impl Operation {
    const ALL: [Self; 3] = [Self::Create, Self::Update, Self::Delete];

    /// The name that the API server gives it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }
}

/// The part of a Task that a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subresource {
    /// The Task itself, all but its status.
    Task,
    /// Its status, and nothing else.
    Status,
    /// Its number of replicas, shown as a Scale of `autoscaling/v1`.
    Scale,
}

impl Subresource {
    const ALL: [Self; 3] = [Self::Task, Self::Status, Self::Scale];

    /// The name that the API server gives it; empty for the Task itself.
    pub fn name(self) -> &'static str {
        match self {
            Self::Task => "",
            Self::Status => "status",
            Self::Scale => "scale",
        }
    }

    /// The group, version and kind of the object that comes with it.
    fn kind(self) -> [&'static str; 3] {
        match self {
            Self::Task | Self::Status => [GROUP, VERSION, KIND],
            Self::Scale => ["autoscaling", "v1", "Scale"],
        }
    }
}

/// Why a body is no review that can be judged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReviewError {
    #[error("the body is no AdmissionReview: not UTF-8 from byte {0} on")]
    NotUtf8(usize),
    #[error("the body is no AdmissionReview: {0}")]
    Malformed(#[from] Malformed),
    #[error("the review has no request.uid")]
    NoUid,
    #[error("kind: expected AdmissionReview, found {0}")]
    WrongReviewKind(String),
    #[error("apiVersion: expected admission.k8s.io/v1, found {0}")]
    WrongReviewVersion(String),
    #[error("request.{name}: expected {expected}, found {found}")]
    BadRequest {
        name: &'static str,
        expected: &'static str,
        found: String,
    },
    #[error(
        "this webhook judges tasks of task.example.io at v1 only, and was sent {found}: mend the rules of the webhook configuration"
    )]
    NotATask { found: String },
}

impl<'a> Request<'a> {
    /// Reads the review in `text`. Its uid, as it is written in JSON, comes out as soon as it is read, whatever comes after it.
    pub(super) fn read(text: &'a str, uid: &mut Option<&'a str>) -> Result<Self, ReviewError> {
        let mut review_kind = None;
        let mut api_version = None;
        let mut request = None;
        let mut scanner = Scanner::new(text);
        scanner.object(|scanner, key| {
            match key.name().as_ref() {
                "kind" => review_kind = Some(scanner.value()?),
                "apiVersion" => api_version = Some(scanner.value()?),
                "request" if scanner.peek() == b'{' => request = Some(Members::read(scanner, uid)?),
                _ => {
                    scanner.value()?;
                }
            }
            Ok::<_, ReviewError>(())
        })?;
        scanner.end()?;
        let found = |found: Option<&str>| clip(found.unwrap_or("nothing"));
        if review_kind != Some("\"AdmissionReview\"") {
            return Err(ReviewError::WrongReviewKind(found(review_kind)));
        }
        if api_version != Some(API_VERSION) {
            return Err(ReviewError::WrongReviewVersion(found(api_version)));
        }
        if uid.is_none() {
            return Err(ReviewError::NoUid);
        }
        Self::from_members(&request.unwrap_or_default())
    }

    fn from_members(request: &Members<'a>) -> Result<Self, ReviewError> {
        let subresource = request.subresource()?;
        let operation = request.operation()?;
        // Where there is no other version to speak of, the API server leaves this out.
        let client_resource = ["requestResource", "resource"]
            .into_iter()
            .find_map(|name| request.object(name));
        let object = request.object("object");
        let old_object = request.object("oldObject");
        let (name, needed) = match operation {
            Operation::Create | Operation::Update => ("object", object),
            // Only deletions of kinds that are older than this API come without it.
            Operation::Delete => ("oldObject", old_object),
        };
        if needed.is_none() {
            return Err(request.unexpected(name, "an object"));
        }
        Ok(Self {
            operation,
            subresource,
            client_version: client_resource
                .map(|resource| part(resource, "version"))
                .unwrap_or_default(),
            name: request.string("name"),
            namespace: request.string("namespace"),
            object,
            old_object,
        })
    }

    /// The version that the client used, where it is one of Task's.
    pub(super) fn known_version(&self) -> Option<&'static str> {
        TASK.version(&format!("{GROUP}/{}", self.client_version))
            .ok()
    }

    /// Whether the client used v1, at which objects are judged.
    pub(super) fn is_at_v1(&self) -> bool {
        self.client_version == VERSION
    }

    /// `namespace/name`, for logs.
    pub(super) fn identity(&self) -> String {
        let name = if self.name.is_empty() {
            "(no name)"
        } else {
            &self.name
        };
        format!("{}/{name}", self.namespace)
    }
}

/// The members of the review's `request`, their values as text.
#[derive(Default)]
struct Members<'a>(Vec<(Key<'a>, &'a str)>);

impl<'a> Members<'a> {
    fn read(scanner: &mut Scanner<'a>, uid: &mut Option<&'a str>) -> Result<Self, Malformed> {
        let mut members = Vec::new();
        scanner.object(|scanner, key| {
            let value = scanner.value()?;
            if key.is("uid") && value.starts_with('"') {
                *uid = Some(value);
            }
            members.push((key, value));
            Ok::<_, Malformed>(())
        })?;
        Ok(Self(members))
    }

    fn get(&self, name: &str) -> Option<&'a str> {
        let member = self.0.iter().rev().find(|(key, _)| key.is(name));
        member.map(|(_, value)| *value)
    }

    fn object(&self, name: &str) -> Option<&'a str> {
        self.get(name).filter(|value| value.starts_with('{'))
    }

    /// The string `name`; empty when it is absent or something else.
    fn string(&self, name: &str) -> String {
        self.get(name).map(decoded).unwrap_or_default()
    }

    fn unexpected(&self, name: &'static str, expected: &'static str) -> ReviewError {
        ReviewError::BadRequest {
            name,
            expected,
            found: clip(self.get(name).map_or("nothing", |value| match value {
                // An object's content is nobody's business here.
                _ if value.starts_with('{') => "an object",
                value => value,
            })),
        }
    }

    fn operation(&self) -> Result<Operation, ReviewError> {
        let name = self.string("operation");
        Operation::ALL
            .into_iter()
            .find(|operation| operation.name() == name)
            .ok_or_else(|| self.unexpected("operation", "CREATE, UPDATE or DELETE"))
    }

    /// The part of a Task that the request is about, if it is about a Task at v1.
    fn subresource(&self) -> Result<Subresource, ReviewError> {
        let of = |name, parts: [&str; 3]| {
            let object = self.object(name).unwrap_or("{}");
            parts.map(|member| part(object, member))
        };
        let kind = of("kind", ["group", "version", "kind"]);
        let resource = of("resource", ["group", "version", "resource"]);
        let subresource = self.string("subResource");
        Subresource::ALL
            .into_iter()
            .find(|known| {
                known.name() == subresource
                    && resource == [GROUP, VERSION, PLURAL]
                    && kind == known.kind()
            })
            .ok_or_else(|| {
                let [group, version, kind] = kind;
                let [_, _, resource] = resource;
                let slash = if subresource.is_empty() { "" } else { "/" };
                let found = clip(&format!(
                    "{kind:?} of {group:?} at {version:?} as {resource}{slash}{subresource}"
                ));
                ReviewError::NotATask { found }
            })
    }
}

/// The string `name` of the object that `text` is; empty when it is absent or something else.
fn part(text: &str, name: &str) -> String {
    let object = Object::parse(text).unwrap_or_default();
    let value = object.get(name).map(Node::text);
    value.map(|value| decoded(&value)).unwrap_or_default()
}

/// The characters of the string that `text` is; empty when it is something else.
fn decoded(text: &str) -> String {
    let node = Node::from(text);
    node.string().map(decode).unwrap_or_default().into_owned()
}

/// Cuts what bad input has made too long for a message, and keeps it on one line.
fn clip(text: &str) -> String {
    const LIMIT: usize = 128;
    let on_one_line = |c: char| if c.is_control() { ' ' } else { c };
    let mut line: String = text.chars().map(on_one_line).take(LIMIT).collect();
    if text.chars().nth(LIMIT).is_some() {
        line.push('…');
    }
    line
}
