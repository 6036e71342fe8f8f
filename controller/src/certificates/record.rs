//! What the two Secrets hold: the record of the authorities, and the server's certificate.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use super::authority::{Authority, Error, Pair, key_of};
use super::certificate::{Certificate, pem_of};
use super::plan::{Authorities, Serving};

/// The key of the certificate: of the newest authority, or the server's.
const CERTIFICATE: &str = "tls.crt";

/// The key of its key.
const KEY: &str = "tls.key";

/// The key of the certificates of all authorities that are trusted. Of older ones no key is kept.
const TRUSTED: &str = "ca.crt";

/// The annotation that cert-manager puts on the Secrets that it writes.
const CERT_MANAGER: &str = "cert-manager.io/certificate-name";

/// The type of a Secret with a certificate and its key.
pub(super) const TYPE: &str = "kubernetes.io/tls";

/// The data of a Secret.
pub(super) type Data = BTreeMap<String, ByteString>;

/// Whether cert-manager writes this Secret.
pub(super) fn is_cert_managers(secret: &Secret) -> bool {
    let annotations = secret.metadata.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(CERT_MANAGER))
}

/// The newest authority, with its key, of a record.
///
/// # Errors
/// When the record has none that can be used.
pub(super) fn newest(secret: &Secret) -> Result<Authority, Error> {
    let key = String::from_utf8_lossy(value(secret, KEY));
    Authority::read(value(secret, CERTIFICATE), &key)
}

/// The authorities of a record.
///
/// # Errors
/// When the record is broken.
pub(super) fn authorities(secret: &Secret) -> Result<Authorities, Error> {
    let newest = newest(secret)?.certificate().clone();
    let mut older = Certificate::all_of(value(secret, TRUSTED))?;
    older.retain(|certificate| *certificate != newest);
    Ok(Authorities { newest, older })
}

/// The data of a record.
pub(super) fn of_authorities(newest: &Authority, older: &[Certificate]) -> Data {
    let certificate = newest.certificate();
    data([
        (CERTIFICATE, certificate.pem()),
        (KEY, newest.key()),
        (TRUSTED, pem_of(std::iter::once(certificate).chain(older))),
    ])
}

/// The server's certificate in a Secret, for one that is reached by `names`; `known` are the authorities that it may be from.
///
/// # Errors
/// When it is broken.
pub(super) fn serving<'a>(
    secret: &Secret,
    names: &BTreeSet<String>,
    known: impl IntoIterator<Item = &'a Certificate>,
) -> Result<Serving, Error> {
    let chain = Certificate::all_of(value(secret, CERTIFICATE))?;
    let certificate = chain.first().ok_or(Error::Empty)?;
    key_of(certificate, &String::from_utf8_lossy(value(secret, KEY)))?;
    let mut issuers: Vec<Certificate> = Vec::new();
    for authority in known {
        if certificate.is_signed_by(authority) && !issuers.contains(authority) {
            issuers.push(authority.clone());
        }
    }
    Ok(Serving {
        life: *certificate.life(),
        issuers,
        has_names: names.is_subset(&certificate.names()),
    })
}

/// The data of a Secret with the server's certificate.
pub(super) fn of_serving(pair: Pair) -> Data {
    data([(CERTIFICATE, pair.certificate), (KEY, pair.key)])
}

fn data<const N: usize>(values: [(&str, String); N]) -> Data {
    values
        .map(|(key, value)| (key.to_owned(), ByteString(value.into_bytes())))
        .into()
}

fn value<'a>(secret: &'a Secret, key: &str) -> &'a [u8] {
    let value = secret.data.as_ref().and_then(|data| data.get(key));
    value.map_or(&[], |value| &value.0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn secret(data: Data) -> Secret {
        Secret {
            data: Some(data),
            ..Secret::default()
        }
    }

    fn authority() -> Authority {
        Authority::new(Timestamp::UNIX_EPOCH + HOUR, HOUR).unwrap()
    }

    fn names(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_record_tells_the_authorities_that_were_put_into_it() {
        let [old, new] = [(); 2].map(|()| authority());
        let older = vec![old.certificate().clone()];
        let read = authorities(&secret(of_authorities(&new, &older))).unwrap();
        assert!(read.newest == *new.certificate());
        assert_eq!(read.older, older);
    }

    #[test]
    fn a_record_without_its_key_is_none() {
        let mut data = of_authorities(&authority(), &[]);
        data.remove(KEY);
        assert!(authorities(&secret(data)).is_err());
        assert!(authorities(&Secret::default()).is_err());
    }

    #[test]
    fn the_issuer_is_found_among_the_authorities_that_are_known() {
        let [old, new] = [(); 2].map(|()| authority());
        let pair = old
            .issue(&names(&["a", "b"]), Timestamp::UNIX_EPOCH + HOUR, HOUR)
            .unwrap();
        let secret = secret(of_serving(pair));
        let known = [new.certificate(), old.certificate(), old.certificate()];
        let read = serving(&secret, &names(&["a"]), known).unwrap();
        assert_eq!(read.issuers, [old.certificate().clone()]);
        assert!(read.has_names);
        let read = serving(&secret, &names(&["a", "c"]), []).unwrap();
        assert!(read.issuers.is_empty() && !read.has_names);
    }

    #[test]
    fn a_serving_certificate_with_the_key_of_another_is_none() {
        let authority = authority();
        let [mut one, other] = [(); 2].map(|()| {
            let issued = authority.issue(&names(&["a"]), Timestamp::UNIX_EPOCH + HOUR, HOUR);
            of_serving(issued.unwrap())
        });
        one.insert(KEY.into(), other[KEY].clone());
        assert!(serving(&secret(one), &names(&["a"]), []).is_err());
    }
}
