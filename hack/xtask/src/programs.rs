//! The two programs of the operator, as the supervisor runs them.

use std::{
    ffi::OsString,
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use control_plane::{
    Port, ScratchError,
    certificates::{self, Authority},
    process::{self, Process, Program},
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::{
    cluster_dir::ClusterDir,
    status::{Build, Running},
};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Port(#[from] ScratchError),
    #[error(transparent)]
    Certificate(#[from] certificates::Error),
    #[error(transparent)]
    Process(#[from] process::Error),
    #[error("cannot use {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// The names of the programs, which are those of their executables.
pub(crate) const CONVERSION: &str = "task-conversion";
pub(crate) const CONTROLLER: &str = "task-controller";

/// The certificate authority's file in [`ClusterDir::certificates`].
const AUTHORITY: &str = "ca.crt";

/// A program and the ports that it holds as long as it may be restarted.
pub(crate) struct Supervised {
    process: Process,
    build: Build,
    executable: PathBuf,
    listens: SocketAddr,
    _ports: Vec<Port>,
}

impl Supervised {
    /// task-conversion, with a new certificate from a new authority.
    pub(crate) fn conversion(dir: &ClusterDir) -> Result<Self, Error> {
        let certificates = dir.certificates();
        let authority = Authority::new("task-operator local webhooks")?;
        let certificate = authority.serving(["127.0.0.1", "localhost"])?;
        for (name, text) in [
            (AUTHORITY, &authority.cert_pem()),
            ("tls.crt", &certificate.cert_pem),
            ("tls.key", &certificate.key_pem),
        ] {
            let path = certificates.join(name);
            fs::write(&path, text).map_err(|source| Error::Io { path, source })?;
        }
        let port = Port::claim()?;
        let args = vec![
            "--bind".into(),
            port.address().to_string().into(),
            "--cert-dir".into(),
            certificates.into(),
        ];
        Self::start(
            dir,
            CONVERSION,
            args,
            Vec::new(),
            port.address(),
            vec![port],
        )
    }

    /// task-controller, as a cluster administrator.
    pub(crate) fn controller(dir: &ClusterDir, kubeconfig: &Path) -> Result<Self, Error> {
        let [health, metrics] = [Port::claim()?, Port::claim()?];
        let args = vec![
            "--health-bind".into(),
            health.address().to_string().into(),
            "--metrics-bind".into(),
            metrics.address().to_string().into(),
        ];
        let env = vec![("KUBECONFIG".into(), kubeconfig.into())];
        Self::start(
            dir,
            CONTROLLER,
            args,
            env,
            health.address(),
            vec![health, metrics],
        )
    }

    fn start(
        dir: &ClusterDir,
        name: &str,
        args: Vec<OsString>,
        env: Vec<(OsString, OsString)>,
        listens: SocketAddr,
        ports: Vec<Port>,
    ) -> Result<Self, Error> {
        let executable = dir.executable(name);
        let build = build_of(&executable)?;
        let program = Program {
            name: name.into(),
            path: executable.clone(),
            args,
            env,
        };
        let process = Process::start(program, &dir.logs())?;
        Ok(Self {
            process,
            build,
            executable,
            listens,
            _ports: ports,
        })
    }

    /// What runs.
    pub(crate) fn running(&self) -> Running {
        Running {
            name: self.process.name().to_owned(),
            pid: self.process.id(),
            build: self.build,
            listens: self.listens,
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.process.name()
    }

    /// Where it listens once it is of use.
    pub(crate) fn listens(&self) -> SocketAddr {
        self.listens
    }

    /// Whether it has ended, which it never does by itself.
    pub(crate) fn has_ended(&mut self) -> Result<bool, Error> {
        Ok(self.process.exit_status()?.is_some())
    }

    /// Whether its executable has been built anew since it was started.
    pub(crate) fn is_outdated(&self) -> Result<bool, Error> {
        Ok(build_of(&self.executable)? != self.build)
    }

    /// Starts the newest build, after killing what runs.
    pub(crate) fn restart(&mut self) -> Result<(), Error> {
        self.build = build_of(&self.executable)?;
        Ok(self.process.restart()?)
    }
}

fn build_of(executable: &Path) -> Result<Build, Error> {
    Build::of(executable).map_err(|source| Error::Io {
        path: executable.to_owned(),
        source,
    })
}

/// The CustomResourceDefinition of Task whose objects are converted by the local task-conversion.
pub(crate) fn local_crd(
    dir: &ClusterDir,
    conversion: SocketAddr,
) -> Result<CustomResourceDefinition, Error> {
    let path = dir.certificates().join(AUTHORITY);
    let authority = match fs::read_to_string(&path) {
        Ok(pem) => pem,
        Err(source) => return Err(Error::Io { path, source }),
    };
    let url = format!("https://{conversion}{}", task_crds::CONVERSION_PATH);
    let mut crd = task_crds::crd();
    control_plane::crd::convert_at(&mut crd, &url, &authority);
    Ok(crd)
}
