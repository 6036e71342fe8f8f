//! What is served, and how it is kept fresh.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::server::{ClientHello, NoServerSessionStorage, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::time::sleep;
use tracing::{error, info};

use crate::pair::{Files, Pair, PairError};

/// How often the folder is looked at.
const INTERVAL: Duration = Duration::from_secs(5);

/// The certificate that is served.
#[derive(Debug)]
pub struct Certificate {
    folder: PathBuf,
    provider: Arc<CryptoProvider>,
    served: RwLock<(Arc<CertifiedKey>, i64)>,
}

impl Certificate {
    /// Loads the certificate of `folder`.
    ///
    /// # Errors
    /// When either file is missing or broken, or they do not belong together.
    pub fn load(folder: &Path) -> Result<(Arc<Self>, Seen), PairError> {
        let provider = Arc::new(ring::default_provider());
        let files = Files::read(folder)?;
        let seen = Seen(Some(files.fingerprint()));
        let pair = files.pair(&provider)?;
        let certificate = Arc::new(Self {
            folder: folder.to_owned(),
            provider,
            served: RwLock::new((Arc::new(pair.certified), pair.expires)),
        });
        Ok((certificate, seen))
    }

    /// TLS 1.2 and 1.3 with this certificate, and no protocol to choose from (ALPN) unless the caller names some.
    ///
    /// # Errors
    /// When the cryptography cannot do it.
    pub fn config(self: &Arc<Self>) -> Result<ServerConfig, rustls::Error> {
        let mut config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(self) as Arc<dyn ResolvesServerCert>);
        // Who calls a webhook keeps the connection or makes a whole new one: tickets would be work for nothing.
        config.send_tls13_tickets = 0;
        config.session_storage = Arc::new(NoServerSessionStorage {});
        Ok(config)
    }

    /// The certificate itself, with its key.
    pub fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.served().0)
    }

    /// The last second that the certificate is good for, since 1970.
    pub fn expires(&self) -> i64 {
        self.served().1
    }

    /// The cryptography that it is served with.
    pub fn provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    fn served(&self) -> std::sync::RwLockReadGuard<'_, (Arc<CertifiedKey>, i64)> {
        self.served.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, pair: Pair) {
        let mut served = self.served.write().unwrap_or_else(PoisonError::into_inner);
        *served = (Arc::new(pair.certified), pair.expires);
    }

    /// Serves what the folder holds from now on, if that has changed and is whole; otherwise all stays as it is.
    fn look(&self, seen: &mut Seen) -> Result<bool, PairError> {
        let read = Files::read(&self.folder);
        let fingerprint = read.as_ref().ok().map(Files::fingerprint);
        if seen.0 == fingerprint {
            return Ok(false);
        }
        // The files of a folder that is being swapped may be one of the old and one of the new: look again later.
        let again = Files::read(&self.folder);
        if again.ok().map(|files| files.fingerprint()) != fingerprint {
            return Ok(false);
        }
        seen.0 = fingerprint;
        self.serve(read?.pair(&self.provider)?);
        Ok(true)
    }
}

/// What the folder held when it was last looked at; nothing when it could not be read.
#[derive(Debug)]
pub struct Seen(Option<u64>);

/// Keeps the certificate as new as its folder, for ever. Each content of the folder that cannot be served is logged once. `reloaded` is told each
/// time that there is something new, and whether it is served.
pub async fn keep_fresh(certificate: Arc<Certificate>, mut seen: Seen, reloaded: impl Fn(bool)) {
    loop {
        sleep(INTERVAL).await;
        match certificate.look(&mut seen) {
            Ok(false) => {}
            Ok(true) => {
                reloaded(true);
                info!(
                    expires = certificate.expires(),
                    "the certificate was reloaded"
                );
            }
            Err(error) => {
                reloaded(false);
                error!(
                    "the new certificate cannot be served, so the last good one still is: {error}"
                );
            }
        }
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.certified())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;

    use super::*;

    fn write(folder: &TempDir) {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
        let key = made.signing_key.serialize_pem();
        fs::write(folder.path().join("tls.key"), key).unwrap();
    }

    fn loaded() -> (TempDir, Arc<Certificate>, Seen) {
        let folder = tempfile::tempdir().unwrap();
        write(&folder);
        let (certificate, seen) = Certificate::load(folder.path()).unwrap();
        (folder, certificate, seen)
    }

    #[test]
    fn a_new_pair_is_served_and_the_same_one_not_loaded_again() {
        let (folder, certificate, mut seen) = loaded();
        let first = certificate.certified();
        assert!(!certificate.look(&mut seen).unwrap());
        write(&folder);
        assert!(certificate.look(&mut seen).unwrap());
        assert!(!certificate.look(&mut seen).unwrap());
        assert_ne!(certificate.certified().cert, first.cert);
    }

    #[test]
    fn a_broken_pair_leaves_the_last_good_one_and_is_told_once() {
        let (folder, certificate, mut seen) = loaded();
        let first = certificate.certified();
        fs::write(folder.path().join("tls.crt"), "broken").unwrap();
        assert!(certificate.look(&mut seen).is_err());
        assert!(!certificate.look(&mut seen).unwrap());
        assert_eq!(certificate.certified().cert, first.cert);
    }

    #[test]
    fn a_folder_that_was_gone_is_loaded_when_it_is_back() {
        let (folder, certificate, mut seen) = loaded();
        let certificate_file = folder.path().join("tls.crt");
        let content = fs::read(&certificate_file).unwrap();
        fs::remove_file(&certificate_file).unwrap();
        assert!(certificate.look(&mut seen).is_err());
        assert!(!certificate.look(&mut seen).unwrap());
        fs::write(&certificate_file, content).unwrap();
        assert!(certificate.look(&mut seen).unwrap());
    }
}
