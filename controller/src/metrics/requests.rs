//! The numbers of the requests to the API server.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use axum::http::{Request, Response};
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family},
    registry::Registry,
};
use tower::{Layer, Service};

/// The result of a request to which there was no answer.
const NO_ANSWER: &str = "none";

/// What is counted of requests, as a layer of the client. A clone counts the same.
#[derive(Clone)]
pub struct Requests(Family<Labels, Counter>);

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    verb: &'static str,
    result: String,
}

impl Requests {
    /// Those in this registry.
    pub fn registered(registry: &mut Registry) -> Self {
        let total = Family::default();
        registry.register(
            "task_api_requests",
            "Requests to the API server, by verb, and by the status of the answer or none where there was no answer",
            total.clone(),
        );
        Self(total)
    }

    fn answered(&self, verb: &'static str, result: String) {
        self.0.get_or_create(&Labels { verb, result }).inc();
    }
}

impl<S> Layer<S> for Requests {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Self::Service {
        Counted {
            inner,
            requests: self.clone(),
        }
    }
}

/// A client whose requests are counted when they are answered.
#[derive(Clone)]
pub struct Counted<S> {
    inner: S,
    requests: Requests,
}

impl<S, B, A> Service<Request<B>> for Counted<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let verb = verb(&request);
        let requests = self.requests.clone();
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            let result = answer.as_ref().map_or(NO_ANSWER.to_owned(), |answer| {
                answer.status().as_str().to_owned()
            });
            requests.answered(verb, result);
            answer
        })
    }
}

/// What `kube` calls the request, without the part of the object that it is about.
fn verb<B>(request: &Request<B>) -> &'static str {
    let name = request.extensions().get::<&'static str>();
    let name = name.copied().unwrap_or("other");
    name.split_once('_').map_or(name, |(verb, _)| verb)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{
        Api, Client,
        api::{Patch, PatchParams},
        client::Body,
    };
    use prometheus_client::encoding::text::encode;
    use serde_json::json;
    use tower::BoxError;

    use super::*;

    #[tokio::test]
    async fn requests_are_counted_by_verb_and_result() {
        let mut registry = Registry::default();
        let requests = Requests::registered(&mut registry);
        let server = tower::service_fn(|request: Request<Body>| async move {
            if request.method() == "GET" {
                return Err(BoxError::from("no answer"));
            }
            Ok(Response::builder().status(409).body(Body::empty()).unwrap())
        });
        let client = Client::new(requests.layer(server), "default");
        let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
        let patch = Patch::Merge(json!({}));
        let params = PatchParams::default();
        config_maps.get("x").await.unwrap_err();
        config_maps.patch("x", &params, &patch).await.unwrap_err();
        config_maps
            .patch_status("x", &params, &patch)
            .await
            .unwrap_err();
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            r#"task_api_requests_total{verb="patch",result="409"} 2"#,
            r#"task_api_requests_total{verb="get",result="none"} 1"#,
        ] {
            assert!(text.lines().any(|found| found == line), "{line} in\n{text}");
        }
    }
}
