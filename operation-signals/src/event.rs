//! The messages of a queue: CloudEvents 1.0 in their JSON format. Pure.

use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};

/// The version of CloudEvents.
const SPEC_VERSION: &str = "1.0";

/// The longest attribute, in bytes: some of them are written into a status.
const ATTRIBUTE_LENGTH_MAX: usize = 512;

/// The type of the events that are made here. Those that come may be of any.
pub const TYPE: &str = "io.example.task.operation.status";

/// An event that tells how an operation stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Event {
    specversion: String,
    /// What tells it from all others of its source.
    pub id: String,
    /// Who made it.
    pub source: String,
    #[serde(rename = "type")]
    type_: String,
    /// The `Operation-Id` of the operation that it is about.
    pub subject: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    datacontenttype: Option<String>,
    /// How the operation stands, in the form of the answer to a poll.
    pub data: Box<RawValue>,
}

/// Why a message is no such event, and never will be.
#[derive(Debug, thiserror::Error)]
pub enum BadEvent {
    /// It is not JSON of this form.
    #[error("it is no CloudEvent in the JSON format: {0}")]
    Form(#[source] serde_json::Error),
    /// It is of another version.
    #[error("it is a CloudEvent of version {0}, not {SPEC_VERSION}")]
    Version(String),
    /// An attribute says nothing.
    #[error("its {0} is empty")]
    Empty(&'static str),
    /// An attribute says too much.
    #[error("its {0} is longer than {ATTRIBUTE_LENGTH_MAX} bytes")]
    TooLong(&'static str),
}

impl Event {
    /// The event with this id from this source which says of the operation that goes by this `Operation-Id` how it stands.
    ///
    /// # Errors
    /// When `stands` is not JSON.
    pub fn new(
        source: &str,
        id: &str,
        operation: &str,
        stands: &Value,
    ) -> serde_json::Result<Self> {
        Ok(Self {
            specversion: SPEC_VERSION.to_owned(),
            id: id.to_owned(),
            source: source.to_owned(),
            type_: TYPE.to_owned(),
            subject: operation.to_owned(),
            datacontenttype: Some("application/json".to_owned()),
            data: serde_json::value::to_raw_value(stands)?,
        })
    }

    /// The event in a message.
    ///
    /// # Errors
    /// See [`BadEvent`].
    pub fn parse(message: &[u8]) -> Result<Self, BadEvent> {
        let event: Self = serde_json::from_slice(message).map_err(BadEvent::Form)?;
        if event.specversion != SPEC_VERSION {
            return Err(BadEvent::Version(event.specversion));
        }
        for (name, attribute) in [
            ("id", &event.id),
            ("source", &event.source),
            ("type", &event.type_),
            ("subject", &event.subject),
        ] {
            if attribute.is_empty() {
                return Err(BadEvent::Empty(name));
            }
            if attribute.len() > ATTRIBUTE_LENGTH_MAX {
                return Err(BadEvent::TooLong(name));
            }
        }
        Ok(event)
    }

    /// What tells it from all others, of all sources.
    #[must_use]
    pub fn unique_id(&self) -> String {
        format!("{}#{}", self.source, self.id)
    }

    /// The message.
    ///
    /// # Errors
    /// None that is known: it is made of text and JSON.
    pub fn to_message(&self) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(self)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn message() -> Value {
        json!({
            "specversion": "1.0",
            "id": "e-1",
            "source": "//volumes.example",
            "type": "example.volume.made",
            "subject": "volumes.0123.0",
            "time": "2026-01-02T03:04:05Z",
            "someextension": "7",
            "data": {"status": "Succeeded", "number": 1.000},
        })
    }

    fn refusal(edit: impl FnOnce(&mut Value)) -> String {
        let mut message = message();
        edit(&mut message);
        let refused = Event::parse(message.to_string().as_bytes());
        refused.unwrap_err().to_string()
    }

    #[test]
    fn an_event_is_read_with_what_else_it_holds() {
        let event = Event::parse(message().to_string().as_bytes()).unwrap();
        assert_eq!(event.subject, "volumes.0123.0");
        assert_eq!(event.unique_id(), "//volumes.example#e-1");
        assert!(event.data.get().contains("Succeeded"));
    }

    #[test]
    fn what_is_made_is_read_again() {
        let stands = json!({"status": "Running"});
        let made = Event::new("//a", "1", "volumes.0.0", &stands).unwrap();
        let read = Event::parse(&made.to_message().unwrap()).unwrap();
        assert_eq!(read.unique_id(), made.unique_id());
        assert_eq!(read.data.get(), stands.to_string());
    }

    #[test]
    fn what_is_no_event_is_refused_with_the_reason() {
        for (field, reason) in [
            ("id", "missing field `id`"),
            ("source", "missing field `source`"),
            ("type", "missing field `type`"),
            ("subject", "missing field `subject`"),
            ("data", "missing field `data`"),
            ("specversion", "missing field `specversion`"),
        ] {
            let refused = refusal(|message| {
                message.as_object_mut().unwrap().remove(field);
            });
            assert!(refused.contains(reason), "{refused}");
        }
        for field in ["id", "source", "type", "subject"] {
            let refused = refusal(|message| message[field] = json!(""));
            assert_eq!(refused, format!("its {field} is empty"));
        }
        let refused = refusal(|message| message["source"] = json!("a".repeat(513)));
        assert_eq!(refused, "its source is longer than 512 bytes");
        let refused = refusal(|message| message["specversion"] = json!("0.3"));
        assert_eq!(refused, "it is a CloudEvent of version 0.3, not 1.0");
        assert!(Event::parse(b"\xff").is_err());
    }
}
