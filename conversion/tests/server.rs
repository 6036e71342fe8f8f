//! The server, over TLS.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::routing::get;
use http_body_util::BodyExt;
use hyper::client::conn::http1;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use task_conversion::server::{State, load_tls, router, serve};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

const MAX_BODY: usize = 16 * 1024 * 1024;

struct Server {
    address: SocketAddr,
    client: TlsConnector,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

fn certificate() -> (TempDir, rcgen::CertifiedKey<rcgen::KeyPair>) {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    fs::write(folder.path().join("tls.crt"), made.cert.pem()).unwrap();
    fs::write(
        folder.path().join("tls.key"),
        made.signing_key.serialize_pem(),
    )
    .unwrap();
    (folder, made)
}

async fn start() -> Server {
    start_with(router(Arc::new(State::new(MAX_BODY)))).await
}

async fn start_with(router: Router) -> Server {
    let (folder, made) = certificate();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let client =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let tls = load_tls(folder.path()).unwrap();
    let served = tokio::spawn(async move {
        serve(listener, tls, router, async {
            let _ = stopped.await;
        })
        .await;
    });
    Server {
        address,
        client: TlsConnector::from(Arc::new(client)),
        stop,
        served,
    }
}

impl Server {
    async fn connect(&self) -> http1::SendRequest<Body> {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let stream = self
            .client
            .connect(ServerName::try_from("localhost").unwrap(), stream)
            .await
            .unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    async fn send(&self, request: Request<Body>) -> (StatusCode, String) {
        let response = self.connect().await.send_request(request).await.unwrap();
        let status = response.status();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn get(&self, path: &str) -> (StatusCode, String) {
        self.send(
            Request::get(path)
                .header(header::HOST, "localhost")
                .body(Body::empty())
                .unwrap(),
        )
        .await
    }

    async fn convert(&self, body: String) -> Value {
        let (status, body) = self.send(post(body)).await;
        assert_eq!(status, StatusCode::OK);
        serde_json::from_str(&body).unwrap()
    }
}

fn post(body: impl Into<Body>) -> Request<Body> {
    Request::post("/convert")
        .header(header::HOST, "localhost")
        .body(body.into())
        .unwrap()
}

fn review(objects: Value) -> String {
    json!({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
        "request": {"uid": "u", "desiredAPIVersion": "task.example.io/v1alpha1", "objects": objects},
        "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}}})
    .to_string()
}

#[tokio::test]
async fn each_path_answers_and_no_other() {
    let server = start().await;
    assert_eq!(
        server.get("/healthz").await,
        (StatusCode::OK, "ok\n".to_owned())
    );
    assert_eq!(
        server.get("/readyz").await,
        (StatusCode::OK, "ok\n".to_owned())
    );
    assert_eq!(server.get("/elsewhere").await.0, StatusCode::NOT_FOUND);
    assert_eq!(
        server.get("/convert").await.0,
        StatusCode::METHOD_NOT_ALLOWED
    );
}

#[tokio::test]
async fn what_was_converted_is_counted() {
    let server = start().await;
    let task = json!({"apiVersion": "task.example.io/v1", "kind": "Task", "spec": {"operation": {"provider": "p", "completion": "Queue"}}});
    assert_eq!(
        server.convert(review(json!([task]))).await["response"]["result"]["status"],
        "Success"
    );
    let metrics = server.get("/metrics").await.1;
    for line in [
        r#"task_conversion_requests_total{endpoint="convert",result="success"} 1"#,
        r#"task_conversion_objects_total{from="v1",to="v1alpha1"} 1"#,
        r#"task_conversion_rests_total{event="written"} 1"#,
        "task_conversion_inflight_bytes 0",
    ] {
        assert!(metrics.contains(line), "no {line} in {metrics}");
    }
}

#[tokio::test]
async fn a_list_of_three_thousand_objects_of_ten_megabytes_is_served() {
    let server = start().await;
    let task = |index: usize| {
        json!({"apiVersion": "task.example.io/v1", "kind": "Task",
            "metadata": {"name": format!("t{index}"), "annotations": {"note": "x".repeat(3300)}}, "spec": {"replicas": 1}})
    };
    let body = review((0..3000).map(task).collect());
    assert!(body.len() > 10_000_000);
    let answer = server.convert(body).await;
    let objects = answer["response"]["convertedObjects"].as_array().unwrap();
    assert_eq!(objects.len(), 3000);
    assert_eq!(objects[2999]["metadata"]["name"], "t2999");
}

#[tokio::test]
async fn whatever_is_no_review_is_a_failure_with_status_200() {
    let server = start().await;
    for body in ["", "no json", "[]", "{\"kind\":"] {
        assert_eq!(
            server.convert(body.to_owned()).await["response"]["result"]["status"],
            "Failure",
            "{body}"
        );
    }
}

#[tokio::test]
async fn no_objects_and_one_without_metadata_are_converted() {
    let server = start().await;
    assert_eq!(
        server.convert(review(json!([]))).await["response"]["convertedObjects"],
        json!([])
    );
    let answer = server
        .convert(review(
            json!([{"apiVersion": "task.example.io/v1", "kind": "Task"}]),
        ))
        .await;
    assert_eq!(
        answer["response"]["convertedObjects"],
        json!([{"apiVersion": "task.example.io/v1alpha1", "kind": "Task", "metadata": {}}])
    );
}

#[tokio::test]
async fn a_body_that_is_too_large_or_compressed_is_refused() {
    let server = start().await;
    assert_eq!(
        server.send(post(vec![b' '; MAX_BODY + 1])).await.0,
        StatusCode::PAYLOAD_TOO_LARGE
    );
    let mut compressed = post("x");
    compressed
        .headers_mut()
        .insert(header::CONTENT_ENCODING, "gzip".parse().unwrap());
    assert_eq!(
        server.send(compressed).await.0,
        StatusCode::UNSUPPORTED_MEDIA_TYPE
    );
}

#[tokio::test]
async fn a_request_in_flight_is_answered_before_the_server_stops() {
    let (arrived, has_arrived) = mpsc::channel(1);
    let release = Arc::new(Notify::new());
    let slow = {
        let release = Arc::clone(&release);
        move || async move {
            arrived.send(()).await.unwrap();
            release.notified().await;
            "done"
        }
    };
    let server = start_with(Router::new().route("/slow", get(slow))).await;
    let mut has_arrived = has_arrived;
    let mut sender = server.connect().await;
    let request = Request::get("/slow")
        .header(header::HOST, "localhost")
        .body(Body::empty())
        .unwrap();
    let answer = tokio::spawn(sender.send_request(request));
    has_arrived.recv().await.unwrap();
    server.stop.send(()).unwrap();
    release.notify_one();
    assert_eq!(answer.await.unwrap().unwrap().status(), StatusCode::OK);
    server.served.await.unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[test]
fn a_certificate_that_cannot_be_served_is_told_by_its_file() {
    let (folder, _) = certificate();
    let (other, _) = certificate();
    fs::copy(other.path().join("tls.key"), folder.path().join("tls.key")).unwrap();
    assert!(
        load_tls(folder.path())
            .unwrap_err()
            .to_string()
            .contains("the certificate and the key in")
    );
    fs::write(folder.path().join("tls.crt"), "").unwrap();
    assert!(
        load_tls(folder.path())
            .unwrap_err()
            .to_string()
            .contains("tls.crt")
    );
    fs::remove_file(folder.path().join("tls.key")).unwrap();
    fs::remove_file(folder.path().join("tls.crt")).unwrap();
    assert!(
        load_tls(folder.path())
            .unwrap_err()
            .to_string()
            .contains("tls.crt")
    );
}
