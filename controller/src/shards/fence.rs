//! The client of a shard: it writes only while this replica owns the shard.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use axum::http::{Method, Request, Response, Uri, uri::PathAndQuery};
use kube::{Client, client::Body};
use tower::{BoxError, Service};

use super::{
    clock::Moment,
    ownership::{Shard, Unanswered},
};

/// Why a write was not sent, or its answer not waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this replica does not own the Task's shard any more")]
pub struct NotOwned;

/// A client like `client` that asks before each write whether this replica owns `shard`.
///
/// A write that is under way when the shard is lost is not waited for; its error is [`NotOwned`]. The API server is told to give it up
/// before another replica may begin. What remains is a write that only reaches the API server after that, held up by
/// the network: against that each write must name the version that it is meant for.
///
/// Reads are let through.
pub fn fenced(client: Client, shard: Arc<Shard>) -> Client {
    let namespace = client.default_namespace().to_owned();
    Client::new(Fence { client, shard }, namespace)
}

struct Fence {
    client: Client,
    shard: Arc<Shard>,
}

type Answer = Result<Response<Body>, BoxError>;

impl Service<Request<Body>> for Fence {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        // The client has a queue of its own.
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let client = self.client.clone();
        if matches!(*request.method(), Method::GET | Method::HEAD) {
            return Box::pin(async move { Ok(client.send(request).await?) });
        }
        Box::pin(write(client, Arc::clone(&self.shard), request))
    }
}

async fn write(client: Client, shard: Arc<Shard>, mut request: Request<Body>) -> Answer {
    let unanswered = shard.begin_write().ok_or(NotOwned)?;
    limit(&mut request, &unanswered);
    tokio::select! {
        biased;
        () = shard.lost() => Err(NotOwned.into()),
        answer = client.send(request) => {
            // An error says nothing of what the API server does.
            let answer = answer?;
            unanswered.answered();
            Ok(answer)
        }
    }
}

/// Has the API server give the request up when another replica may begin. It counts from when it receives it.
fn limit(request: &mut Request<Body>, unanswered: &Unanswered) {
    let left = unanswered.until().since(Moment::now());
    let uri = request.uri();
    let separator = if uri.query().is_some() { '&' } else { '?' };
    let limited = format!("{uri}{separator}timeout={}ms", left.as_millis());
    let limited = limited
        .parse::<Uri>()
        .or_else(|_| limited.parse::<PathAndQuery>().map(Uri::from));
    if let Ok(limited) = limited {
        *request.uri_mut() = limited;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{Api, Error, api::PostParams};

    use super::{super::lease::ENDED, *};

    /// The requests that reached the API server.
    type Log = Arc<Mutex<Vec<String>>>;

    /// A client of an API server that answers after `answered`, or never; behind the fence of `shard`.
    fn client(
        shard: &Arc<Shard>,
        answer: impl Fn() -> Option<u16> + Send + 'static,
    ) -> (Api<ConfigMap>, Log) {
        let log = Log::default();
        let written = Arc::clone(&log);
        let service = tower::service_fn(move |request: Request<Body>| {
            let line = format!("{} {}", request.method(), request.uri());
            written.lock().unwrap().push(line);
            let code = answer();
            async move {
                let Some(code) = code else {
                    return std::future::pending().await;
                };
                let body = Body::from(br#"{"metadata":{"name":"a"}}"#.to_vec());
                Response::builder().status(code).body(body)
            }
        });
        let client = fenced(Client::new(service, "default"), Arc::clone(shard));
        (Api::default_namespaced(client), log)
    }

    fn owned() -> Arc<Shard> {
        let shard = Arc::new(Shard::default());
        shard.set(Some(Moment::now()), false);
        shard
    }

    fn is_not_owned(error: &Error) -> bool {
        let mut source: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = source {
            if error.is::<NotOwned>() {
                return true;
            }
            source = error.source();
        }
        false
    }

    async fn write(api: &Api<ConfigMap>) -> kube::Result<ConfigMap> {
        api.create(&PostParams::default(), &ConfigMap::default())
            .await
    }

    #[tokio::test]
    async fn of_a_shard_that_is_not_owned_only_reads_reach_the_api_server() {
        let (api, log) = client(&Arc::new(Shard::default()), || Some(200));
        api.get("a").await.unwrap();
        assert!(is_not_owned(&write(&api).await.unwrap_err()));
        let log = log.lock().unwrap();
        assert_eq!(*log, ["GET /api/v1/namespaces/default/configmaps/a"]);
    }

    #[tokio::test]
    async fn a_write_tells_the_api_server_when_to_give_it_up() {
        let (api, log) = client(&owned(), || Some(201));
        write(&api).await.unwrap();
        let log = log.lock().unwrap();
        let (_, limit) = log[0].rsplit_once("timeout=").unwrap();
        let limit: u128 = limit.strip_suffix("ms").unwrap().parse().unwrap();
        assert!(
            limit <= ENDED.as_millis() && limit > ENDED.as_millis() - 5000,
            "{}",
            log[0]
        );
    }

    #[test]
    fn the_limit_is_added_to_whatever_the_request_asks_for() {
        let shard = owned();
        for (uri, prefix) in [
            ("/api", "/api?timeout="),
            ("/api?", "/api?&timeout="),
            ("/api?force=true", "/api?force=true&timeout="),
            (
                "https://host:6443/api?a=b",
                "https://host:6443/api?a=b&timeout=",
            ),
        ] {
            let mut request = Request::post(uri).body(Body::empty()).unwrap();
            limit(&mut request, &shard.begin_write().unwrap());
            let limited = request.uri().to_string();
            assert!(limited.starts_with(prefix), "{limited}");
        }
    }

    #[tokio::test]
    async fn a_write_that_is_under_way_when_the_shard_is_lost_is_not_waited_for() {
        let shard = owned();
        let (api, log) = client(&shard, || None);
        let lose = async {
            while log.lock().unwrap().is_empty() {
                tokio::task::yield_now().await;
            }
            shard.set(None, false);
        };
        let (written, ()) = tokio::join!(write(&api), lose);
        assert!(is_not_owned(&written.unwrap_err()));
        assert!(!shard.close(Moment::now()) && shard.close(Moment::now().after(ENDED)));
    }

    #[tokio::test]
    async fn what_was_answered_is_over_and_what_failed_on_the_way_may_not_be() {
        let shard = owned();
        let (api, _) = client(&shard, || Some(409));
        write(&api).await.unwrap_err();
        assert!(shard.close(Moment::now()));

        let shard = owned();
        let failing = tower::service_fn(|_: Request<Body>| async {
            Err::<Response<Body>, _>(std::io::Error::other("reset"))
        });
        let client = fenced(Client::new(failing, "default"), Arc::clone(&shard));
        write(&Api::default_namespaced(client)).await.unwrap_err();
        assert!(!shard.close(Moment::now()));
    }
}
