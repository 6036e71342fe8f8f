//! The keys, certificates and kubeconfigs of one control plane, as files.

use std::{
    fs::OpenOptions,
    io::{self, Write},
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use crate::certificates::{self, Authority, Certificate};

/// The first address of [`SERVICE_RANGE`], by which Pods would reach the API server.
const SERVICE_ADDRESS: &str = "10.96.0.1";

/// The addresses of Services: room for tests with thousands of them.
pub(crate) const SERVICE_RANGE: &str = "10.96.0.0/16";

/// Why the credentials could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A certificate could not be made.
    #[error(transparent)]
    Certificate(#[from] certificates::Error),
    /// A file could not be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// The paths of what the components need to know each other.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    pub authority: PathBuf,
    pub serving_cert: PathBuf,
    pub serving_key: PathBuf,
    pub signing_key: PathBuf,
    pub signing_public_key: PathBuf,
    pub admin: PathBuf,
    pub controller_manager: PathBuf,
    pub scheduler: PathBuf,
    pub kwok: PathBuf,
}

impl Credentials {
    /// Makes new ones for an API server at `server`, in the folder `dir`.
    pub(crate) fn write(dir: &Path, server: SocketAddr) -> Result<Self, Error> {
        let authority = Authority::new("control-plane")?;
        let put = |name: &str, text: &str| write_private(dir.join(name), text);
        let kubeconfig = |name: &str, client: &Certificate| {
            put(name, &kubeconfig(server, &authority.cert_pem(), client))
        };
        let serving = authority.serving([
            "127.0.0.1",
            "localhost",
            SERVICE_ADDRESS,
            "kubernetes.default.svc",
        ])?;
        let (signing_key, signing_public_key) = certificates::signing_key()?;
        let masters = |user| authority.client(user, ["system:masters"]);
        Ok(Self {
            authority: put("ca.crt", &authority.cert_pem())?,
            serving_cert: put("apiserver.crt", &serving.cert_pem)?,
            serving_key: put("apiserver.key", &serving.key_pem)?,
            signing_key: put("service-accounts.key", &signing_key)?,
            signing_public_key: put("service-accounts.pub", &signing_public_key)?,
            admin: kubeconfig("kubeconfig", &masters("admin")?)?,
            controller_manager: kubeconfig(
                "controller-manager.kubeconfig",
                &authority.client("system:kube-controller-manager", [])?,
            )?,
            scheduler: kubeconfig(
                "scheduler.kubeconfig",
                &authority.client("system:kube-scheduler", [])?,
            )?,
            // kwok writes the status of any kind that its stages name.
            kwok: kubeconfig("kwok.kubeconfig", &masters("kwok")?)?,
        })
    }
}

/// A kubeconfig that needs no other file, so that it may be copied. JSON is YAML too.
fn kubeconfig(server: SocketAddr, authority_pem: &str, client: &Certificate) -> String {
    const NAME: &str = "control-plane";
    let encode = |pem: &str| BASE64_STANDARD.encode(pem);
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": NAME, "cluster": {
            "server": format!("https://{server}"),
            "certificate-authority-data": encode(authority_pem),
        }}],
        "users": [{"name": NAME, "user": {
            "client-certificate-data": encode(&client.cert_pem),
            "client-key-data": encode(&client.key_pem),
        }}],
        "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": NAME, "namespace": "default"}}],
        "current-context": NAME,
    });
    format!("{config:#}\n")
}

fn write_private(path: PathBuf, text: &str) -> Result<PathBuf, Error> {
    let written = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(Error::Write { path, source }),
    }
}
