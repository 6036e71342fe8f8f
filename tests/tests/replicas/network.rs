//! The network between one replica and the API server, and what can go wrong in it.
//!
//! It is an HTTP server without TLS that passes requests on as an administrator, so that it can answer by itself, and hold back what it has
//! received: a request that is held back arrives afterwards, also if its sender has given it up long since.

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use control_plane::Port;
use futures::StreamExt;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, TRANSFER_ENCODING};
use http::{HeaderMap, StatusCode};
use kube::Client;
use tokio::net::TcpListener;
use tokio::sync::{oneshot, watch};

/// How things go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// Everything arrives.
    Fair,
    /// Nothing arrives, in either direction, and nobody is told.
    Stalled,
    /// Every request is answered by this status; watches that are under way go on.
    Failing(StatusCode),
}

/// The network of one replica.
pub struct Network {
    port: Port,
    weather: watch::Sender<Weather>,
}

impl Network {
    /// A network in front of the API server of `client`, which should try nothing twice. It works until the runtime ends.
    pub async fn start(client: Client) -> Self {
        let port = Port::claim().unwrap();
        let listener = TcpListener::bind(port.address()).await.unwrap();
        let (weather, told) = watch::channel(Weather::Fair);
        let route = Route {
            client,
            weather: told,
        };
        let router = Router::new().fallback(pass).with_state(route);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { port, weather }
    }

    /// Where the API server seems to be.
    pub fn url(&self) -> String {
        format!("http://{}", self.port.address())
    }

    /// Changes how things go.
    pub fn turn(&self, weather: Weather) {
        self.weather.send_replace(weather);
    }
}

#[derive(Clone)]
struct Route {
    client: Client,
    weather: watch::Receiver<Weather>,
}

async fn pass(State(route): State<Route>, request: Request) -> Response {
    let (answer, answered) = oneshot::channel();
    // On its own, for it goes on when whoever asked is gone.
    tokio::spawn(async move {
        // Nobody may be there any more to take the answer.
        let _ = answer.send(route.pass(request).await);
    });
    answered
        .await
        .unwrap_or_else(|_| StatusCode::BAD_GATEWAY.into_response())
}

impl Route {
    async fn pass(self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let Ok(body) = to_bytes(body, usize::MAX).await else {
            return StatusCode::BAD_REQUEST.into_response();
        };
        match still(self.weather.clone()).await {
            Weather::Failing(status) => status.into_response(),
            _ => self.forward(parts, body).await,
        }
    }

    async fn forward(self, mut parts: http::request::Parts, body: Bytes) -> Response {
        strip(&mut parts.headers);
        let request = http::Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
        let Ok(response) = self.client.send(request).await else {
            return StatusCode::BAD_GATEWAY.into_response();
        };
        let (mut parts, body) = response.into_parts();
        strip(&mut parts.headers);
        let chunks = Body::new(body).into_data_stream().then(move |chunk| {
            let weather = self.weather.clone();
            async move {
                still(weather).await;
                chunk
            }
        });
        Response::from_parts(parts, Body::from_stream(chunks))
    }
}

/// Waits while everything is stalled.
async fn still(mut weather: watch::Receiver<Weather>) -> Weather {
    let now = weather.wait_for(|now| *now != Weather::Stalled).await;
    now.map_or(Weather::Fair, |now| *now)
}

/// Takes away what is about the one connection.
fn strip(headers: &mut HeaderMap) {
    for name in [HOST, CONNECTION, CONTENT_LENGTH, TRANSFER_ENCODING] {
        headers.remove(name);
    }
}
