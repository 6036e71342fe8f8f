//! Certificates for a control plane and for webhooks that it calls.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};

/// A certificate could not be made; only names that are no names can cause it.
#[derive(Debug, thiserror::Error)]
#[error("cannot make a certificate for {subject}")]
pub struct Error {
    subject: String,
    #[source]
    source: rcgen::Error,
}

fn error(subject: &str) -> impl FnOnce(rcgen::Error) -> Error {
    let subject = subject.to_owned();
    move |source| Error { subject, source }
}

/// A certificate with its private key, both as PEM.
#[derive(Clone)]
pub struct Certificate {
    /// The certificate alone, without its authority's.
    pub cert_pem: String,
    /// The private key, PKCS #8.
    pub key_pem: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate")
            .field("cert_pem", &self.cert_pem)
            .finish_non_exhaustive()
    }
}

/// A certificate authority that lives in memory. Keys are ECDSA P-256; certificates do not expire
/// within anybody's lifetime, so they are for tests and development only.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// A new authority called `name`, which no other trusts.
    ///
    /// # Errors
    /// When no key can be generated.
    pub fn new(name: &str) -> Result<Self, Error> {
        let mut params = params(name, [])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().map_err(error(name))?;
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(error(name))?;
        Ok(Self { issuer })
    }

    /// Its own certificate, which a client must trust: the `caBundle` of a webhook.
    #[must_use]
    pub fn cert_pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for a server that is reached by any of `names`: DNS names, or IP addresses
    /// written as text.
    ///
    /// # Errors
    /// When a name is not ASCII.
    pub fn serving<const N: usize>(&self, names: [&str; N]) -> Result<Certificate, Error> {
        let subject = names.first().copied().unwrap_or("server");
        let mut params = params(subject, names)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.sign(subject, params)
    }

    /// A certificate by which a client is known to the API server as `user`, member of `groups`.
    ///
    /// # Errors
    /// When no key can be generated.
    pub fn client<const N: usize>(
        &self,
        user: &str,
        groups: [&str; N],
    ) -> Result<Certificate, Error> {
        let mut params = params(user, [])?;
        for group in groups {
            params
                .distinguished_name
                .push(DnType::OrganizationName, group);
        }
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(user, params)
    }

    fn sign(&self, subject: &str, mut params: CertificateParams) -> Result<Certificate, Error> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate().map_err(error(subject))?;
        let cert = params
            .signed_by(&key, &self.issuer)
            .map_err(error(subject))?;
        Ok(Certificate {
            cert_pem: cert.pem(),
            key_pem: key.serialize_pem(),
        })
    }
}

fn params<const N: usize>(subject: &str, names: [&str; N]) -> Result<CertificateParams, Error> {
    let mut params = CertificateParams::new(names.map(String::from)).map_err(error(subject))?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, subject);
    Ok(params)
}

/// A key pair by which the API server signs service account tokens: private and public part, PEM.
pub(crate) fn signing_key() -> Result<(String, String), Error> {
    let key = KeyPair::generate().map_err(error("service accounts"))?;
    Ok((key.serialize_pem(), key.public_key_pem()))
}
