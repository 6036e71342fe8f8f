//! Accepting connections, and letting the requests in flight finish.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, warn};

/// How long a client may take for its handshake, for the headers of a request, and for the answer to a ping.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long requests in flight may take once the server stops.
const GRACE: Duration = Duration::from_secs(30);

/// The pause after an accept that failed, as it does when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` over TLS on `listener` until `stop` resolves; then accepts no more, and returns when all requests in flight are
/// answered, or after 30 s.
///
/// No client keeps another from being served, however slow it is. HTTP/2 is spoken with those who ask for it in their handshake,
/// HTTP/1.1 with all others.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let acceptor = TlsAcceptor::from(tls);
    let graceful = GracefulShutdown::new();
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (acceptor, router) = (acceptor.clone(), router.clone());
                tokio::spawn(connection(stream, acceptor, router, graceful.watcher()));
            }
            Err(error) => {
                warn!("cannot accept a connection: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    if timeout(GRACE, graceful.shutdown()).await.is_err() {
        warn!("requests were still in flight after {} s", GRACE.as_secs());
    }
}

async fn connection(stream: TcpStream, acceptor: TlsAcceptor, router: Router, watcher: Watcher) {
    // Answers are written whole, so waiting for more to send only delays them. A socket that refuses is only slower.
    let _ = stream.set_nodelay(true);
    let stream = match timeout(PATIENCE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return debug!("the handshake failed: {error}"),
        Err(_) => return debug!("the handshake took too long"),
    };
    // Were the version to be guessed from the first bytes, a client could keep them to itself for ever.
    let builder = Builder::new(TokioExecutor::new());
    let mut builder = match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => builder.http2_only(),
        _ => builder.http1_only(),
    };
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE);
    let connection =
        builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = watcher.watch(connection).await {
        debug!("a connection ended: {error}");
    }
}
