//! The HTTPS server: conversion, admission, health and metrics of a [`Service`] on one port.
//!
//! It is made never to fail a request that it could serve. The API server's habits that this builds on, all of its own source: it
//! speaks HTTP/1.1 to webhooks, keeps idle connections for 90 s, tries again after a 503 with `Retry-After` and after no other error,
//! a closed connection included, and gives up after 30 s.

mod admit;
mod allocator;
mod args;
mod body;
mod budget;
mod connection;
mod convert;
mod listener;
mod live;
mod log;
mod metrics;
mod patient;
mod ready;
mod routes;
mod service;
mod stage;
mod state;

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use hyper_util::service::TowerToHyperService;
use serving_certificate::{Certificate, PairError, Seen, keep_fresh};
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tracing::{error, info, warn};

pub use args::{Args, LogFormat, TooLittleRoom};
use connection::Connections;
use listener::Listener;
pub use service::{Check, Service, Webhook};
use stage::Life;
use state::State;

/// How long answers may take to be sent once the server has ended.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Why the server cannot run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The arguments do not go together.
    #[error(transparent)]
    Args(#[from] TooLittleRoom),
    /// There is no certificate to serve with.
    #[error(transparent)]
    Certificate(#[from] PairError),
    /// TLS cannot be set up at all.
    #[error("cannot set up TLS: {0}")]
    Tls(#[source] rustls::Error),
    /// The address is taken, or is not this machine's.
    #[error("cannot listen on {address}: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// What is wrong with it.
        source: io::Error,
    },
    /// The system lacks what it takes to run.
    #[error("cannot start: {0}")]
    Runtime(#[source] io::Error),
    /// A second signal came while the server was stopping.
    #[error("stopped at once, by a second signal")]
    Aborted,
}

/// Runs until SIGTERM or SIGINT, and exits 0 once all requests are answered. Exits 1 when it cannot start, and at once on a second
/// signal.
pub fn main(args: &Args, service: &Service) -> ExitCode {
    let settled = allocator::settle();
    log::start(args.log_format);
    if let Err(error) = settled {
        warn!("the allocator may keep more memory than it should: {error}");
    }
    match start(args, service) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn start(args: &Args, service: &Service) -> Result<(), Error> {
    let threads = usize::from(args.worker_threads);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        // As many long reviews are answered at the same time; more would take memory, and no less time.
        .max_blocking_threads(threads)
        .enable_all()
        .build()
        .map_err(Error::Runtime)?;
    let result = runtime.block_on(run(args, service));
    // What did not finish within the grace is not waited for.
    runtime.shutdown_background();
    result
}

async fn run(args: &Args, service: &Service) -> Result<(), Error> {
    let mut signals = Signals::new().map_err(Error::Runtime)?;
    let server = Server::bind(args, service).await?;
    info!(address = %server.address(), "serving");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let serving = server.run(async {
        let _ = stopped.await;
    });
    let mut serving = std::pin::pin!(serving);
    tokio::select! {
        () = serving.as_mut() => return Ok(()),
        () = signals.next() => drop(stop),
    }
    tokio::select! {
        () = serving => {
            info!("stopped");
            Ok(())
        }
        () = signals.next() => Err(Error::Aborted),
    }
}

/// SIGTERM and SIGINT.
struct Signals(Signal, Signal);

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self(
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        ))
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.0.recv() => {}
            _ = self.1.recv() => {}
        }
    }
}

/// A server that listens; see [`Server::run`].
pub struct Server {
    address: SocketAddr,
    listener: Listener,
    connections: Arc<Connections>,
    state: Arc<State>,
    life: Arc<Life>,
    seen: Seen,
    drain_delay: Duration,
}

impl Server {
    /// Loads the certificate and listens.
    ///
    /// # Errors
    /// When either is impossible, or the arguments do not go together.
    pub async fn bind(args: &Args, service: &Service) -> Result<Self, Error> {
        args.check()?;
        let (certificate, seen) = Certificate::load(&args.cert_dir)?;
        let mut tls = certificate.config().map_err(Error::Tls)?;
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let failed = |source| Error::Bind {
            address: args.bind,
            source,
        };
        let listener = TcpListener::bind(args.bind).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let listener = Listener::new(listener, args.max_connections);
        let life = Life::new();
        let state = Arc::new(State {
            kind: service.kind,
            metrics: metrics::Metrics::new(service.metrics_prefix),
            budget: budget::Budget::new(args.max_inflight_bytes),
            max_body_bytes: args.max_body_bytes,
            running: Arc::default(),
            readiness: ready::Readiness::new(
                service.checks,
                address,
                Arc::clone(&certificate),
                Arc::clone(&life),
            ),
            certificate,
            connections: listener.open(),
        });
        Ok(Self {
            address,
            listener,
            connections: Arc::new(Connections {
                tls: TlsAcceptor::from(Arc::new(tls)),
                router: TowerToHyperService::new(routes::router(
                    Arc::clone(&state),
                    service.webhooks,
                )),
                life: Arc::clone(&life),
            }),
            state,
            life,
            seen,
            drain_delay: args.drain_delay,
        })
    }

    /// The address that it listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` resolves, then serves on for the delay but is not ready any more, then lets the requests in flight finish
    /// while it tells later ones to try elsewhere, and returns when all are answered, or after 30 s.
    pub async fn run(mut self, stop: impl Future<Output = ()>) {
        let mut open = JoinSet::new();
        let certificate = Arc::clone(&self.state.certificate);
        tokio::select! {
            () = accept(&mut self.listener, &self.connections, &mut open) => {}
            () = keep_fresh(certificate, self.seen, |good| self.state.metrics.reloaded(good)) => {}
            () = async {
                stop.await;
                self.life.end(self.drain_delay).await;
            } => {}
        }
        drop(self.listener);
        let all = async { while open.join_next().await.is_some() {} };
        if timeout(LAST_WORDS, all).await.is_err() {
            warn!(
                "some answers were not taken within {} s",
                LAST_WORDS.as_secs()
            );
        }
    }
}

/// Accepts and serves connections for ever.
async fn accept(listener: &mut Listener, connections: &Arc<Connections>, open: &mut JoinSet<()>) {
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                open.spawn(Arc::clone(connections).serve(accepted));
            }
            Some(_) = open.join_next() => {}
        }
    }
}
