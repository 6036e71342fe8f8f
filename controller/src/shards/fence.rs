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
