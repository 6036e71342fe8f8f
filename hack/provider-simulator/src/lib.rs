//! A provider of operations on this machine, which fails as it is told to: what the end-to-end tests and `make up` have operations
//! carried out by. See the README for how a Task says what becomes of its operation.

mod callbacks;
mod ledger;
mod routes;
mod script;
mod tell;

use std::{
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::{net::TcpListener, task::JoinHandle};

pub use callbacks::{Caller, Error as CallerError};
pub use ledger::Operation;
pub use script::{Fault, Outcome};

use ledger::Ledger;
use operation_signals::nats::Context;

/// Why the simulator does not run.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}")]
pub struct Error {
    address: SocketAddr,
    source: io::Error,
}

/// The provider. It ends when this value is dropped.
#[must_use = "the simulator ends when it is dropped"]
pub struct Simulator {
    address: SocketAddr,
    ledger: Shared,
    server: JoinHandle<()>,
}

/// What the handlers share.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Ledger>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ledger> {
        // Each change to it is complete at once, so there is nothing half-done to fear.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Simulator {
    /// Starts it at a free port of this machine, on the current runtime.
    ///
    /// # Errors
    /// When there is none.
    pub async fn start() -> Result<Self, Error> {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    /// Starts it at this address, on the current runtime.
    ///
    /// # Errors
    /// When the address is taken.
    pub async fn start_at(address: SocketAddr) -> Result<Self, Error> {
        let failed = |source| Error { address, source };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let ledger = Shared::default();
        let router = routes::router(ledger.clone());
        let server = tokio::spawn(async move {
            // It only ends with the process, or when it is dropped.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self {
            address,
            ledger,
            server,
        })
    }

    /// The address that all paths begin with.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The operations that were accepted, of all Tasks.
    #[must_use]
    pub fn operations(&self) -> Vec<Operation> {
        self.ledger.lock().accepted()
    }

    /// The operations that were accepted of the Tasks of this namespace.
    #[must_use]
    pub fn operations_in(&self, namespace: &str) -> Vec<Operation> {
        let mut operations = self.operations();
        operations.retain(|operation| operation.namespace == namespace);
        operations.sort_by_key(|operation| operation.accepted_at);
        operations
    }

    /// How many calls there have been.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.ledger.lock().calls
    }

    /// From now on this goes wrong with each call, whatever it is for; `None`: nothing.
    pub fn trouble(&self, trouble: Option<Fault>) {
        self.ledger.lock().trouble = trouble;
    }

    /// From now on the operator is told of the ends of those operations for which it asked for callbacks.
    pub fn call_back_by(&self, caller: Caller) {
        self.ledger.lock().caller = Some(caller);
    }

    /// From now on the ends of operations that are to have events are published there.
    pub fn publish_to(&self, queue: Context) {
        self.ledger.lock().queue = Some(queue);
    }

    /// Forgets every operation, as a provider that lost its data.
    pub fn forget(&self) {
        self.ledger.lock().forget();
    }
}

impl Drop for Simulator {
    fn drop(&mut self) {
        self.server.abort();
    }
}
