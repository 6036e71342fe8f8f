//! The connections of callbacks: HTTP/1.1 over TLS, bounded in number, and none of them for long without a request.

use std::{io, net::SocketAddr, path::Path, pin::pin, sync::Arc, time::Duration};

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use serving_certificate::{Certificate, PairError, Seen, keep_fresh};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinSet,
    time::{sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

use crate::stop::stopped;

/// How many connections there may be.
const CONNECTIONS: usize = 256;

/// How long a client may take for its handshake, and for the head of each request.
const PATIENCE: Duration = Duration::from_secs(10);

/// For how long a connection may be used: those that there may be are for all clients in turn.
const LIFETIME: Duration = Duration::from_secs(60);

/// The pause after no connection could be accepted, as when the process has no file descriptor left.
const PAUSE: Duration = Duration::from_millis(100);

/// The most that a head may take, in bytes.
const HEAD_LENGTH_MAX: usize = 32 * 1024;

/// Why there is no server for callbacks.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no certificate to serve with.
    #[error("callbacks cannot be served: {0}")]
    Certificate(#[from] PairError),
    /// TLS cannot be set up at all.
    #[error("cannot set up TLS for callbacks")]
    Tls(#[source] rustls::Error),
    /// The address is not to be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    tls: TlsAcceptor,
    certificate: Arc<Certificate>,
    seen: Seen,
}

type Service = TowerToHyperService<Router>;

impl Server {
    /// Loads the certificate in this folder and listens at this address.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn bind(address: SocketAddr, folder: &Path) -> Result<Self, Error> {
        let (certificate, seen) = Certificate::load(folder)?;
        let mut tls = certificate.config().map_err(Error::Tls)?;
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let failed = |source| Error::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        tracing::info!(%address, "serving callbacks");
        Ok(Self {
            listener,
            tls: TlsAcceptor::from(Arc::new(tls)),
            certificate,
            seen,
        })
    }

    /// Answers by `router` until stop is asked for; returns once the requests in flight are answered.
    pub async fn run(self, router: Router, stop: watch::Receiver<bool>) {
        let service = TowerToHyperService::new(router);
        let free = Arc::new(Semaphore::new(CONNECTIONS));
        let mut open = JoinSet::new();
        let mut fresh = pin!(keep_fresh(self.certificate, self.seen, |_| {}));
        let mut stopping = pin!(stopped(stop.clone()));
        loop {
            tokio::select! {
                () = stopping.as_mut() => break,
                () = fresh.as_mut() => {}
                (stream, permit) = accept(&self.listener, &free) => {
                    let served = serve(stream, self.tls.clone(), service.clone(), stop.clone());
                    open.spawn(async move {
                        let _permit = permit;
                        served.await;
                    });
                }
                Some(_) = open.join_next() => {}
            }
        }
        drop(self.listener);
        while open.join_next().await.is_some() {}
    }
}

async fn accept(
    listener: &TcpListener,
    free: &Arc<Semaphore>,
) -> (TcpStream, Option<OwnedSemaphorePermit>) {
    // It is never closed.
    let permit = Arc::clone(free).acquire_owned().await.ok();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            Err(error) => {
                tracing::debug!(%error, "no connection could be accepted");
                sleep(PAUSE).await;
            }
        }
    }
}

async fn serve(stream: TcpStream, tls: TlsAcceptor, service: Service, stop: watch::Receiver<bool>) {
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = timeout(PATIENCE, tls.accept(stream)).await else {
        return;
    };
    let mut connection = pin!(
        http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(PATIENCE)
            .max_buf_size(HEAD_LENGTH_MAX)
            .serve_connection(TokioIo::new(stream), service)
    );
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = timeout(LIFETIME, stopped(stop)) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection for callbacks ended");
    }
}
