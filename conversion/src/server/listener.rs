//! Accepting connections: no more than are allowed, and patiently when the system has none to give.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::{Instant, sleep};
use tracing::warn;

/// The first pause after an accept that failed, as it does when the process has no file descriptor left. Each further one is twice as
/// long, up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(10);

/// The longest pause after an accept that failed.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often it is logged that something of which there is too little is still lacking.
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Accepts connections, up to a limit.
pub(super) struct Listener {
    listener: TcpListener,
    free: Arc<Semaphore>,
    limit: u32,
    open: Arc<AtomicUsize>,
    pressure: watch::Sender<()>,
    pause: Duration,
    logged: Option<Instant>,
}

/// A connection; another may come in its place when that is dropped.
pub(super) struct Accepted {
    pub(super) stream: TcpStream,
    pub(super) place: Place,
    /// Changes when others wait for a connection, and those that are idle should go.
    pub(super) pressure: watch::Receiver<()>,
}

/// One of the connections that there may be.
pub(super) struct Place {
    open: Arc<AtomicUsize>,
    _permit: OwnedSemaphorePermit,
}

impl Listener {
    pub(super) fn new(listener: TcpListener, limit: u32) -> Self {
        Self {
            listener,
            free: Arc::new(Semaphore::new(limit as usize)),
            limit,
            open: Arc::default(),
            pressure: watch::Sender::new(()),
            pause: FIRST_PAUSE,
            logged: None,
        }
    }

    /// How many connections there are, at any time.
    pub(super) fn open(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.open)
    }

    /// The next connection. Failures are waited out.
    pub(super) async fn accept(&mut self) -> Accepted {
        let permit = self.permit().await;
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    self.pause = FIRST_PAUSE;
                    return Accepted {
                        stream,
                        place: Place::taken(permit, &self.open),
                        pressure: self.pressure.subscribe(),
                    };
                }
                // The client has gone away meanwhile: the next one is already there.
                Err(error) if is_the_client_s(&error) => {}
                Err(error) => {
                    self.log(&format!("cannot accept a connection: {error}"));
                    self.pressure.send_replace(());
                    sleep(self.pause).await;
                    self.pause = (self.pause * 2).min(LONGEST_PAUSE);
                }
            }
        }
    }

    async fn permit(&mut self) -> OwnedSemaphorePermit {
        loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                return permit;
            }
            self.log(&format!("all {} connections are taken", self.limit));
            self.pressure.send_replace(());
            let waited =
                tokio::time::timeout(LONGEST_PAUSE, Arc::clone(&self.free).acquire_owned());
            if let Ok(Ok(permit)) = waited.await {
                return permit;
            }
        }
    }

    fn log(&mut self, message: &str) {
        let is_new = |logged: &Instant| logged.elapsed() < LOG_INTERVAL;
        if !self.logged.as_ref().is_some_and(is_new) {
            warn!("{message}");
            self.logged = Some(Instant::now());
        }
    }
}

impl Place {
    fn taken(permit: OwnedSemaphorePermit, open: &Arc<AtomicUsize>) -> Self {
        open.fetch_add(1, Ordering::Relaxed);
        Self {
            open: Arc::clone(open),
            _permit: permit,
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

fn is_the_client_s(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
    )
}
