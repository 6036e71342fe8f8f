//! The queue in NATS JetStream: one durable pull consumer for all replicas.

use std::time::Duration;

use async_nats::jetstream::{
    AckKind, Context, Message,
    consumer::{AckPolicy, pull},
    message::PublishMessage,
};
use futures::{StreamExt, TryStreamExt, stream::BoxStream};
use jiff::Timestamp;
use operation_signals::nats::{DEAD_LETTERS, STREAM, Servers, ensure_streams};

use super::broker::{Broker, Delivery, Error};

/// The consumer that all replicas share.
const CONSUMER: &str = "task-controller";

/// How many messages a replica asks for at a time: few, since those that wait for their turn here must be answered for in time, too.
const BATCH: usize = 16;

/// How long one request for messages waits for them, and how often the server says meanwhile that it is still there.
const EXPIRES: Duration = Duration::from_secs(30);
const HEARTBEAT: Duration = Duration::from_secs(10);

/// On a dead letter: why it is one, where it was published, how often it was tried, and, where its end had to be left out, how many bytes it had.
const REASON: &str = "Task-Reason";
const SUBJECT: &str = "Task-Subject";
const DELIVERIES: &str = "Task-Deliveries";
const LENGTH: &str = "Task-Length";

/// What the headers of a dead letter may take, in bytes: the server counts them as part of the message.
const HEADERS_LENGTH_MAX: usize = 8 * 1024;

/// The queue in NATS JetStream.
#[derive(Clone, Debug)]
pub struct JetStream {
    /// Where it is.
    pub servers: Servers,
    /// How a connection is called.
    pub name: String,
    /// For how long a message waits to be taken in.
    pub max_age: Duration,
    /// After how long a message that nobody answers for is given to another one.
    pub ack_wait: Duration,
}

/// A message, and the way to answer for it.
pub struct Delivered {
    context: Context,
    message: Message,
    count: u64,
    sequence: u64,
    published: Option<Timestamp>,
}

impl Broker for JetStream {
    type Delivery = Delivered;

    async fn receive(&self) -> Result<BoxStream<'static, Result<Delivered, Error>>, Error> {
        let context = self.servers.connect(&self.name).await.map_err(Error::of)?;
        ensure_streams(&context, self.max_age)
            .await
            .map_err(Error::of)?;
        let config = pull::Config {
            durable_name: Some(CONSUMER.to_owned()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.ack_wait,
            // Who takes the messages counts: were the server to do so, a message would be lost while there is no place for dead letters.
            max_deliver: -1,
            // Messages that wait to come again must not hold up those of other providers.
            max_ack_pending: -1,
            ..pull::Config::default()
        };
        let stream = context
            .get_stream_no_info(STREAM)
            .await
            .map_err(Error::of)?;
        // One that is there learns what was configured since.
        let consumer = stream.create_consumer(config).await.map_err(Error::of)?;
        let messages = consumer
            .stream()
            .max_messages_per_batch(BATCH)
            .expires(EXPIRES)
            .heartbeat(HEARTBEAT)
            .messages()
            .await
            .map_err(Error::of)?;
        let deliveries = messages
            .map_err(Error::of)
            .and_then(move |message| std::future::ready(Delivered::of(context.clone(), message)));
        Ok(deliveries.boxed())
    }
}

impl Delivered {
    fn of(context: Context, message: Message) -> Result<Self, Error> {
        let info = message.info().map_err(Error::of)?;
        let (count, sequence) = (info.delivered, info.stream_sequence);
        let published = Timestamp::from_nanosecond(info.published.unix_timestamp_nanos()).ok();
        Ok(Self {
            context,
            count: u64::try_from(count).unwrap_or_default(),
            sequence,
            published,
            message,
        })
    }
}

impl Delivery for Delivered {
    fn subject(&self) -> &str {
        self.message.subject.as_str()
    }

    fn payload(&self) -> &[u8] {
        &self.message.payload
    }

    fn count(&self) -> u64 {
        self.count
    }

    fn published(&self) -> Option<Timestamp> {
        self.published
    }

    async fn ack(&self) -> Result<(), Error> {
        self.message.ack().await.map_err(Error::of)
    }

    async fn later(&self, wait: Duration) -> Result<(), Error> {
        let later = AckKind::Nak(Some(wait));
        self.message.ack_with(later).await.map_err(Error::of)
    }

    async fn bury(&self, reason: &str) -> Result<(), Error> {
        let payload = &self.message.payload;
        let kept = kept(payload.len(), self.context.client().max_payload());
        let mut letter = PublishMessage::build()
            .message_id(format!("{STREAM}-{}", self.sequence))
            .header(REASON, reason)
            .header(SUBJECT, self.message.subject.as_str())
            .header(DELIVERIES, self.count.to_string().as_str())
            .payload(payload.slice(..kept));
        if kept < payload.len() {
            letter = letter.header(LENGTH, payload.len().to_string().as_str());
        }
        let sent = self.context.send_publish(DEAD_LETTERS, letter).await;
        sent.map_err(Error::of)?.await.map_err(Error::of)?;
        Ok(())
    }

    async fn end(&self) -> Result<(), Error> {
        self.message
            .ack_with(AckKind::Term)
            .await
            .map_err(Error::of)
    }
}

/// How much of a payload of this length a dead letter has room for, beside its headers.
fn kept(length: usize, max_payload: usize) -> usize {
    length.min(max_payload.saturating_sub(HEADERS_LENGTH_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_letter_has_room_for_its_headers() {
        let most = 1024 * 1024;
        assert_eq!(kept(100, most), 100);
        assert_eq!(
            kept(most - HEADERS_LENGTH_MAX, most),
            most - HEADERS_LENGTH_MAX
        );
        assert_eq!(kept(most, most), most - HEADERS_LENGTH_MAX);
        assert_eq!(kept(100, 1), 0);
    }
}
