//! A conversion webhook that answers as task-conversion does, and remembers what it was asked.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::routing::post;
use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use task_conversion::review::answer;
use task_conversion::task::TASK;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The webhook, which runs until the process ends.
pub struct Recorder {
    reviews: Arc<Mutex<Vec<String>>>,
}

impl Recorder {
    /// Serves at `address` with the certificate in the folder `certificates`.
    pub async fn start(address: SocketAddr, certificates: &Path) -> Self {
        let reviews = Arc::default();
        let router = Router::new()
            .route(task_crds::CONVERSION_PATH, post(convert))
            .layer(DefaultBodyLimit::disable())
            .with_state(Arc::clone(&reviews));
        let listener = Tls {
            tcp: TcpListener::bind(address).await.unwrap(),
            acceptor: acceptor(certificates),
        };
        tokio::spawn(async { axum::serve(listener, router).await });
        Self { reviews }
    }

    /// What it was asked since the last time, in order.
    pub fn take(&self) -> Vec<String> {
        let mut reviews = self.reviews.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut reviews)
    }
}

async fn convert(State(reviews): State<Arc<Mutex<Vec<String>>>>, body: String) -> String {
    let answer = answer(&TASK, body.as_bytes()).body;
    reviews
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(body);
    answer
}

fn acceptor(certificates: &Path) -> TlsAcceptor {
    let chain = CertificateDer::from_pem_file(certificates.join("tls.crt")).unwrap();
    let key = PrivateKeyDer::from_pem_file(certificates.join("tls.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![chain], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

struct Tls {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Listener for Tls {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let Ok((stream, peer)) = self.tcp.accept().await else {
                continue;
            };
            // The API server is the only client, so there is nobody whom a slow handshake could keep waiting.
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, peer);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}
