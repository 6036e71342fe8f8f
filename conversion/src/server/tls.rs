//! The serving certificate.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{InconsistentKeys, ServerConfig};

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
    /// The file's certificate or key is of no use for TLS.
    #[error("cannot serve with {}: {source}", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: rustls::Error,
    },
    /// The key is of another certificate.
    #[error("{} is not the key of {}", key.display(), certificate.display())]
    Mismatch {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
    },
    /// TLS cannot be set up at all.
    #[error("cannot set up TLS: {0}")]
    Setup(#[source] rustls::Error),
}

/// TLS 1.2 and 1.3 with `tls.crt` and `tls.key` of a folder, for HTTP/2 and HTTP/1.1.
///
/// # Errors
/// When either file is missing or broken, or they do not belong together.
pub fn load(folder: &Path) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(ring::default_provider());
    let pair = pair(folder, &provider)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Setup)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(pair)));
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

fn pair(folder: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let certificate = folder.join("tls.crt");
    let chain = CertificateDer::pem_file_iter(&certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|source| TlsError::Read {
            path: certificate.clone(),
            source,
        })?;
    if chain.is_empty() {
        return Err(TlsError::Empty { path: certificate });
    }

    let key = folder.join("tls.key");
    let der = PrivateKeyDer::from_pem_file(&key).map_err(|source| TlsError::Read {
        path: key.clone(),
        source,
    })?;
    let signer = provider
        .key_provider
        .load_private_key(der)
        .map_err(|source| TlsError::Unusable {
            path: key.clone(),
            source,
        })?;

    let pair = CertifiedKey::new(chain, signer);
    match pair.keys_match() {
        Ok(()) => Ok(pair),
        Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
            Err(TlsError::Mismatch { certificate, key })
        }
        Err(source) => Err(TlsError::Unusable {
            path: certificate,
            source,
        }),
    }
}
