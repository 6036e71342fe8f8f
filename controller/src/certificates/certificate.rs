//! A certificate as it is read: what is signed by whom, for which names, and for how long.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use pem::Pem;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

use super::life::Life;

/// How PEM calls a certificate.
const LABEL: &str = "CERTIFICATE";

/// Why a text holds no certificate.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// It is no PEM.
    #[error("no PEM")]
    Pem(#[from] pem::PemError),
    /// What is in the PEM is something else.
    #[error("no certificate of X.509")]
    X509(#[from] x509_parser::nom::Err<x509_parser::error::X509Error>),
    /// Its dates are beyond what can be computed with.
    #[error("impossible dates")]
    Dates(#[source] jiff::Error),
}

/// A certificate. Two are the same when each byte is.
#[derive(Clone, Debug)]
pub(super) struct Certificate {
    der: Vec<u8>,
    life: Life,
}

impl PartialEq for Certificate {
    fn eq(&self, other: &Self) -> bool {
        self.der == other.der
    }
}

impl Certificate {
    /// All certificates of a PEM text, in their order; what else is in it is passed over.
    ///
    /// # Errors
    /// When any is broken.
    pub(super) fn all_of(text: &[u8]) -> Result<Vec<Self>, Error> {
        pem::parse_many(text)?
            .into_iter()
            .filter(|block| block.tag() == LABEL)
            .map(|block| Self::from_der(block.into_contents()))
            .collect()
    }

    /// The certificate that `der` is.
    ///
    /// # Errors
    /// When it is none.
    pub(super) fn from_der(der: Vec<u8>) -> Result<Self, Error> {
        let (_, parsed) = X509Certificate::from_der(&der)?;
        let validity = parsed.validity();
        let time = |time: x509_parser::time::ASN1Time| Timestamp::from_second(time.timestamp());
        let life = Life {
            begins: time(validity.not_before).map_err(Error::Dates)?,
            ends: time(validity.not_after).map_err(Error::Dates)?,
        };
        Ok(Self { der, life })
    }

    /// Its bytes.
    pub(super) fn der(&self) -> &[u8] {
        &self.der
    }

    /// Itself as PEM.
    pub(super) fn pem(&self) -> String {
        pem_of([self])
    }

    /// From when to when it is good.
    pub(super) fn life(&self) -> &Life {
        &self.life
    }

    /// Whether it may sign others.
    pub(super) fn is_authority(&self) -> bool {
        self.parsed().is_some_and(|parsed| parsed.is_ca())
    }

    /// Whether `authority` signed it.
    pub(super) fn is_signed_by(&self, authority: &Self) -> bool {
        let (Some(this), Some(authority)) = (self.parsed(), authority.parsed()) else {
            return false;
        };
        this.issuer() == authority.subject()
            && this.verify_signature(Some(authority.public_key())).is_ok()
    }

    /// Whether its key is the one with this public part, a SubjectPublicKeyInfo in DER.
    pub(super) fn has_key(&self, public_key: &[u8]) -> bool {
        self.parsed()
            .is_some_and(|parsed| parsed.public_key().raw == public_key)
    }

    /// The DNS names and IP addresses of the server that it is for.
    pub(super) fn names(&self) -> BTreeSet<String> {
        let parsed = self.parsed();
        let names = parsed
            .as_ref()
            .and_then(|parsed| parsed.subject_alternative_name().ok().flatten())
            .map_or(&[][..], |names| &names.value.general_names);
        names
            .iter()
            .filter_map(|name| match name {
                GeneralName::DNSName(name) => Some((*name).to_owned()),
                GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
                _ => None,
            })
            .collect()
    }

    fn parsed(&self) -> Option<X509Certificate<'_>> {
        X509Certificate::from_der(&self.der)
            .ok()
            .map(|(_, parsed)| parsed)
    }

    /// A certificate for tests in which only its identity and its life matter.
    #[cfg(test)]
    pub(super) fn stand_in(id: u8, life: Life) -> Self {
        Self {
            der: vec![id],
            life,
        }
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    <[u8; 4]>::try_from(bytes)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}

/// Certificates as PEM, one after the other: what a `caBundle` holds.
pub(super) fn pem_of<'a>(certificates: impl IntoIterator<Item = &'a Certificate>) -> String {
    let config = pem::EncodeConfig::new().set_line_ending(pem::LineEnding::LF);
    certificates
        .into_iter()
        .map(|certificate| pem::encode_config(&Pem::new(LABEL, certificate.der()), config))
        .collect()
}
