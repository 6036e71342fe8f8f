//! task-conversion as the API server sees it: its address, its certificate, and the definition that points at it.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use control_plane::{
    certificates::{self, Authority},
    crd,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

/// The file of the authority's certificate, beside the server's.
const AUTHORITY: &str = "ca.crt";

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It could not be made.
    #[error(transparent)]
    Certificate(#[from] certificates::Error),
    /// A file could not be read or written.
    #[error("cannot use {}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

fn io_error(path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_owned();
    move |source| Error::Io { path, source }
}

/// Makes an authority and, from it, a certificate for a server on this machine; writes both into `folder` as task-conversion
/// wants them (`tls.crt`, `tls.key`) and as [`Webhook::of`] does (`ca.crt`).
///
/// # Errors
/// When a file cannot be written.
pub fn issue_certificates(folder: &Path) -> Result<(), Error> {
    let authority = Authority::new("task-operator local webhooks")?;
    let certificate = authority.serving(["127.0.0.1", "localhost"])?;
    fs::create_dir_all(folder).map_err(io_error(folder))?;
    for (name, text) in [
        (AUTHORITY, &authority.cert_pem()),
        ("tls.crt", &certificate.cert_pem),
        ("tls.key", &certificate.key_pem),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(io_error(&path))?;
    }
    Ok(())
}

/// Where the API server has Tasks converted and judged.
#[derive(Clone, Debug)]
pub struct Webhook {
    base_url: String,
    authority_pem: String,
}

impl Webhook {
    /// That of the task-conversion that listens on `address`, with the certificate in the folder `certificates`.
    ///
    /// # Errors
    /// When there is none ([`issue_certificates`]).
    pub fn of(address: SocketAddr, certificates: &Path) -> Result<Self, Error> {
        let path = certificates.join(AUTHORITY);
        Ok(Self {
            base_url: format!("https://{address}"),
            authority_pem: fs::read_to_string(&path).map_err(io_error(&path))?,
        })
    }

    /// Its address without a path.
    #[must_use]
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Its address for conversions.
    #[must_use]
    pub fn conversion_url(&self) -> String {
        format!("{}{}", self.base_url, task_crds::CONVERSION_PATH)
    }

    /// The authority that its certificate is from, in PEM.
    #[must_use]
    pub fn authority_pem(&self) -> &str {
        &self.authority_pem
    }

    /// The CustomResourceDefinition of Task whose objects are converted there.
    #[must_use]
    pub fn definition(&self) -> CustomResourceDefinition {
        let mut definition = task_crds::crd();
        crd::convert_at(&mut definition, &self.conversion_url(), &self.authority_pem);
        definition
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_points_at_the_server_and_trusts_its_certificate() {
        let folder = tempfile::tempdir().unwrap();
        issue_certificates(folder.path()).unwrap();
        let webhook = Webhook::of(([127, 0, 0, 1], 8443).into(), folder.path()).unwrap();

        let conversion = webhook.definition().spec.conversion.unwrap();
        let client = conversion.webhook.unwrap().client_config.unwrap();
        assert_eq!(
            client.url.as_deref(),
            Some("https://127.0.0.1:8443/convert")
        );
        let bundle = String::from_utf8(client.ca_bundle.unwrap().0).unwrap();
        assert_eq!(bundle, webhook.authority_pem());
        assert!(
            bundle.starts_with("-----BEGIN CERTIFICATE-----"),
            "{bundle}"
        );
    }

    #[test]
    fn without_certificates_the_error_names_the_file() {
        let error = Webhook::of(([127, 0, 0, 1], 8443).into(), Path::new("nowhere")).unwrap_err();
        assert_eq!(error.to_string(), "cannot use nowhere/ca.crt");
    }
}
