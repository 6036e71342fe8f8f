//! Accepting connections, and letting those in flight finish.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tracing::{debug, warn};

/// How long a client may take for its handshake, and for the headers of a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long requests in flight may take once the server stops.
const GRACE: Duration = Duration::from_secs(30);

/// The pause after an accept that failed, as it does when the process has no file descriptor left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves `router` over TLS on `listener` until `stop` resolves; then accepts no more, and returns when all requests in flight are
/// answered, or after 30 s.
pub async fn serve(
    listener: TcpListener,
    tls: Arc<ServerConfig>,
    router: Router,
    stop: impl Future<Output = ()>,
) {
    let acceptor = TlsAcceptor::from(tls);
    let graceful = Arc::new(GracefulShutdown::new());
    let mut stop = pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => {
                tokio::spawn(connection(
                    stream,
                    acceptor.clone(),
                    router.clone(),
                    Arc::clone(&graceful),
                ));
            }
            Err(error) => {
                warn!("cannot accept a connection: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop(listener);
    // A handshake under way holds the other reference, no longer than its patience.
    let finished = async {
        let mut graceful = graceful;
        loop {
            match Arc::try_unwrap(graceful) {
                Ok(graceful) => return graceful.shutdown().await,
                Err(shared) => graceful = shared,
            }
            sleep(ACCEPT_PAUSE).await;
        }
    };
    if timeout(GRACE, finished).await.is_err() {
        warn!("requests were still in flight after {} s", GRACE.as_secs());
    }
}

async fn connection(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    router: Router,
    graceful: Arc<GracefulShutdown>,
) {
    let stream = match timeout(PATIENCE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return debug!("the handshake failed: {error}"),
        Err(_) => return debug!("the handshake took too long"),
    };
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(PATIENCE)
        .keep_alive_timeout(PATIENCE);
    let connection = builder
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router))
        .into_owned();
    let connection = graceful.watch(connection);
    drop(graceful);
    if let Err(error) = connection.await {
        debug!("a connection ended: {error}");
    }
}
