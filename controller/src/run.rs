//! The wiring of the process, from the top to the bottom.

use std::{
    io,
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    http::{HeaderValue, header::USER_AGENT},
};
use futures::{FutureExt, Stream, StreamExt};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
};
use kube::{
    Api, Client, Config, Resource,
    runtime::{
        Controller, WatchStreamExt,
        controller::{self, Action},
        reflector::ObjectRef,
        watcher::{self, Event},
    },
};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    sync::watch,
};

use crate::{
    args::Args,
    cache, certificates, events,
    health::{self, Readiness},
    metrics::{self, Metrics},
    reconcile::{self, Context, build::labels, observe::Caches},
    retry::Retries,
    triggers,
    watched::Watched,
};

/// How the controller names itself to the API server.
const AGENT: &str = concat!("task-controller/", env!("CARGO_PKG_VERSION"));

/// How long the Events that are not published yet may take when the controller stops.
const LAST_EVENTS: Duration = Duration::from_secs(5);

/// Why the controller could not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options do not go together.
    #[error(transparent)]
    Certificates(#[from] certificates::TooShort),
    /// No connection to an API server is configured.
    #[error("cannot find out how to reach the API server")]
    Config(#[source] kube::config::InferConfigError),
    /// The configured connection cannot be used.
    #[error("cannot set up the connection to the API server")]
    Client(#[source] kube::Error),
    /// An address to listen on is not to be had.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The handler of a signal cannot be installed.
    #[error("cannot listen for signals")]
    Signals(#[source] io::Error),
}

/// Runs the controller until SIGTERM or SIGINT; then passes in flight finish, and it returns.
///
/// # Errors
/// When it cannot start. Once it runs nothing makes it return: trouble with the API server is logged and
/// tried again.
pub async fn run(args: Args) -> Result<(), Error> {
    args.certificates.check()?;
    let stop = stop_signal()?;
    let client = client().await?;
    let metrics = Arc::new(Metrics::default());
    let readiness = Readiness::default();
    serve(
        "metrics",
        args.metrics_bind,
        metrics::router(Arc::clone(&metrics)),
    )
    .await?;
    serve(
        "health",
        args.health_bind,
        health::router(readiness.clone()),
    )
    .await?;

    if args.certificates.self_managed_certs {
        // Each step may be broken off: it is found unfinished by whoever looks next.
        tokio::spawn(certificates::keep(
            client.clone(),
            args.certificates.clone(),
            metrics.certificates(),
        ));
    }
    let namespace = args.namespace();
    let managed = watcher::Config::default().labels(&labels::managed());
    let (tasks, task_events) = cache::watch(
        api::<Watched>(&client, namespace),
        watcher::Config::default(),
        Watched::trim,
    );
    let (config_maps, config_map_events) = cache::watch(
        api::<ConfigMap>(&client, namespace),
        managed.clone(),
        |_| {},
    );
    let (services, service_events) =
        cache::watch(api::<Service>(&client, namespace), managed.clone(), |_| {});
    let (deployments, deployment_events) =
        cache::watch(api::<Deployment>(&client, namespace), managed, |_| {});
    let store = tasks.store();
    let (events, notes) = events::channel();
    let published = tokio::spawn(notes.publish(client.clone()));
    let context = Arc::new(Shared {
        metrics,
        reconcile: Context {
            client,
            caches: Caches {
                tasks,
                config_maps,
                services,
                deployments,
            },
            retries: Retries::default(),
            events,
        },
    });

    tokio::spawn(tell_when_ready(
        Arc::clone(&context),
        readiness.clone(),
        stop.clone(),
    ));
    let deleted = Arc::clone(&context);
    let task_events = task_events.inspect(move |event| {
        if let Event::Delete(task) = event {
            deleted.reconcile.retries.forget(&task.into());
        }
    });
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        namespace = namespace.unwrap_or("all"),
        "started"
    );
    let passes = Controller::for_stream(
        changed(task_events).predicate_filter(triggers::what_a_pass_depends_on, Default::default()),
        store,
    )
    .owns_stream(changed(config_map_events))
    .owns_stream(changed(service_events))
    .owns_stream(changed(deployment_events))
    .with_config(controller::Config::default().concurrency(args.concurrency))
    .graceful_shutdown_on(stopped(stop.clone()))
    .run(pass, retry, Arc::clone(&context))
    .for_each(|ended| {
        forget_if_gone(&context, ended);
        std::future::ready(())
    });
    tokio::select! {
        () = passes => {}
        () = stopped_before_any_pass(&context, stop) => {}
    }
    drop(context);
    // Nobody is kept waiting for the last Events by an API server that does not answer.
    let _ = tokio::time::timeout(LAST_EVENTS, published).await;
    tracing::info!("stopped");
    Ok(())
}

/// What the passes share.
struct Shared {
    reconcile: Context,
    metrics: Arc<Metrics>,
}

/// One pass, with what is seen of it from outside. The span that `kube` opens around it names the Task.
async fn pass(watched: Arc<Watched>, shared: Arc<Shared>) -> Result<Action, reconcile::Error> {
    if let Watched(Err(undecodable)) = &*watched {
        shared.metrics.undecodable();
        tracing::error!(error = %undecodable, "skipped a Task that cannot be decoded");
    }
    // A child that is merely not listed yet must not be taken for one that is missing.
    shared.reconcile.caches.synced().await;
    let start = Instant::now();
    match reconcile::reconcile(&watched, &shared.reconcile).await {
        Ok(outcome) => {
            shared
                .metrics
                .pass_succeeded(outcome.phase, start.elapsed());
            Ok(outcome.action)
        }
        Err(error) => {
            shared.metrics.pass_failed(start.elapsed());
            Err(error)
        }
    }
}

fn retry(watched: Arc<Watched>, error: &reconcile::Error, shared: Arc<Shared>) -> Action {
    let wait = reconcile::retry_after(&watched, &shared.reconcile);
    tracing::warn!(
        %error,
        "the pass failed and is repeated in {:.1} s",
        wait.as_secs_f64()
    );
    Action::requeue(wait)
}

/// Forgets the failures of a Task that was to be repeated and is no longer there: one that was deleted during a pass, or
/// while the watch was interrupted.
fn forget_if_gone<T, E, Q>(shared: &Shared, ended: Result<T, controller::Error<E, Q>>) {
    if let Err(controller::Error::ObjectNotFound(gone)) = ended {
        let mut key = ObjectRef::new(&gone.name);
        key.namespace = gone.namespace;
        shared.reconcile.retries.forget(&key);
    }
}

/// The objects that something happened to, as the controller takes them.
fn changed<K>(
    events: impl Stream<Item = Event<K>> + Send,
) -> impl Stream<Item = Result<K, watcher::Error>> + Send {
    events.map(Ok).touched_objects()
}

async fn tell_when_ready(shared: Arc<Shared>, readiness: Readiness, stop: watch::Receiver<bool>) {
    shared.reconcile.caches.synced().await;
    tracing::info!("the caches are synced");
    readiness.set(true);
    stopped(stop).await;
    readiness.set(false);
}

/// Returns once stop is asked for before the caches are synced.
///
/// Passes in flight, of which none has begun anything by then, wait for the caches; and those are no longer filled, since
/// the watches end with the stop.
async fn stopped_before_any_pass(shared: &Shared, stop: watch::Receiver<bool>) {
    stopped(stop).await;
    if shared.reconcile.caches.synced().now_or_never().is_some() {
        std::future::pending().await
    }
}

async fn client() -> Result<Client, Error> {
    let mut config = Config::infer().await.map_err(Error::Config)?;
    // So that an administrator finds the controller's requests in the audit log.
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(AGENT)));
    Client::try_from(config).map_err(Error::Client)
}

fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

/// Listens before it returns, so that an address that is taken ends the process; then serves in the background.
async fn serve(what: &'static str, address: SocketAddr, router: Router) -> Result<(), Error> {
    let listen_error = |source| Error::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(listen_error)?;
    let address = listener.local_addr().map_err(listen_error)?;
    tracing::info!(%address, "serving {what}");
    tokio::spawn(async move {
        if let Err(error) = axum::serve(listener, router).await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "stopped serving {what}"
            );
        }
    });
    Ok(())
}

/// Turns to `true` at SIGTERM or SIGINT.
fn stop_signal() -> Result<watch::Receiver<bool>, Error> {
    let mut terminate = signal(SignalKind::terminate()).map_err(Error::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(Error::Signals)?;
    let (sender, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::info!("stopping: passes in flight finish");
        sender.send_replace(true);
        sender.closed().await;
    });
    Ok(receiver)
}

async fn stopped(mut stop: watch::Receiver<bool>) {
    // An error says that nobody is left who could say stop, which happens only at the end.
    let _ = stop.wait_for(|stop| *stop).await;
}
