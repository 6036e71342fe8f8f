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
use futures::{FutureExt, Stream, StreamExt, TryStreamExt};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        apps::v1::Deployment,
        core::v1::{ConfigMap, Service},
    },
};
use kube::{
    Api, Client, Config, Resource,
    client::ClientBuilder,
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
    sync::{oneshot, watch},
};

use crate::{
    args::Args,
    cache, certificates, events,
    health::{self, Readiness},
    metrics::{self, Metrics, Passes, Requests},
    reconcile::{
        self, Context,
        build::labels,
        observe::{self, Caches},
    },
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
    let metrics = Arc::new(Metrics::new(args.metrics_per_task));
    let client = client(metrics.requests()).await?;
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
    let (passes_ended, end) = oneshot::channel::<()>();
    let published = tokio::spawn(notes.publish(client.clone(), end.map(drop)));
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
            deleted.forget(&task.into());
        }
    });
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        namespace = namespace.unwrap_or("all"),
        "started"
    );
    let task_events =
        changed(task_events).predicate_filter(triggers::what_a_pass_depends_on, Default::default());
    let numbers = context.metrics.passes().clone();
    let passes = Controller::for_stream(
        counted(task_events, numbers.clone(), |task| {
            Some(ObjectRef::from_obj(task))
        }),
        store,
    )
    .owns_stream(counted(
        changed(config_map_events),
        numbers.clone(),
        observe::task_of,
    ))
    .owns_stream(counted(
        changed(service_events),
        numbers.clone(),
        observe::task_of,
    ))
    .owns_stream(counted(
        changed(deployment_events),
        numbers.clone(),
        observe::task_of,
    ))
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
    drop(passes_ended);
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

impl Shared {
    /// Forgets what is kept of a Task that is gone.
    fn forget(&self, task: &ObjectRef<Watched>) {
        self.reconcile.retries.forget(task);
        self.metrics.passes().forget(task);
    }
}

/// One pass, with what is seen of it from outside. The span that `kube` opens around it names the Task.
async fn pass(watched: Arc<Watched>, shared: Arc<Shared>) -> Result<Action, reconcile::Error> {
    if let Watched(Err(undecodable)) = &*watched {
        shared.metrics.undecodable();
        tracing::error!(error = %undecodable, "skipped a Task that cannot be decoded");
    }
    // A child that is merely not listed yet must not be taken for one that is missing.
    shared.reconcile.caches.synced().await;
    let key = ObjectRef::from_obj(&*watched);
    let passes = shared.metrics.passes();
    passes.begun(&key);
    let start = Instant::now();
    let ended = reconcile::reconcile(&watched, &shared.reconcile).await;
    match &ended {
        Ok(outcome) if outcome.phase.is_some() => {
            passes.ended(&key, outcome.phase, start.elapsed());
        }
        // There was nothing to be said of it.
        Ok(_) => {}
        Err(_) => passes.ended(&key, None, start.elapsed()),
    }
    if shared.reconcile.caches.tasks.get(&key).is_none() {
        // It went during the pass, so the numbers of that are too late.
        passes.forget(&key);
    }
    ended.map(|outcome| outcome.action)
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

/// Forgets a Task that was to have a pass and is no longer there: one that was deleted during a pass, or
/// while the watch was interrupted.
fn forget_if_gone<T, E, Q>(shared: &Shared, ended: Result<T, controller::Error<E, Q>>) {
    if let Err(controller::Error::ObjectNotFound(gone)) = ended {
        let mut key = ObjectRef::new(&gone.name);
        key.namespace = gone.namespace;
        shared.metrics.passes().begun(&key);
        shared.forget(&key);
    }
}

/// The objects that something happened to, as the controller takes them.
fn changed<K>(
    events: impl Stream<Item = Event<K>> + Send,
) -> impl Stream<Item = Result<K, watcher::Error>> + Send {
    events.map(Ok).touched_objects()
}

/// Counts the Tasks that wait for a pass for what happened to these objects.
fn counted<K>(
    changed: impl Stream<Item = Result<K, watcher::Error>> + Send,
    passes: Passes,
    task: impl Fn(&K) -> Option<ObjectRef<Watched>> + Send,
) -> impl Stream<Item = Result<K, watcher::Error>> + Send {
    changed.inspect_ok(move |object| {
        if let Some(task) = task(object) {
            passes.wanted(task);
        }
    })
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

async fn client(requests: &Requests) -> Result<Client, Error> {
    let mut config = Config::infer().await.map_err(Error::Config)?;
    // So that an administrator finds the controller's requests in the audit log.
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(AGENT)));
    let client = ClientBuilder::try_from(config).map_err(Error::Client)?;
    Ok(client.with_layer(requests).build())
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
