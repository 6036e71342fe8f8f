//! Whether the server does its work, tried and not assumed.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, SignatureScheme};
use serving_certificate::Certificate;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tokio_rustls::TlsConnector;

use super::service::Check;
use super::stage::{Life, Stage};

/// What the server calls itself when it asks itself.
pub(super) const USER_AGENT: &str = "conversion-readiness";

/// How long the built-in conversions may take in all.
const PATIENCE: Duration = Duration::from_secs(5);

/// For how long a result stands, so that asking often costs little.
const FRESH: Duration = Duration::from_secs(1);

/// The longest answer that is read, in bytes.
const ANSWER: u64 = 64 * 1024;

/// Whether the server is ready: it is not stopping, and a built-in conversion of each direction passes over its own port, with the
/// certificate that is loaded. Being busy is no reason not to be: others would only be the busier for it.
pub(super) struct Readiness {
    checks: &'static [Check],
    address: SocketAddr,
    certificate: Arc<Certificate>,
    life: Arc<Life>,
    last: Mutex<Option<(Instant, Result<(), NotReady>)>>,
}

/// Why the server is not ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotReady {
    #[error("stopping")]
    Stopping,
    #[error("the certificate has expired")]
    Expired,
    #[error("the built-in conversions took over {} s", PATIENCE.as_secs())]
    TooSlow,
    #[error("cannot connect to itself: {0}")]
    Unreachable(String),
    #[error("a built-in conversion gave a wrong answer")]
    Wrong,
}

impl Readiness {
    /// The readiness of a server that listens at `address`.
    pub(super) fn new(
        checks: &'static [Check],
        address: SocketAddr,
        certificate: Arc<Certificate>,
        life: Arc<Life>,
    ) -> Self {
        Self {
            checks,
            address: reachable(address),
            certificate,
            life,
            last: Mutex::default(),
        }
    }

    /// Tries it, unless that was done within the last second.
    pub(super) async fn check(&self) -> Result<(), NotReady> {
        if self.life.stage() > Stage::Serving {
            return Err(NotReady::Stopping);
        }
        let now = jiff::Timestamp::now().as_second();
        if now > self.certificate.expires() {
            return Err(NotReady::Expired);
        }
        let mut last = self.last.lock().await;
        if let Some((at, result)) = &*last
            && at.elapsed() < FRESH
        {
            return result.clone();
        }
        let tried = timeout(PATIENCE, self.try_all()).await;
        let result = tried.unwrap_or(Err(NotReady::TooSlow));
        *last = Some((Instant::now(), result.clone()));
        result
    }

    async fn try_all(&self) -> Result<(), NotReady> {
        for Check {
            review,
            answer: expected,
        } in self.checks
        {
            let answer = self
                .ask(review)
                .await
                .map_err(|error| NotReady::Unreachable(error.to_string()))?;
            let is_right = answer.starts_with("HTTP/1.1 200 OK\r\n")
                && answer.ends_with(&format!("\r\n\r\n{expected}"));
            if !is_right && !answer.starts_with("HTTP/1.1 503 ") {
                return Err(NotReady::Wrong);
            }
        }
        Ok(())
    }

    /// The whole answer to a request for a conversion. A server needs no client for more than this.
    async fn ask(&self, review: &str) -> std::io::Result<String> {
        let provider = Arc::clone(self.certificate.provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(std::io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Own {
                certificate: self.certificate.certified().cert.first().cloned(),
                provider,
            }))
            .with_no_client_auth();
        let stream = TcpStream::connect(self.address).await?;
        let name = ServerName::from(self.address.ip());
        let mut stream = TlsConnector::from(Arc::new(config))
            .connect(name, stream)
            .await?;
        let request = format!(
            "POST /convert HTTP/1.1\r\nhost: localhost\r\nuser-agent: {USER_AGENT}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{review}",
            review.len()
        );
        stream.write_all(request.as_bytes()).await?;
        let mut answer = String::new();
        stream.take(ANSWER).read_to_string(&mut answer).await?;
        Ok(answer)
    }
}

/// Where this machine reaches what listens at `address`.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Trusts the server's own certificate and no other, whatever name it is for.
#[derive(Debug)]
struct Own {
    certificate: Option<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Own {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.certificate.as_ref() == Some(end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(CertificateError::UnknownIssuer.into())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_all_interfaces_is_reached_by_the_loopback() {
        for (address, expected) in [
            ("0.0.0.0:1", "127.0.0.1:1"),
            ("[::]:1", "[::1]:1"),
            ("192.0.2.1:1", "192.0.2.1:1"),
        ] {
            assert_eq!(reachable(address.parse().unwrap()).to_string(), expected);
        }
    }
}
