//! One connection, from its handshake to its end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request, Version, header};
use axum::response::Response;
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::BufReader;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tracing::debug;

use super::body::{discard, try_again};
use super::listener::Accepted;
use super::patient::Patient;
use super::stage::{Life, Stage};

/// How long a client may take for its handshake, for its first request, and for the answer to a ping.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a connection may be idle. The API server closes its idle connections after 90 s: were the server to be sooner, it could
/// close one just when the API server sends a request on it, which would fail.
const IDLE: Duration = Duration::from_secs(120);

/// How long a connection must have been idle to be closed in favour of others that wait for one.
const IDLE_UNDER_PRESSURE: Duration = Duration::from_secs(5);

/// How much is read from the socket at a time, in bytes: TLS itself asks for no more than a record of 16 KiB, and often for less.
const READ: usize = 32 * 1024;

/// The most memory for what a client sends ahead of being read, and so for the headers of a request, in bytes.
const BUFFER: usize = 64 * 1024;

/// The same for HTTP/2, where it is promised to the client.
const WINDOW: u32 = 256 * 1024;

/// How many requests a client may have in flight on one connection of HTTP/2.
const STREAMS: u32 = 128;

/// What all connections share.
pub(super) struct Connections {
    pub(super) tls: TlsAcceptor,
    pub(super) router: TowerToHyperService<Router>,
    pub(super) life: Arc<Life>,
}

impl Connections {
    /// Serves a connection until either side closes it.
    ///
    /// No client keeps another from being served, however slow it is. HTTP/2 is spoken with those who ask for it in their handshake,
    /// HTTP/1.1 with all others.
    pub(super) async fn serve(self: Arc<Self>, accepted: Accepted) {
        let Accepted {
            stream,
            place: _place,
            pressure,
        } = accepted;
        // Answers are written whole, so waiting for more to send only delays them. A socket that refuses is only slower.
        let _ = stream.set_nodelay(true);
        let stream = Patient::new(BufReader::with_capacity(READ, stream));
        let stream = match timeout(PATIENCE, self.tls.accept(stream)).await {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => return debug!("the handshake failed: {error}"),
            Err(_) => return debug!("the handshake took too long"),
        };
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
        self.speak(stream, is_http2, pressure).await;
    }

    async fn speak(
        self: Arc<Self>,
        stream: TlsStream<Patient<BufReader<TcpStream>>>,
        is_http2: bool,
        mut pressure: watch::Receiver<()>,
    ) {
        let usage = Arc::new(Usage::new());
        let mut stage = self.life.watch();
        let builder = builder(is_http2);
        let service = service_fn({
            let usage = Arc::clone(&usage);
            move |request| Arc::clone(&self).answer(usage.begin(), request)
        });
        let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
        loop {
            let stop = tokio::select! {
                result = connection.as_mut() => {
                    if let Err(error) = result {
                        debug!("a connection ended: {error}");
                    }
                    return;
                }
                () = sleep_until(usage.deadline()) => usage.deadline() <= Instant::now(),
                Ok(()) = pressure.changed() => usage.is_idle_for(IDLE_UNDER_PRESSURE),
                Ok(()) = stage.changed() => {
                    let stage = *stage.borrow();
                    // A client of HTTP/2 is told by GOAWAY which requests to send elsewhere. One of HTTP/1.1 cannot be told but
                    // by the answer to its next request.
                    if stage == Stage::Ended || is_http2 && stage == Stage::Closing {
                        connection.as_mut().graceful_shutdown();
                    }
                    false
                }
            };
            if stop {
                return debug!("a connection was idle for too long");
            }
        }
    }

    async fn answer(
        self: Arc<Self>,
        _used: Used,
        request: Request<Incoming>,
    ) -> Result<Response, Infallible> {
        let version = request.version();
        let request = request.map(Body::new);
        let mut response = if self.is_late(&request) {
            discard(request.into_body());
            try_again("this replica is stopping: try another\n")
        } else {
            let _in_flight = self.life.begin();
            self.router.call(request).await?
        };
        if self.life.stage() > Stage::Serving && version < Version::HTTP_2 {
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        Ok(response)
    }

    /// Whether a request comes too late to be served; it is alive all the same.
    fn is_late(&self, request: &Request<Body>) -> bool {
        self.life.stage() > Stage::Draining && request.uri().path() != "/healthz"
    }
}

/// Were the version to be guessed from the first bytes, a client could keep them to itself for ever.
fn builder(is_http2: bool) -> Builder<TokioExecutor> {
    let builder = Builder::new(TokioExecutor::new());
    let mut builder = if is_http2 {
        builder.http2_only()
    } else {
        builder.http1_only()
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(IDLE)
        .max_buf_size(BUFFER);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_concurrent_streams(STREAMS)
        .max_header_list_size(BUFFER as u32)
        .max_send_buf_size(BUFFER);
    builder
}

/// When a connection was last of use.
#[derive(Debug)]
struct Usage {
    start: Instant,
    in_flight: AtomicUsize,
    /// When the last request ended, in ms since the start; 0 before the first.
    ended: AtomicU64,
}

/// A request on a connection, until it is dropped.
struct Used(Arc<Usage>);

impl Usage {
    fn new() -> Self {
        Self {
            start: Instant::now(),
            in_flight: AtomicUsize::new(0),
            ended: AtomicU64::new(0),
        }
    }

    fn begin(self: &Arc<Self>) -> Used {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        Used(Arc::clone(self))
    }

    /// Until when it may stay as it is.
    fn deadline(&self) -> Instant {
        if self.in_flight.load(Ordering::Relaxed) > 0 {
            return Instant::now() + IDLE;
        }
        match self.ended.load(Ordering::Relaxed) {
            0 => self.start + PATIENCE,
            ended => self.start + Duration::from_millis(ended) + IDLE,
        }
    }

    fn is_idle_for(&self, time: Duration) -> bool {
        let ended = Duration::from_millis(self.ended.load(Ordering::Relaxed));
        self.in_flight.load(Ordering::Relaxed) == 0 && (self.start + ended).elapsed() >= time
    }
}

impl Drop for Used {
    fn drop(&mut self) {
        let since = self.0.start.elapsed().as_millis();
        let ended = u64::try_from(since).unwrap_or(u64::MAX).max(1);
        self.0.ended.store(ended, Ordering::Relaxed);
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}
