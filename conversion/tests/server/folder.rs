//! A folder with a certificate, as kubelet mounts a Secret.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use tempfile::TempDir;

pub struct Folder {
    folder: TempDir,
    generation: usize,
    pub certificate: CertificateDer<'static>,
}

impl Folder {
    /// With a certificate for `name`.
    pub fn new(name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let mut folder = Self {
            folder: tempfile::tempdir().unwrap(),
            generation: 0,
            certificate: made.cert.der().clone(),
        };
        folder.swap(&made.cert.pem(), &made.signing_key.serialize_pem());
        for file in ["tls.crt", "tls.key"] {
            let path = folder.path().join(file);
            symlink(Path::new("..data").join(file), path).unwrap();
        }
        folder
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Renews the certificate, for another name.
    pub fn renew(&mut self, name: &str) {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        self.swap(&made.cert.pem(), &made.signing_key.serialize_pem());
        self.certificate = made.cert.der().clone();
    }

    /// Puts other files there as kubelet does: a new folder, a new link to it that replaces the old one at once, and the old folder
    /// is removed.
    pub fn swap(&mut self, certificate: &str, key: &str) {
        self.generation += 1;
        let name = |generation| PathBuf::from(format!("..2026_11_30_{generation}"));
        let new = self.path().join(name(self.generation));
        fs::create_dir(&new).unwrap();
        fs::write(new.join("tls.crt"), certificate).unwrap();
        fs::write(new.join("tls.key"), key).unwrap();
        let link = self.path().join("..data_tmp");
        symlink(name(self.generation), &link).unwrap();
        fs::rename(&link, self.path().join("..data")).unwrap();
        let _ = fs::remove_dir_all(self.path().join(name(self.generation - 1)));
    }
}
