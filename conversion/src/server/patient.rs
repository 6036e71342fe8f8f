//! A connection whose client has to take what is sent to it.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// How long a client may keep the server waiting to send, over and above what [`RATE`] allows for: as long as the API server waits for
/// an answer itself, so that it is never the server that gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many bytes a second a client must take on average.
const RATE: f64 = 1024.0 * 1024.0;

/// Fails with [`io::ErrorKind::TimedOut`] when the client takes what is sent too slowly: nothing for 30 s, or in the long run less
/// than 1 MiB/s. Time during which there is nothing to send does not count.
pub(super) struct Patient<S> {
    stream: S,
    /// What is left of the patience.
    left: Duration,
    waiting: Option<Waiting>,
}

struct Waiting {
    since: Instant,
    over: Pin<Box<Sleep>>,
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            left: PATIENCE,
            waiting: None,
        }
    }

    fn blocked<T>(&mut self, context: &mut Context<'_>) -> Poll<io::Result<T>> {
        let left = self.left;
        let waiting = self.waiting.get_or_insert_with(|| {
            let since = Instant::now();
            let over = Box::pin(sleep_until(since + left));
            Waiting { since, over }
        });
        ready!(waiting.over.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }

    fn went_on(&mut self, bytes: usize) {
        let earned = Duration::from_secs_f64(bytes as f64 / RATE);
        let waiting = self.waiting.take();
        let spent = waiting.map_or(Duration::ZERO, |waiting| waiting.since.elapsed());
        self.left = (self.left + earned).saturating_sub(spent).min(PATIENCE);
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write(context, bytes) {
            Poll::Pending => self.blocked(context),
            Poll::Ready(result) => {
                self.went_on(*result.as_ref().unwrap_or(&0));
                Poll::Ready(result)
            }
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match Pin::new(&mut self.stream).poll_write_vectored(context, slices) {
            Poll::Pending => self.blocked(context),
            Poll::Ready(result) => {
                self.went_on(*result.as_ref().unwrap_or(&0));
                Poll::Ready(result)
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_flush(context) {
            Poll::Pending => self.blocked(context),
            Poll::Ready(result) => {
                self.went_on(0);
                Poll::Ready(result)
            }
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.stream).poll_shutdown(context) {
            Poll::Pending => self.blocked(context),
            done => done,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::sleep;

    use super::*;

    /// How long it takes to send `length` bytes to a client that takes `bite` bytes each `pause`.
    async fn sent(length: usize, bite: usize, pause: Duration) -> io::Result<Duration> {
        let (server, mut client) = duplex(bite);
        tokio::spawn(async move {
            let mut buffer = vec![0; bite];
            loop {
                sleep(pause).await;
                if client.read_exact(&mut buffer).await.is_err() {
                    return;
                }
            }
        });
        let start = Instant::now();
        let mut server = Patient::new(server);
        server.write_all(&vec![0; length]).await?;
        Ok(start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_nothing_is_let_go_after_thirty_seconds() {
        let start = Instant::now();
        let error = sent(20, 10, Duration::from_secs(3600)).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(start.elapsed().as_secs(), 30);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_a_little_now_and_then_is_let_go_as_well() {
        let error = sent(1 << 20, 1024, Duration::from_secs(1))
            .await
            .unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_keeps_the_rate_may_take_as_long_as_it_needs() {
        let took = sent(60 << 20, 1 << 20, Duration::from_millis(900))
            .await
            .unwrap();
        assert!(took > PATIENCE, "{took:?}");
    }
}
