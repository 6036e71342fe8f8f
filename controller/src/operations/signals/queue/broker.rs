//! What a queue has to be able to do.
//!
//! JetStream can; Redis Streams (`XREADGROUP`, `XAUTOCLAIM`, `XACK`), RabbitMQ (`basic.consume`, `basic.ack`, `basic.reject` with a delayed exchange)
//! and Kafka (a consumer group that commits offsets, and a topic for what comes later) can, too.

use std::{error::Error as StdError, time::Duration};

use futures::stream::BoxStream;
use jiff::Timestamp;

/// Why a queue did not do as it was asked. The connection is made anew.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct Error(Box<dyn StdError + Send + Sync>);

impl Error {
    /// What the client of the queue said.
    pub fn of(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self(error.into())
    }
}

/// A queue. All replicas take from it together: each message goes to one of them, and to another one if that does not answer for it.
pub trait Broker: Send + Sync {
    /// A message from it.
    type Delivery: Delivery + 'static;

    /// Connects, and gives messages until the connection or anything else of the queue fails. Whatever the queue is made of and is missing is
    /// made.
    fn receive(
        &self,
    ) -> impl Future<Output = Result<BoxStream<'static, Result<Self::Delivery, Error>>, Error>> + Send;
}

/// A message, as often as it was given to somebody.
pub trait Delivery: Send + Sync {
    /// Where it was published: what the queue let its publisher do.
    fn subject(&self) -> &str;

    /// What was published.
    fn payload(&self) -> &[u8];

    /// How often it was given to somebody, this time included.
    fn count(&self) -> u64;

    /// When it was published.
    fn published(&self) -> Option<Timestamp>;

    /// It is taken in: it need not come again.
    fn ack(&self) -> impl Future<Output = Result<(), Error>> + Send;

    /// It is to come again, after this time.
    fn later(&self, wait: Duration) -> impl Future<Output = Result<(), Error>> + Send;

    /// Keeps a copy among the dead letters, with the reason, for a person; the end of one that is as long as can be is left out. When it returns well, the copy is there; of one message there is
    /// one, also if this is done again within minutes.
    fn bury(&self, reason: &str) -> impl Future<Output = Result<(), Error>> + Send;

    /// It must not come again.
    fn end(&self) -> impl Future<Output = Result<(), Error>> + Send;
}
