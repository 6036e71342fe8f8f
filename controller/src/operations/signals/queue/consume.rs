//! Messages, one after the other: each is looked at, and answered for once what follows from it is written.

use std::sync::Arc;

use futures::{StreamExt, TryStreamExt};
use jiff::Timestamp;
use operation_signals::{event::Event, nats::STREAM};
use tokio::sync::watch;

use super::{
    broker::{Broker, Delivery, Error},
    directory::Directory,
    judge::{Outcome, Verdict, verdict, wait},
};
use crate::{
    operations::{
        decide::Signal,
        key::Key,
        metrics::Metrics,
        schedule,
        signals::inbox::{Inbox, Source},
    },
    stop::stopped,
};

/// How many messages are looked at at the same time.
const CONCURRENCY: usize = 16;

/// Looks at messages.
pub struct Reader {
    /// Takes them in.
    pub inbox: Arc<Inbox>,
    /// Knows whose operations they are about.
    pub directory: Arc<Directory>,
    /// How often one is tried.
    pub max_deliveries: u32,
    /// Counts them.
    pub metrics: Metrics,
}

/// Takes messages from the queue, from when all Tasks are listed until stop is asked for; returns once those that were begun are answered for. While the queue is not to be
/// reached it is tried again and again, later each time; meanwhile providers are polled.
pub async fn consume(broker: impl Broker, reader: Reader, stop: watch::Receiver<bool>) {
    tokio::select! {
        () = reader.directory.whole() => {}
        () = stopped(stop.clone()) => return,
    }
    let mut failures = 0;
    loop {
        let error = match session(&broker, &reader, &mut failures, stop.clone()).await {
            Ok(()) if *stop.borrow() => return,
            Ok(()) => None,
            Err(error) => Some(error),
        };
        reader.metrics.queue_is_down(true);
        failures += 1;
        let pause = schedule::reconnect(failures, reader.inbox.operations().random());
        match error {
            Some(error) => tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the queue is not to be had, and is tried again in {pause:?}"
            ),
            None => {
                tracing::info!("the queue closed the connection, which is made again in {pause:?}");
            }
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stopped(stop.clone()) => return,
        }
    }
}

/// One connection. It ends well only when stop is asked for, or the queue closes it.
async fn session(
    broker: &impl Broker,
    reader: &Reader,
    failures: &mut u32,
    stop: watch::Receiver<bool>,
) -> Result<(), Error> {
    let deliveries = tokio::select! {
        deliveries = broker.receive() => deliveries?,
        () = stopped(stop.clone()) => return Ok(()),
    };
    *failures = 0;
    tracing::info!("messages of the queue are taken in");
    reader.metrics.queue_is_down(false);
    deliveries
        .take_until(stopped(stop))
        .try_for_each_concurrent(CONCURRENCY, |delivery| async move {
            let outcome = reader.look_at(&delivery).await;
            let verdict = verdict(outcome, delivery.count(), reader.max_deliveries);
            if answer(&delivery, &verdict).await?
                && let Verdict::Bury { as_a, reason } = verdict
            {
                reader.metrics.dead_letter(as_a);
                tracing::error!(reason, "a message was put among the dead letters");
            }
            Ok(())
        })
        .await
}

impl Reader {
    async fn look_at(&self, delivery: &impl Delivery) -> Outcome {
        if let Some(published) = delivery.published() {
            let age = Timestamp::now().duration_since(published);
            self.metrics.waited(age.as_secs_f64());
        }
        let count = |result| self.inbox.count(Source::Queue, result);
        let event = match Event::parse(delivery.payload()) {
            Ok(event) => event,
            Err(error) => {
                count("malformed");
                return Outcome::Malformed(error.to_string());
            }
        };
        let operation = Key::recorded(&event.subject);
        let providers = &self.inbox.operations().providers;
        let named = operation.provider();
        let Some((name, provider)) = named.and_then(|name| Some((name, providers.get(name)?)))
        else {
            count("foreign");
            return Outcome::Unknown(
                "its subject is no Operation-Id of a provider that is configured",
            );
        };
        if !is_below(name, delivery.subject()) {
            count("unproved");
            return Outcome::Unproved;
        }
        let data = event.data.get().as_bytes();
        let Some(told) = provider.settings.provider.reported(data) else {
            count("malformed");
            return Outcome::Malformed("its data does not say how the operation stands".to_owned());
        };
        let Some(task) = self.directory.find(&operation) else {
            count("foreign");
            return Outcome::Unknown("no Task has this operation");
        };
        let signal = Signal {
            event_id: event.unique_id(),
            told,
        };
        match self
            .inbox
            .take(Source::Queue, &task, &operation, signal)
            .await
        {
            Ok(taken) => Outcome::Taken(taken),
            Err(error) => Outcome::Failed(error),
        }
    }
}

/// Whether this is a subject that the events of this provider are published to. The queue says who may do so, and that is all that proves whom an event is from: what is
/// in it may be anybody's.
fn is_below(provider: &str, subject: &str) -> bool {
    subject
        .strip_prefix(STREAM)
        .and_then(|rest| rest.strip_prefix('.')?.strip_prefix(provider))
        .is_some_and(|rest| rest.starts_with('.'))
}

/// Answers for a message; gives whether it is for a person now. One for which there is no place among the dead letters is to come again: it is
/// never lost.
async fn answer(delivery: &impl Delivery, verdict: &Verdict) -> Result<bool, Error> {
    match verdict {
        Verdict::Ack => delivery.ack().await?,
        Verdict::Later(wait) => delivery.later(*wait).await?,
        Verdict::Bury { reason, .. } => match delivery.bury(reason).await {
            Ok(()) => {
                delivery.end().await?;
                return Ok(true);
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a message cannot be put among the dead letters, and is tried again"
                );
                delivery.later(wait(delivery.count())).await?;
            }
        },
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use std::{sync::Mutex, time::Duration};

    use super::*;
    use crate::operations::signals::queue::judge::DeadLetter;

    #[derive(Default)]
    struct Fake {
        done: Mutex<Vec<String>>,
        has_no_place: bool,
    }

    impl Fake {
        fn note(&self, what: &str) -> Result<(), Error> {
            self.done.lock().unwrap().push(what.to_owned());
            Ok(())
        }
    }

    impl Delivery for Fake {
        fn subject(&self) -> &str {
            ""
        }

        fn payload(&self) -> &[u8] {
            b""
        }

        fn count(&self) -> u64 {
            3
        }

        fn published(&self) -> Option<Timestamp> {
            None
        }

        async fn ack(&self) -> Result<(), Error> {
            self.note("ack")
        }

        async fn later(&self, wait: Duration) -> Result<(), Error> {
            self.note(&format!("later: {wait:?}"))
        }

        async fn bury(&self, reason: &str) -> Result<(), Error> {
            self.note(&format!("bury: {reason}"))?;
            if self.has_no_place {
                return Err(Error::of("no place"));
            }
            Ok(())
        }

        async fn end(&self) -> Result<(), Error> {
            self.note("end")
        }
    }

    async fn done(has_no_place: bool, verdict: Verdict) -> Vec<String> {
        let fake = Fake {
            has_no_place,
            ..Fake::default()
        };
        answer(&fake, &verdict).await.unwrap();
        fake.done.into_inner().unwrap()
    }

    #[tokio::test]
    async fn a_message_ends_only_after_it_is_among_the_dead_letters() {
        let bury = || Verdict::Bury {
            as_a: DeadLetter::Refused,
            reason: "why".to_owned(),
        };
        assert_eq!(done(false, bury()).await, ["bury: why", "end"]);
        assert_eq!(done(true, bury()).await, ["bury: why", "later: 2s"]);
    }

    #[test]
    fn an_event_is_a_providers_only_below_its_name() {
        for (subject, expected) in [
            ("async-operations.volumes.0123.0", true),
            ("async-operations.volumes.again", true),
            ("async-operations.volumes", false),
            ("async-operations.volumes2.0123.0", false),
            ("async-operations.backups.volumes.0", false),
            ("async-operations.backups", false),
            ("volumes.0123.0", false),
        ] {
            assert_eq!(is_below("volumes", subject), expected, "{subject}");
        }
    }

    #[tokio::test]
    async fn each_message_is_answered_for_once() {
        assert_eq!(done(false, Verdict::Ack).await, ["ack"]);
        let later = Verdict::Later(Duration::from_secs(1));
        assert_eq!(done(false, later).await, ["later: 1s"]);
    }
}
