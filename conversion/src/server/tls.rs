//! The serving certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Why a certificate cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or holds no PEM of what it should.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: pem::Error,
    },
    /// There is no certificate in the file.
    #[error("{} holds no certificate", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The key does not belong to the certificate, or one of them is of no use for TLS.
    #[error("the certificate and the key in {} cannot be served: {source}", folder.display())]
    Unusable {
        /// The folder of both.
        folder: PathBuf,
        /// What is wrong with them.
        source: rustls::Error,
    },
}

/// TLS 1.2 and 1.3 with `tls.crt` and `tls.key` of a folder, for HTTP/2 and HTTP/1.1.
///
/// # Errors
/// When either file is missing or broken, or they do not belong together.
pub fn load(folder: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let path = folder.join("tls.crt");
    let certificates = CertificateDer::pem_file_iter(&path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| TlsError::Read {
            path: path.clone(),
            source,
        })?;
    if certificates.is_empty() {
        return Err(TlsError::Empty { path });
    }
    let path = folder.join("tls.key");
    let key =
        PrivateKeyDer::from_pem_file(&path).map_err(|source| TlsError::Read { path, source })?;

    let unusable = |source| TlsError::Unusable {
        folder: folder.to_owned(),
        source,
    };
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(unusable)?
        .with_no_client_auth()
        .with_single_cert(certificates, key)
        .map_err(unusable)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
