//! The folder of a certificate, as a kubelet mounts a Secret: the files are links into `..data`, which is a link that is exchanged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use control_plane::certificates::Authority;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// A certificate for a server on this machine, in a folder, and the authority that it is from.
pub struct Secret {
    folder: PathBuf,
    authority: Authority,
    generation: usize,
    newest: CertificateDer<'static>,
}

impl Secret {
    /// Makes the folder, its first certificate, and beside it `ca.crt`.
    pub fn new(folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        let authority = Authority::new("task-operator test webhooks").unwrap();
        fs::write(folder.join("ca.crt"), authority.cert_pem()).unwrap();
        for name in ["tls.crt", "tls.key"] {
            symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
        }
        let mut secret = Self {
            folder: folder.to_owned(),
            authority,
            generation: 0,
            newest: CertificateDer::from(Vec::new()),
        };
        secret.renew();
        secret
    }

    /// Puts a new certificate in the place of the last one.
    pub fn renew(&mut self) {
        self.generation += 1;
        let made = self.authority.serving(["127.0.0.1", "localhost"]).unwrap();
        let name = format!("..{}", self.generation);
        let content = self.folder.join(&name);
        fs::create_dir(&content).unwrap();
        fs::write(content.join("tls.crt"), &made.cert_pem).unwrap();
        fs::write(content.join("tls.key"), &made.key_pem).unwrap();

        let link = self.folder.join("..data");
        let old = fs::read_link(&link);
        let next = self.folder.join("..data_tmp");
        symlink(name, &next).unwrap();
        fs::rename(next, link).unwrap();
        if let Ok(old) = old {
            fs::remove_dir_all(self.folder.join(old)).unwrap();
        }
        self.newest = CertificateDer::from_pem_slice(made.cert_pem.as_bytes()).unwrap();
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The authority's certificate in PEM.
    pub fn authority_pem(&self) -> String {
        self.authority.cert_pem()
    }

    /// The certificate that is in the folder now.
    pub fn newest(&self) -> &CertificateDer<'static> {
        &self.newest
    }
}
