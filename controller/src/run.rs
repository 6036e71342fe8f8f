//! The wiring of the process, from the top to the bottom.

use std::{collections::BTreeSet, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::{
    Router,
    http::{HeaderValue, header::USER_AGENT},
};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};
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
        Controller, WatchStreamExt, controller,
        reflector::{ObjectRef, Store},
        watcher::{self, Event},
    },
};
use operation_signals::nats::BadUrl;
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
};

use crate::{
    args::Args,
    cache, certificates, events,
    health::{self, Readiness},
    metrics::{self, Metrics, Passes, Requests},
    operations::{
        driver::Operations,
        providers::registry::{self, Registry},
        signals::{
            Ways,
            callbacks::{receive, serve},
            inbox::Inbox,
            queue::{
                consume::{Reader, consume},
                directory::Directory,
                jetstream::JetStream,
            },
        },
    },
    pass::{self, Shared},
    reconcile::{
        Context,
        build::labels,
        observe::{self, Caches},
        rest::Rests,
    },
    retry::Retries,
    roster::{self, Named, Roster, by_name},
    shards::{self, Shards},
    stop::{self, stopped, stopped_for},
    stored::Stored,
    triggers,
    watched::Watched,
};

/// How the controller names itself to the API server; which replica it is follows in parentheses.
const AGENT: &str = concat!("task-controller/", env!("CARGO_PKG_VERSION"));

/// How long passes, calls to providers and Leases may take to end. It takes that long only if the API server does not answer.
const LAST_PASSES: Duration = Duration::from_secs(22);

/// How long the Events that are not published yet may take when the controller stops.
const LAST_EVENTS: Duration = Duration::from_secs(5);

/// Why the controller could not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The options do not go together.
    #[error(transparent)]
    Certificates(#[from] certificates::TooShort),
    /// The file of providers cannot be used.
    #[error(transparent)]
    Providers(#[from] registry::Error),
    /// No connection to an API server is configured.
    #[error("cannot find out how to reach the API server")]
    Config(#[source] kube::config::InferConfigError),
    /// There can be no server for callbacks.
    #[error(transparent)]
    Callbacks(#[from] serve::Error),
    /// It is not said where the queue is.
    #[error("cannot use --nats-url")]
    Queue(#[from] BadUrl),
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

/// Runs the controller until SIGTERM or SIGINT; then passes in flight finish, the Leases are given up, and it returns, before a kubelet
/// would kill it after 30 s. A second signal ends the process at once.
///
/// # Errors
/// When it cannot start. Once it runs nothing makes it return: trouble with the API server is logged and
/// tried again.
pub async fn run(args: Args) -> Result<(), Error> {
    args.certificates.check()?;
    let stop = stop::signal().map_err(Error::Signals)?;
    let metrics = Arc::new(Metrics::new(args.metrics_per_task));
    let identity = args.replicas.identity();
    let client = client(identity.name(), metrics.requests()).await?;
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
        api::<Stored<ConfigMap>>(&client, namespace),
        managed.clone(),
        |_| {},
    );
    let (services, service_events) = cache::watch(
        api::<Stored<Service>>(&client, namespace),
        managed.clone(),
        |_| {},
    );
    let (deployments, deployment_events) = cache::watch(
        api::<Stored<Deployment>>(&client, namespace),
        managed,
        |_| {},
    );
    let mut roster = Roster::default();
    let store = roster.store();
    let providers = providers(&args, &metrics)?;
    let (events, notes) = events::channel();
    let (passes_ended, end) = oneshot::channel::<()>();
    let published = tokio::spawn(notes.publish(client.clone(), end.map(drop)));
    let (replica, gained) = shards::Replica::new(identity.clone(), args.replicas.shards);
    let shards = replica.shards();
    let caches = Caches {
        tasks,
        config_maps,
        services,
        deployments,
    };
    let providers_changed = changes(providers.changes());
    let callbacks = match args.callbacks.cert_dir() {
        Some(folder) => Some(serve::Server::bind(args.callbacks.callback_bind, folder).await?),
        None => None,
    };
    let servers = args.queue.servers()?;
    let ways = Ways {
        callback_url: args.callbacks.url().map(str::to_owned),
        queue: servers.is_some(),
    };
    let (operations, mut woken) = Operations::new(
        shards.clone(),
        Arc::clone(&caches.tasks),
        providers,
        args.work_queue,
        events.clone(),
        metrics.operations(),
        ways,
    );
    let inbox = Arc::new(Inbox::new(
        Arc::clone(&operations),
        client.clone(),
        metrics.operations(),
        namespace,
    ));
    let callbacks = callbacks.map(|server| {
        let router = receive::router(Arc::clone(&inbox));
        tokio::spawn(server.run(router, stop.clone()))
    });
    let directory = Arc::new(Directory::default());
    let queue = servers.map(|servers| {
        let broker = JetStream {
            servers,
            name: format!("{AGENT} ({})", identity.name()),
            max_age: args.queue.nats_max_age,
            ack_wait: args.queue.nats_ack_wait,
        };
        let reader = Reader {
            inbox,
            directory: Arc::clone(&directory),
            max_deliveries: args.queue.nats_max_deliveries,
            metrics: metrics.operations(),
        };
        tokio::spawn(consume(broker, reader, stop.clone()))
    });
    let context = |shard| Context {
        client: shards::fenced(client.clone(), Arc::clone(shards.get(shard))),
        caches: caches.clone(),
        retries: Retries::default(),
        events: events.clone(),
        operations: Arc::clone(&operations),
        rests: Rests::default(),
        metrics: Arc::clone(&metrics),
    };
    let shared = Arc::new(Shared {
        contexts: (0..shards.count()).map(context).collect(),
        shards: shards.clone(),
        caches: caches.clone(),
        metrics: Arc::clone(&metrics),
    });

    tokio::spawn(tell_when_ready(
        caches.clone(),
        readiness.clone(),
        stop.clone(),
    ));
    let gone = Arc::clone(&shared);
    let hears_of_operations = queue.is_some();
    let task_events = task_events.inspect(move |event| {
        if hears_of_operations {
            directory.heard(event);
        }
        for task in roster.heard(event) {
            gone.forget(&task);
        }
    });
    let tasks_in = {
        let (store, shards) = (store.clone(), shards.clone());
        move |some: &BTreeSet<u32>| {
            let tasks = some.iter().map(|&shard| tasks_of(&store, &shards, shard));
            tasks.map(|tasks| tasks.len()).sum()
        }
    };
    let elector = tokio::spawn(replica.run(
        client,
        args.replicas.clone(),
        metrics.shards(),
        tasks_in,
        stop.clone(),
    ));
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        namespace = namespace.unwrap_or("all"),
        replica = identity.name(),
        "started"
    );
    let task_events = changed(task_events)
        .predicate_filter(triggers::what_a_pass_depends_on, Default::default())
        .map_ok(|task| Named::from(&task));
    let numbers = metrics.passes().clone();
    let gained = {
        let (store, numbers) = (store.clone(), numbers.clone());
        let tasks = gained.flat_map(move |shard| stream::iter(tasks_of(&store, &shards, shard)));
        tasks.inspect(move |task| numbers.wanted(task)).map(by_name)
    };
    let passes = Controller::for_stream(
        counted(task_events, numbers.clone(), |task| Some(task.task())),
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
    .reconcile_on(gained)
    .reconcile_on(stream::poll_fn(move |context| woken.poll_recv(context)).map(by_name))
    .reconcile_all_on(providers_changed)
    .with_config(controller::Config::default().concurrency(args.concurrency))
    .graceful_shutdown_on(stopped(stop.clone()))
    .run(pass::pass, pass::retry, Arc::clone(&shared))
    .for_each(|ended| {
        pass::forget_if_gone(&shared, ended);
        std::future::ready(())
    });
    let work = async {
        tokio::select! {
            () = passes => {}
            () = stopped_before_any_pass(&caches, stop.clone()) => {}
        }
        operations.queue.drain().await;
        for signals in [callbacks, queue].into_iter().flatten() {
            // An error says that it panicked: what was not answered for comes again.
            let _ = signals.await;
        }
        // An error says that it panicked: nothing is given up then, and all lapses.
        let _ = elector.await;
    };
    tokio::select! {
        () = work => {}
        () = stopped_for(LAST_PASSES, stop.clone()) => {
            tracing::warn!("something was still under way, and is broken off");
        }
    }
    drop(passes_ended);
    // Nobody is kept waiting for the last Events by an API server that does not answer.
    let _ = tokio::time::timeout(LAST_EVENTS, published).await;
    tracing::info!("stopped");
    Ok(())
}

/// The Tasks of a shard.
fn tasks_of(store: &Store<Named>, shards: &Shards, shard: u32) -> Vec<ObjectRef<Watched>> {
    let mut tasks = roster::tasks(store);
    tasks.retain(|task| shards.of(task) == shard);
    tasks
}

/// The providers, as the file has them from now on.
fn providers(args: &Args, metrics: &Metrics) -> Result<Registry, Error> {
    let Some(path) = args.providers() else {
        return Ok(Registry::default());
    };
    let registry = Registry::load(path)?;
    let metrics = metrics.operations();
    let follow = registry.clone().follow(path.to_owned(), move |error| {
        metrics.file_is_bad(error.is_some());
    });
    tokio::spawn(follow);
    Ok(registry)
}

/// Tells each time that what is watched has changed.
fn changes<T: Send + Sync>(watched: watch::Receiver<T>) -> impl Stream<Item = ()> + Send {
    stream::unfold(watched, |mut watched| async {
        watched.changed().await.ok()?;
        Some(((), watched))
    })
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
            passes.wanted(&task);
        }
    })
}

async fn tell_when_ready(caches: Caches, readiness: Readiness, stop: watch::Receiver<bool>) {
    caches.synced().await;
    tracing::info!("the caches are synced");
    readiness.set(true);
    stopped(stop).await;
    readiness.set(false);
}

/// Returns once stop is asked for before the caches are synced.
///
/// Passes in flight, of which none has begun anything by then, wait for the caches; and those are no longer filled, since
/// the watches end with the stop.
async fn stopped_before_any_pass(caches: &Caches, stop: watch::Receiver<bool>) {
    stopped(stop).await;
    if caches.synced().now_or_never().is_some() {
        std::future::pending().await
    }
}

async fn client(identity: &str, requests: &Requests) -> Result<Client, Error> {
    let mut config = Config::infer().await.map_err(Error::Config)?;
    // So that an administrator finds the controller's requests in the audit log.
    let agent = HeaderValue::try_from(format!("{AGENT} ({identity})"));
    let agent = agent.unwrap_or(HeaderValue::from_static(AGENT));
    config.headers.push((USER_AGENT, agent));
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
