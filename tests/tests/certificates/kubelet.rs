//! What kubelet does: it writes a Secret into the folder at which it is mounted.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use kube::Client;
use kube::api::{Api, DynamicObject};
use tokio::time::{Instant, sleep};

use crate::world::{AUTHORITIES, SERVING, SYSTEM, decode, resource};

const POLL: Duration = Duration::from_millis(200);

const DEADLINE: Duration = Duration::from_secs(60);

/// The files of the Secret.
const FILES: [&str; 2] = ["tls.crt", "tls.key"];

/// Keeps the folder as the Secret is, and remembers what both Secrets held.
pub struct Kubelet {
    folder: PathBuf,
    seen: Arc<Mutex<Seen>>,
}

/// All that the Secrets held, in the order in which it was first seen there.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The newest authority, in PEM.
    pub authorities: Vec<String>,
    /// The serving certificate, in PEM.
    pub serving: Vec<String>,
    /// All authorities that are on record now, in PEM.
    pub trusted: String,
}

impl Kubelet {
    /// Waits for the Secret and mounts it at `folder`.
    pub async fn mount(client: Client, folder: PathBuf) -> Self {
        fs::create_dir_all(&folder).unwrap();
        for file in FILES {
            symlink(Path::new("..data").join(file), folder.join(file)).unwrap();
        }
        let resource = resource("v1", "Secret");
        let secrets = Api::namespaced_with(client, SYSTEM, &resource);
        let kubelet = Self {
            folder: folder.clone(),
            seen: Arc::default(),
        };
        let seen = Arc::clone(&kubelet.seen);
        tokio::spawn(async move {
            loop {
                sync(&secrets, &folder, &seen).await;
                sleep(POLL).await;
            }
        });
        let deadline = Instant::now() + DEADLINE;
        while !kubelet.folder.join(FILES[1]).exists() {
            assert!(Instant::now() < deadline, "there is no {SERVING}");
            sleep(POLL).await;
        }
        kubelet
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All authorities that are on record at the time of the call, in PEM.
    pub fn trusted(&self) -> impl Fn() -> String + Send + Sync + use<> {
        let seen = Arc::clone(&self.seen);
        move || {
            let seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.trusted.clone()
        }
    }

    /// What the Secrets held so far.
    pub fn seen(&self) -> Seen {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.clone()
    }
}

async fn sync(secrets: &Api<DynamicObject>, folder: &Path, seen: &Mutex<Seen>) {
    let value = |secret: &DynamicObject, key: &str| {
        decode(secret.data["data"][key].as_str().unwrap_or_default())
    };
    if let Ok(Some(secret)) = secrets.get_opt(AUTHORITIES).await {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = value(&secret, FILES[0]);
        if !seen.authorities.contains(&newest) {
            seen.authorities.push(newest);
        }
        seen.trusted = value(&secret, "ca.crt");
    }
    if let Ok(Some(secret)) = secrets.get_opt(SERVING).await {
        let contents = FILES.map(|file| (file, value(&secret, file)));
        let generation = {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            let certificate = contents[0].1.clone();
            if seen.serving.contains(&certificate) {
                return;
            }
            seen.serving.push(certificate);
            seen.serving.len()
        };
        swap(folder, generation, &contents);
    }
}

/// A new folder, and a link to it that replaces the old one at once; then the old folder goes.
fn swap(folder: &Path, generation: usize, contents: &[(&str, String)]) {
    let name = |generation| format!("..2026_11_30_{generation}");
    let new = folder.join(name(generation));
    fs::create_dir(&new).unwrap();
    for (file, content) in contents {
        fs::write(new.join(file), content).unwrap();
    }
    let link = folder.join("..data_tmp");
    symlink(name(generation), &link).unwrap();
    fs::rename(&link, folder.join("..data")).unwrap();
    let _ = fs::remove_dir_all(folder.join(name(generation - 1)));
}
