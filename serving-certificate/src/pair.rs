//! The certificate and its key, from a folder.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use rustls::InconsistentKeys;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// Why a certificate cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum PairError {
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: io::Error,
    },
    /// A file holds no PEM of what it should.
    #[error("cannot read {}: {source}", path.display())]
    Pem {
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
    /// The certificate's dates cannot be read.
    #[error("{} is no certificate of X.509", path.display())]
    Dates {
        /// The file.
        path: PathBuf,
    },
}

/// A certificate with its key.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) certified: CertifiedKey,
    /// The last second that the certificate is good for, since 1970.
    pub(crate) expires: i64,
}

/// The two files of a folder, as they were read.
pub(crate) struct Files {
    certificate: (PathBuf, Vec<u8>),
    key: (PathBuf, Vec<u8>),
}

impl Files {
    /// Reads `tls.crt` and `tls.key`.
    pub(crate) fn read(folder: &Path) -> Result<Self, PairError> {
        let read = |name| {
            let path = folder.join(name);
            match fs::read(&path) {
                Ok(content) => Ok((path, content)),
                Err(source) => Err(PairError::Read { path, source }),
            }
        };
        Ok(Self {
            certificate: read("tls.crt")?,
            key: read("tls.key")?,
        })
    }

    /// What tells these files from others, without keeping the key.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (&self.certificate.1, &self.key.1).hash(&mut hasher);
        hasher.finish()
    }

    /// The pair that the files hold, if it can be served.
    pub(crate) fn pair(self, provider: &CryptoProvider) -> Result<Pair, PairError> {
        let (path, pem) = self.certificate;
        let chain = CertificateDer::pem_slice_iter(&pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|source| PairError::Pem {
                path: path.clone(),
                source,
            })?;
        let Some(end_entity) = chain.first() else {
            return Err(PairError::Empty { path });
        };
        let Ok((_, parsed)) = x509_parser::parse_x509_certificate(end_entity) else {
            return Err(PairError::Dates { path });
        };
        let expires = parsed.validity().not_after.timestamp();

        let (key, pem) = self.key;
        let der = PrivateKeyDer::from_pem_slice(&pem).map_err(|source| PairError::Pem {
            path: key.clone(),
            source,
        })?;
        let signer = provider
            .key_provider
            .load_private_key(der)
            .map_err(|source| PairError::Unusable {
                path: key.clone(),
                source,
            })?;

        let certified = CertifiedKey::new(chain, signer);
        match certified.keys_match() {
            Ok(()) => Ok(Pair { certified, expires }),
            Err(rustls::Error::InconsistentKeys(InconsistentKeys::KeyMismatch)) => {
                Err(PairError::Mismatch {
                    certificate: path,
                    key,
                })
            }
            Err(source) => Err(PairError::Unusable { path, source }),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustls::crypto::ring;
    use tempfile::TempDir;

    use super::*;

    fn folder() -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
        let key = made.signing_key.serialize_pem();
        fs::write(folder.path().join("tls.key"), key).unwrap();
        folder
    }

    fn load(folder: &TempDir) -> Result<Pair, PairError> {
        Files::read(folder.path())?.pair(&ring::default_provider())
    }

    fn why_not(folder: &TempDir) -> String {
        load(folder).unwrap_err().to_string()
    }

    #[test]
    fn the_date_of_expiry_is_the_certificate_s() {
        let folder = tempfile::tempdir().unwrap();
        let key = rcgen::KeyPair::generate().unwrap();
        let mut params = rcgen::CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(2031, 2, 3);
        let certificate = params.self_signed(&key).unwrap();
        fs::write(folder.path().join("tls.crt"), certificate.pem()).unwrap();
        fs::write(folder.path().join("tls.key"), key.serialize_pem()).unwrap();
        let date: jiff::Timestamp = "2031-02-03T00:00:00Z".parse().unwrap();
        assert_eq!(load(&folder).unwrap().expires, date.as_second());
    }

    #[test]
    fn a_missing_file_is_named() {
        for name in ["tls.crt", "tls.key"] {
            let folder = folder();
            let path = folder.path().join(name);
            fs::remove_file(&path).unwrap();
            let begin = format!("cannot read {}: ", path.display());
            assert!(why_not(&folder).starts_with(&begin), "{}", why_not(&folder));
        }
    }

    #[test]
    fn a_file_of_something_else_is_named() {
        for name in ["tls.crt", "tls.key"] {
            for content in [
                "",
                "no PEM\n",
                "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n",
                "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n",
            ] {
                let folder = folder();
                let path = folder.path().join(name);
                fs::write(&path, content).unwrap();
                let why = why_not(&folder);
                let path = path.display().to_string();
                assert!(why.contains(&path), "{content}: {why}");
            }
        }
    }

    #[test]
    fn a_key_of_another_certificate_is_told() {
        let (folder, other) = (self::folder(), self::folder());
        let key = folder.path().join("tls.key");
        fs::copy(other.path().join("tls.key"), &key).unwrap();
        let begin = format!("{} is not the key of ", key.display());
        assert!(why_not(&folder).starts_with(&begin), "{}", why_not(&folder));
    }
}
