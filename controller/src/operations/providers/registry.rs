//! The providers as they are configured now: the file is looked at again and again while the controller runs.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use tokio::sync::watch;

use super::validate::{self, Problem};
use crate::operations::client::{self, Connection, Settings};

/// How often the file, and those that it names, are looked at. A file that is replaced by way of a symbolic link, as kubelet does, is noticed
/// too.
const INTERVAL: Duration = Duration::from_secs(5);

/// Why a file of providers cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It cannot be read.
    #[error("cannot read the file of providers {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It breaks a rule.
    #[error("the file of providers is wrong: {}", list(.0))]
    Invalid(Vec<Problem>),
    /// No connection can be made from it.
    #[error("the file of providers cannot be used: provider {name}: {source}")]
    Connection {
        /// The provider.
        name: String,
        /// Why.
        source: client::Error,
    },
}

/// The providers, by name.
pub type Providers = HashMap<String, Arc<Connection>>;

/// The providers as they are configured now.
#[derive(Clone)]
pub struct Registry {
    newest: watch::Sender<Arc<Providers>>,
}

impl Default for Registry {
    /// No providers.
    fn default() -> Self {
        Self {
            newest: watch::Sender::new(Arc::default()),
        }
    }
}

impl Registry {
    /// The providers of this file.
    ///
    /// # Errors
    /// See [`Error`].
    pub fn load(path: &Path) -> Result<Self, Error> {
        let providers = read(path, &Providers::new())?;
        Ok(Self {
            newest: watch::Sender::new(Arc::new(providers)),
        })
    }

    /// The provider of this name, if there is one.
    pub fn get(&self, name: &str) -> Option<Arc<Connection>> {
        self.newest.borrow().get(name).cloned()
    }

    /// Tells each time that the providers have changed.
    pub fn changes(&self) -> watch::Receiver<Arc<Providers>> {
        self.newest.subscribe()
    }

    /// Looks at the file again and again, and takes what is good; a bad one changes nothing. `report` is told what is wrong with the file, each
    /// time that it is looked at.
    pub async fn follow(self, path: PathBuf, report: impl Fn(Option<&Error>)) {
        let mut known = None;
        loop {
            tokio::time::sleep(INTERVAL).await;
            let current = Arc::clone(&self.newest.borrow());
            let read = read(&path, &current);
            report(read.as_ref().err());
            match read {
                Ok(providers) => {
                    known = None;
                    if !is_same(&providers, &current) {
                        tracing::info!(providers = providers.len(), "the providers have changed");
                        self.newest.send_replace(Arc::new(providers));
                    }
                }
                Err(error) => {
                    let text = error.to_string();
                    if known.as_ref() != Some(&text) {
                        tracing::error!(
                            error = &error as &dyn std::error::Error,
                            "the providers stay as they were"
                        );
                        known = Some(text);
                    }
                }
            }
        }
    }
}

/// Reads the file. A provider of which nothing has changed keeps its connection, and with it its budget.
fn read(path: &Path, current: &Providers) -> Result<Providers, Error> {
    let text = fs::read_to_string(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let providers = validate::parse(&text).map_err(Error::Invalid)?;
    providers
        .into_iter()
        .map(|provider| {
            let name = provider.entry.name.clone();
            connection(provider, current.get(&name))
                .map(|connection| (name.clone(), connection))
                .map_err(|source| Error::Connection { name, source })
        })
        .collect()
}

fn connection(
    provider: validate::Provider,
    current: Option<&Arc<Connection>>,
) -> Result<Arc<Connection>, client::Error> {
    let settings = Settings::read(provider)?;
    match current {
        Some(current) if current.settings == settings => Ok(Arc::clone(current)),
        _ => {
            let before = current.map(|current| &**current);
            Ok(Arc::new(Connection::new(settings, before)?))
        }
    }
}

fn is_same(a: &Providers, b: &Providers) -> bool {
    a.len() == b.len()
        && a.iter().all(|(name, connection)| {
            b.get(name)
                .is_some_and(|other| Arc::ptr_eq(connection, other))
        })
}

fn list(problems: &[Problem]) -> String {
    let texts: Vec<_> = problems.iter().map(Problem::to_string).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tempfile::TempDir;

    use super::*;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Self {
            Self(TempDir::new().unwrap())
        }

        fn path(&self) -> PathBuf {
            self.0.path().join("providers.yaml")
        }

        fn write(&self, providers: &[(&str, &str)]) {
            let entries: String = providers
                .iter()
                .map(|(name, url)| format!("{{name: {name}, url: \"{url}\"}},"))
                .collect();
            fs::write(self.path(), format!("providers: [{entries}]")).unwrap();
        }
    }

    fn url(registry: &Registry, name: &str) -> Option<String> {
        let connection = registry.get(name)?;
        Some(connection.settings.provider.url.to_string())
    }

    #[test]
    fn a_bad_file_is_refused_with_the_place() {
        let folder = Folder::new();
        folder.write(&[("a", "https://a.example"), ("b", "nowhere")]);
        let error = Registry::load(&folder.path()).err().unwrap().to_string();
        assert!(error.contains("providers[1].url"), "{error}");
    }

    #[test]
    fn a_file_that_is_named_and_cannot_be_read_is_told() {
        let folder = Folder::new();
        fs::write(
            folder.path(),
            "providers: [{name: a, url: \"https://a.example\", caFile: /nowhere/ca.pem}]",
        )
        .unwrap();
        let error = Registry::load(&folder.path()).err().unwrap().to_string();
        assert!(
            error.contains("provider a: caFile: cannot read /nowhere/ca.pem"),
            "{error}"
        );
    }

    #[test]
    fn a_secret_that_is_replaced_leaves_the_budget_as_it_was() {
        let folder = Folder::new();
        let secret = folder.0.path().join("secret");
        let text = format!(
            "providers: [{{name: a, url: \"https://a.example\", callbacks: {{scheme: Bearer, secretFile: {}}}}}]",
            secret.display()
        );
        fs::write(folder.path(), text).unwrap();
        fs::write(&secret, "the first of the secrets").unwrap();
        let before = read(&folder.path(), &Providers::new()).unwrap();
        fs::write(&secret, "the second of the secrets").unwrap();
        let after = read(&folder.path(), &before).unwrap();
        assert_ne!(after["a"].settings, before["a"].settings);
        assert!(Arc::ptr_eq(&after["a"].gate, &before["a"].gate));
        fs::write(&secret, "short").unwrap();
        let error = read(&folder.path(), &after).unwrap_err().to_string();
        assert!(error.contains("callbacks.secretFile: line 1"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_taken_in_and_a_bad_file_changes_nothing() {
        let folder = Folder::new();
        folder.write(&[("a", "https://a.example"), ("b", "https://b.example")]);
        let registry = Registry::load(&folder.path()).unwrap();
        let reports = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&reports);
        let report = move |error: Option<&Error>| told.lock().unwrap().push(error.is_some());
        tokio::spawn(registry.clone().follow(folder.path(), report));
        let kept = registry.get("a").unwrap();

        folder.write(&[("a", "https://a.example"), ("b", "https://other.example")]);
        tokio::time::sleep(2 * INTERVAL).await;
        assert_eq!(
            url(&registry, "b").as_deref(),
            Some("https://other.example/")
        );
        assert!(Arc::ptr_eq(&kept, &registry.get("a").unwrap()));
        assert!(!reports.lock().unwrap().contains(&true));

        folder.write(&[("a", "nowhere")]);
        tokio::time::sleep(2 * INTERVAL).await;
        assert_eq!(
            url(&registry, "b").as_deref(),
            Some("https://other.example/")
        );
        assert_eq!(reports.lock().unwrap().last(), Some(&true));

        folder.write(&[]);
        tokio::time::sleep(2 * INTERVAL).await;
        assert_eq!(url(&registry, "a"), None);
        assert_eq!(reports.lock().unwrap().last(), Some(&false));
    }
}
