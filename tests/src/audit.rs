//! What the API server was asked for, by its audit log.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// Every request, when it has been answered, and of Leases all that was said; of a watch also when it begins to be.
const POLICY: &str = r#"{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"],
    "rules": [
        {"level": "RequestResponse", "resources": [{"group": "coordination.k8s.io", "resources": ["leases"]}]},
        {"level": "Metadata"}
    ]}"#;

/// The audit log of an API server.
#[derive(Clone, Debug)]
pub struct AuditLog {
    policy: PathBuf,
    log: PathBuf,
}

/// A request that was made, but for watches and Leases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The verb, such as `patch`; a creation by server-side apply is a `patch`, too.
    pub verb: String,
    /// The resource and, after a slash, the subresource.
    pub resource: String,
    /// The namespace, or nothing.
    pub namespace: String,
    /// The name of the object, or nothing.
    pub name: String,
    /// The HTTP status of the answer.
    pub code: u64,
}

impl AuditLog {
    /// A log in this folder, which is made if it is not there; the log of an API server that had it before is removed.
    ///
    /// # Errors
    /// When the folder cannot be written to.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let [policy, log] = ["policy.json", "audit.log"].map(|name| folder.join(name));
        fs::write(&policy, POLICY)?;
        match fs::remove_file(&log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(Self { policy, log }),
        }
    }

    /// The arguments by which an API server writes it.
    pub fn api_server_args(&self) -> Vec<String> {
        vec![
            format!("--audit-policy-file={}", self.policy.display()),
            format!("--audit-log-path={}", self.log.display()),
            // In one file, however long: by default another is begun after 100 MB.
            "--audit-log-maxsize=1000000".to_owned(),
        ]
    }

    /// The requests of the controller so far but for its watches, and for its Leases, which it has to renew as long as it runs.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn of_controller(&self) -> io::Result<Vec<Request>> {
        self.of_agent("task-controller/")
    }

    /// The same of a client whose user agent begins like this.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn of_agent(&self, prefix: &str) -> io::Result<Vec<Request>> {
        let is_asked = |event: &Value| {
            let agent = event["userAgent"].as_str().unwrap_or_default();
            let is_for_presence =
                event["verb"] == "watch" || event["objectRef"]["resource"] == "leases";
            agent.starts_with(prefix) && !is_for_presence
        };
        // Most events are of others, and need not be looked into.
        let events = self.events_that(|line| line.contains(prefix))?;
        let asked = events.iter().filter(|event| is_asked(event));
        Ok(asked.map(Request::of).collect())
    }

    /// The events so far in which a text occurs, as the API server wrote them.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn events_with(&self, text: &str) -> io::Result<Vec<Value>> {
        self.events_that(|line| line.contains(text))
    }

    /// All events so far, as the API server wrote them.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn events(&self) -> io::Result<Vec<Value>> {
        self.events_that(|_| true)
    }

    fn events_that(&self, is_wanted: impl Fn(&str) -> bool) -> io::Result<Vec<Value>> {
        Ok(fs::read_to_string(&self.log)?
            .lines()
            .filter(|line| is_wanted(line))
            // The last one may be only half written.
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect())
    }
}

impl Request {
    /// Whether it changes something.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
    }

    fn of(event: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &event["objectRef"];
        let mut resource = text(&object["resource"]);
        if let Some(subresource) = object["subresource"].as_str() {
            resource = format!("{resource}/{subresource}");
        }
        Self {
            verb: text(&event["verb"]),
            resource,
            namespace: text(&object["namespace"]),
            name: text(&object["name"]),
            code: event["responseStatus"]["code"].as_u64().unwrap_or_default(),
        }
    }
}
