//! The queue in NATS JetStream: how it is reached, what is in it, and how an event gets into it.
//!
//! | stream | subjects | keeps |
//! |---|---|---|
//! | [`STREAM`] | [`SUBJECTS`] | events until they are taken in, or are too old |
//! | [`DEAD_LETTERS`] | the same name | messages that cannot be taken in, with the reason, for a person |

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use async_nats::{
    ConnectError, ConnectOptions, ServerAddr,
    jetstream::{
        self,
        context::{CreateStreamError, PublishError},
        message::PublishMessage,
        stream::{Config, RetentionPolicy},
    },
};

pub use async_nats::jetstream::Context;

use crate::event::Event;

/// The stream of events.
pub const STREAM: &str = "async-operations";

/// The subjects of events.
pub const SUBJECTS: &str = "async-operations.>";

/// The stream of messages that could not be taken in, and their subject.
pub const DEAD_LETTERS: &str = "async-operations-dlq";

/// For how long an event that is published again under the same id is not kept again.
const DUPLICATE_WINDOW: Duration = Duration::from_secs(10 * 60);

/// For how long messages that could not be taken in are kept.
const DEAD_LETTERS_MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// How long a connection and each request may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why something did not work with the queue.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The credentials cannot be read.
    #[error("cannot read the credentials {}", path.display())]
    Credentials {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// No server can be reached.
    #[error("cannot connect to NATS")]
    Connect(#[source] ConnectError),
    /// A stream is neither there nor can be made.
    #[error("there is no stream {stream}, and none can be made")]
    Stream {
        /// The stream.
        stream: &'static str,
        /// What the server said.
        source: CreateStreamError,
    },
    /// An event is not known to be kept.
    #[error("the event is not known to be kept")]
    Publish(#[source] PublishError),
    /// An event cannot be written.
    #[error("the event cannot be written")]
    Event(#[source] serde_json::Error),
}

/// Where the servers are, and how one proves there who one is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Servers {
    /// Their URLs.
    pub urls: Urls,
    /// A file of credentials, as `nsc` makes it.
    pub credentials: Option<PathBuf>,
    /// Whom to trust, as PEM, beside the authorities that the system trusts.
    pub authority: Option<PathBuf>,
}

/// The URLs of servers. They may hold passwords, and are shown nowhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Urls(Vec<ServerAddr>);

/// A text is no list of URLs of servers. Which text is not told: it may hold a password.
#[derive(Debug, thiserror::Error)]
#[error("the URL of server {number} cannot be used")]
pub struct BadUrl {
    /// Which one of the list, from 1.
    number: usize,
    source: std::io::Error,
}

impl FromStr for Urls {
    type Err = BadUrl;

    /// The URLs in a text, with commas between.
    fn from_str(text: &str) -> Result<Self, BadUrl> {
        let urls = (1..).zip(text.split(',')).map(|(number, url)| {
            let parsed = url.trim().parse();
            parsed.map_err(|source| BadUrl { number, source })
        });
        urls.collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Debug for Urls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Urls")
    }
}

impl Servers {
    /// Connects, under a name that administrators of the servers see. The connection mends itself.
    ///
    /// # Errors
    /// [`Error::Credentials`] and [`Error::Connect`].
    pub async fn connect(&self, name: &str) -> Result<Context, Error> {
        // The client takes the provider of cryptography that the process has; whoever says so first is heard.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut options = ConnectOptions::new()
            .name(name)
            .connection_timeout(PATIENCE)
            .request_timeout(Some(PATIENCE));
        if let Some(path) = &self.credentials {
            let failed = |source| Error::Credentials {
                path: path.clone(),
                source,
            };
            options = options.credentials_file(path).await.map_err(failed)?;
        }
        if let Some(path) = &self.authority {
            options = options.add_root_certificates(path.clone());
        }
        let servers = &*self.urls.0;
        let client = options.connect(servers).await.map_err(Error::Connect)?;
        let mut context = jetstream::new(client);
        context.set_timeout(PATIENCE);
        Ok(context)
    }
}

/// Makes the streams that are missing; those that are there stay as they are. An event is kept for `max_age` at most.
///
/// # Errors
/// [`Error::Stream`].
pub async fn ensure_streams(context: &Context, max_age: Duration) -> Result<(), Error> {
    let events = Config {
        name: STREAM.to_owned(),
        subjects: vec![SUBJECTS.to_owned()],
        retention: RetentionPolicy::WorkQueue,
        max_age,
        duplicate_window: DUPLICATE_WINDOW.min(max_age),
        ..Config::default()
    };
    let dead_letters = Config {
        name: DEAD_LETTERS.to_owned(),
        subjects: vec![DEAD_LETTERS.to_owned()],
        max_age: DEAD_LETTERS_MAX_AGE,
        duplicate_window: DUPLICATE_WINDOW,
        ..Config::default()
    };
    for (stream, config) in [(STREAM, events), (DEAD_LETTERS, dead_letters)] {
        let failed = |source| Error::Stream { stream, source };
        context.get_or_create_stream(config).await.map_err(failed)?;
    }
    Ok(())
}

/// Publishes an event; when it returns well, the server keeps it. An event that is published again within minutes is kept once.
///
/// # Errors
/// [`Error::Publish`]: publish it again.
pub async fn publish(context: &Context, event: &Event) -> Result<(), Error> {
    let message = PublishMessage::build()
        .message_id(event.unique_id())
        .payload(event.to_message().map_err(Error::Event)?.into());
    // Who may publish of which provider's operations can be said by the subject.
    let subject = format!("{STREAM}.{}", event.subject);
    let sent = context.send_publish(subject, message).await;
    sent.map_err(Error::Publish)?
        .await
        .map(drop)
        .map_err(Error::Publish)
}

#[cfg(test)]
mod tests {
    use std::error::Error as StdError;

    use super::*;

    #[test]
    fn urls_have_commas_between() {
        let urls: Urls = "tls://a.example:4222, b.example".parse().unwrap();
        let hosts: Vec<_> = urls.0.iter().map(ServerAddr::host).collect();
        assert_eq!(hosts, ["a.example", "b.example"]);
    }

    #[test]
    fn a_password_is_shown_nowhere() {
        for text in [
            "nats://me:secret@a.example",
            "nats://a.example,nats://me:secret@b:port",
            "http://me:secret@b",
        ] {
            let shown = match text.parse::<Urls>() {
                Ok(urls) => format!("{urls:?}"),
                Err(error) => format!("{error}: {}, {error:?}", error.source().unwrap()),
            };
            assert!(!shown.contains("secret"), "{shown}");
        }
    }
}
