//! A balancer as a Service is one: new connections go to replicas that say they are ready, and connections that are there stay.

#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use control_plane::Port;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

/// The authorities of the replicas' certificates, in PEM, as they are now.
type Authorities = dyn Fn() -> String + Send + Sync;

/// How often each replica is asked, as a kubelet would, only more often.
const INTERVAL: Duration = Duration::from_millis(200);

/// How long a replica may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The balancer. It works until the runtime ends.
pub struct Balancer {
    address: SocketAddr,
    backends: Arc<[Backend]>,
    _port: Port,
}

struct Backend {
    address: SocketAddr,
    is_ready: AtomicBool,
    connections: AtomicUsize,
}

impl Balancer {
    /// Balances over the `replicas`, whose certificates are from one of the `authorities`.
    ///
    /// # Panics
    /// When there is no port to listen on.
    pub async fn start(
        replicas: &[SocketAddr],
        authorities: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        let port = Port::claim().unwrap();
        let listener = TcpListener::bind(port.address()).await.unwrap();
        let backends: Arc<[Backend]> = replicas
            .iter()
            .map(|&address| Backend {
                address,
                is_ready: AtomicBool::new(false),
                connections: AtomicUsize::new(0),
            })
            .collect();
        let authorities: Arc<Authorities> = Arc::new(authorities);
        for index in 0..replicas.len() {
            let authorities = Arc::clone(&authorities);
            tokio::spawn(keep_asking(Arc::clone(&backends), index, authorities));
        }
        tokio::spawn(accept(listener, Arc::clone(&backends)));
        Self {
            address: port.address(),
            backends,
            _port: port,
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Whether the replica was ready when it was last asked.
    pub fn is_ready(&self, replica: usize) -> bool {
        self.backends[replica].is_ready.load(Ordering::SeqCst)
    }

    /// How many connections each replica was given.
    pub fn connections(&self) -> Vec<usize> {
        let count = |backend: &Backend| backend.connections.load(Ordering::SeqCst);
        self.backends.iter().map(count).collect()
    }
}

async fn accept(listener: TcpListener, backends: Arc<[Backend]>) {
    let mut turn = 0;
    loop {
        let Ok((client, _)) = listener.accept().await else {
            sleep(INTERVAL).await;
            continue;
        };
        turn += 1;
        tokio::spawn(pass(client, Arc::clone(&backends), turn));
    }
}

/// Connects a client with a ready replica. Without one it is turned away, as a Service without endpoints does.
async fn pass(mut client: TcpStream, backends: Arc<[Backend]>, turn: usize) {
    let ready: Vec<_> = backends
        .iter()
        .filter(|backend| backend.is_ready.load(Ordering::SeqCst))
        .collect();
    let Some(backend) = ready.get(turn % ready.len().max(1)) else {
        return;
    };
    if let Ok(mut replica) = TcpStream::connect(backend.address).await {
        backend.connections.fetch_add(1, Ordering::SeqCst);
        let _ = (client.set_nodelay(true), replica.set_nodelay(true));
        // How a connection ends is the business of those at its ends.
        let _ = copy_bidirectional(&mut client, &mut replica).await;
    }
}

async fn keep_asking(backends: Arc<[Backend]>, index: usize, authorities: Arc<Authorities>) {
    let backend = &backends[index];
    loop {
        let tls = trusting(&authorities());
        let answer = timeout(PATIENCE, ask(backend.address, &tls)).await;
        let is_ready = matches!(answer, Ok(Ok(answer)) if answer.starts_with("HTTP/1.1 200 "));
        backend.is_ready.store(is_ready, Ordering::SeqCst);
        sleep(INTERVAL).await;
    }
}

async fn ask(address: SocketAddr, tls: &TlsConnector) -> std::io::Result<String> {
    let stream = TcpStream::connect(address).await?;
    let mut stream = tls.connect(ServerName::from(address.ip()), stream).await?;
    stream
        .write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// The certificate that is served at `address`.
///
/// # Panics
/// When none is, or one that is from none of the authorities.
pub async fn served(address: SocketAddr, authority_pem: &str) -> CertificateDer<'static> {
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::from(address.ip());
    let stream = trusting(authority_pem).connect(name, stream).await.unwrap();
    let certificates = stream.get_ref().1.peer_certificates().unwrap();
    certificates[0].clone().into_owned()
}

fn trusting(authority_pem: &str) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(authority_pem.as_bytes()) {
        roots.add(certificate.unwrap()).unwrap();
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}
