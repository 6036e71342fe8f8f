//! A webhook's server.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use axum::serve::Listener;
use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// Why nothing can be served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody can connect.
    #[error("cannot listen")]
    Listen(#[from] io::Error),
    /// There is no certificate.
    #[error("cannot read the certificate")]
    Certificate(#[from] pem::Error),
    /// It is of no use.
    #[error("cannot use the certificate")]
    Tls(#[from] rustls::Error),
}

/// Takes the API server's connections, for `axum::serve`.
pub struct Https {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
}

impl Https {
    /// Listens at `address` with the certificate that `local_operator::issue_certificates` has put into the folder `certificates`.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn bind(address: SocketAddr, certificates: &Path) -> Result<Self, Error> {
        let chain = CertificateDer::from_pem_file(certificates.join("tls.crt"))?;
        let key = PrivateKeyDer::from_pem_file(certificates.join("tls.key"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![chain], key)?;
        Ok(Self {
            tcp: TcpListener::bind(address).await?,
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }
}

impl Listener for Https {
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
