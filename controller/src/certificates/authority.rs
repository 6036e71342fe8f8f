//! Making certificates.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PublicKeyData, date_time_ymd,
};

use super::certificate::{self, Certificate};
use super::life::Life;

/// The beginning of an authority's name. The moment that it was made follows, for people who look at several.
const NAME: &str = "task-operator webhooks";

/// Why a certificate cannot be made, or an authority not be read.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// It cannot be made, as a name is none or the key is of no use.
    #[error("cannot make a certificate")]
    Make(#[from] rcgen::Error),
    /// The key cannot be read.
    #[error("cannot read the key")]
    Key(#[source] rcgen::Error),
    /// The certificate cannot be read.
    #[error("cannot read the certificate")]
    Certificate(#[from] certificate::Error),
    /// There is no certificate.
    #[error("there is no certificate")]
    Empty,
    /// The certificate is one of a server or a client.
    #[error("the certificate may not sign others")]
    NoAuthority,
    /// The key is of another certificate.
    #[error("the key is not the certificate's")]
    Mismatch,
}

/// A certificate authority with its key: ECDSA P-256.
pub(super) struct Authority {
    certificate: Certificate,
    key: KeyPair,
}

/// A serving certificate and its key, both in PEM.
pub(super) struct Pair {
    pub(super) certificate: String,
    pub(super) key: String,
}

impl Authority {
    /// A new one, which signs servers' certificates and nothing else.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub(super) fn new(now: Timestamp, validity: Duration) -> Result<Self, Error> {
        let mut params = params(
            &format!("{NAME} {now:.0}"),
            &Life::from_now(now, validity),
            Vec::new(),
        )?;
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate()?;
        let made = params.self_signed(&key)?;
        Ok(Self {
            certificate: Certificate::from_der(made.der().to_vec())?,
            key,
        })
    }

    /// The one whose certificate and key (PKCS #8) these are, in PEM.
    ///
    /// # Errors
    /// When either is broken or they do not belong together.
    pub(super) fn read(certificate: &[u8], key: &str) -> Result<Self, Error> {
        let certificate = Certificate::all_of(certificate)?
            .into_iter()
            .next()
            .ok_or(Error::Empty)?;
        if !certificate.is_authority() {
            return Err(Error::NoAuthority);
        }
        let key = key_of(&certificate, key)?;
        Ok(Self { certificate, key })
    }

    /// Its own certificate.
    pub(super) fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Its key in PEM.
    pub(super) fn key(&self) -> String {
        self.key.serialize_pem()
    }

    /// A certificate for a server of these names, with a new key, for `validity` but for no longer than the authority's own.
    ///
    /// # Errors
    /// When a name is none.
    pub(super) fn issue(
        &self,
        names: &BTreeSet<String>,
        now: Timestamp,
        validity: Duration,
    ) -> Result<Pair, Error> {
        let mut life = Life::from_now(now, validity);
        life.ends = life.ends.min(self.certificate.life().ends);
        let mut params = params(
            // A common name has no room for a long one, and nobody looks at it.
            "task-conversion",
            &life,
            names.iter().cloned().collect(),
        )?;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.use_authority_key_identifier_extension = true;
        let issuer = Issuer::from_ca_cert_der(&self.certificate.der().into(), &self.key)?;
        let key = KeyPair::generate()?;
        let made = params.signed_by(&key, &issuer)?;
        Ok(Pair {
            certificate: made.pem(),
            key: key.serialize_pem(),
        })
    }
}

/// The key of a certificate, from PEM (PKCS #8).
///
/// # Errors
/// When it is broken, or another's.
pub(super) fn key_of(certificate: &Certificate, key: &str) -> Result<KeyPair, Error> {
    let key = KeyPair::from_pem(key).map_err(Error::Key)?;
    if certificate.has_key(&key.subject_public_key_info()) {
        Ok(key)
    } else {
        Err(Error::Mismatch)
    }
}

fn params(subject: &str, life: &Life, names: Vec<String>) -> Result<CertificateParams, Error> {
    let epoch = date_time_ymd(1970, 1, 1);
    let since = |time: Timestamp| {
        let seconds = u64::try_from(time.as_second()).unwrap_or_default();
        epoch.saturating_add(Duration::from_secs(seconds).try_into().unwrap_or_default())
    };
    let mut params = CertificateParams::new(names)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    params.not_before = since(life.begins);
    params.not_after = since(life.ends);
    Ok(params)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn now() -> Timestamp {
        "2026-11-30T12:00:00Z".parse().unwrap()
    }

    fn names() -> BTreeSet<String> {
        ["task-conversion.task-system.svc", "127.0.0.1", "::1"]
            .map(str::to_owned)
            .into()
    }

    fn issued(authority: &Authority, validity: Duration) -> Certificate {
        let pair = authority.issue(&names(), now(), validity).unwrap();
        let mut all = Certificate::all_of(pair.certificate.as_bytes()).unwrap();
        assert_eq!(all.len(), 1);
        all.remove(0)
    }

    #[test]
    fn what_is_issued_is_of_its_authority_and_for_its_names() {
        let [authority, other] = [(); 2].map(|()| Authority::new(now(), HOUR).unwrap());
        let issued = issued(&authority, HOUR / 2);
        assert!(issued.is_signed_by(authority.certificate()));
        assert!(!issued.is_signed_by(other.certificate()));
        assert_eq!(issued.names(), names());
        assert!(authority.certificate().is_authority() && !issued.is_authority());
    }

    #[test]
    fn nothing_outlives_its_authority() {
        let authority = Authority::new(now(), HOUR).unwrap();
        assert_eq!(
            *issued(&authority, HOUR * 2).life(),
            Life::from_now(now(), HOUR)
        );
        assert_eq!(
            *issued(&authority, HOUR / 2).life(),
            Life::from_now(now(), HOUR / 2)
        );
    }

    #[test]
    fn an_authority_that_was_written_down_signs_as_before() {
        let authority = Authority::new(now(), HOUR).unwrap();
        let pem = authority.certificate().pem();
        let read = Authority::read(pem.as_bytes(), &authority.key()).unwrap();
        assert!(read.certificate() == authority.certificate());
        assert!(issued(&read, HOUR).is_signed_by(authority.certificate()));
    }

    #[test]
    fn what_is_no_authority_is_told() {
        let [authority, other] = [(); 2].map(|()| Authority::new(now(), HOUR).unwrap());
        let pem = authority.certificate().pem();
        let serving = authority.issue(&names(), now(), HOUR).unwrap();
        let why = |certificate: &str, key: &str| match Authority::read(certificate.as_bytes(), key)
        {
            Err(error) => error.to_string(),
            Ok(_) => "nothing".to_owned(),
        };
        for (certificate, key, expected) in [
            (&pem, &other.key(), "the key is not the certificate's"),
            (&pem, &"no PEM".to_owned(), "cannot read the key"),
            (&String::new(), &authority.key(), "there is no certificate"),
            (
                &serving.certificate,
                &serving.key,
                "the certificate may not sign others",
            ),
        ] {
            assert_eq!(why(certificate, key), expected);
        }
    }
}
