//! The server, over TLS.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::body::Body;
use http_body_util::BodyExt;
use hyper::client::conn::{http1, http2};
use hyper::{Request, StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use task_conversion::server::{State, load_tls, router, serve};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

const MAX_BODY: usize = 16 * 1024 * 1024;

struct Server {
    address: SocketAddr,
    client: ClientConfig,
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
        let router = router(Arc::new(State::new(MAX_BODY)));
        serve(listener, tls, router, async {
            let _ = stopped.await;
        })
        .await;
    });
    Server {
        address,
        client,
        stop,
        served,
    }
}

impl Server {
    async fn handshake(&self, protocol: &str) -> TlsStream<TcpStream> {
        let mut client = self.client.clone();
        client.alpn_protocols = vec![protocol.into()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        TlsConnector::from(Arc::new(client))
            .connect(ServerName::try_from("localhost").unwrap(), stream)
            .await
            .unwrap()
    }

    async fn connect(&self) -> http1::SendRequest<Body> {
        let stream = TokioIo::new(self.handshake("http/1.1").await);
        let (sender, connection) = http1::handshake(stream).await.unwrap();
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
    let ok = (StatusCode::OK, "ok\n".to_owned());
    assert_eq!(server.get("/healthz").await, ok);
    assert_eq!(server.get("/readyz").await, ok);
    let (status, text) = server.get("/elsewhere").await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert_eq!(text, "not found: reviews are answered at /convert\n");
}

#[tokio::test]
async fn another_method_is_told_which_is_allowed() {
    let server = start().await;
    let mut sender = server.connect().await;
    let request = Request::get("/convert").header(header::HOST, "localhost");
    let response = sender
        .send_request(request.body(Body::empty()).unwrap())
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::METHOD_NOT_ALLOWED);
    assert_eq!(response.headers()[header::ALLOW], "POST");
    let text = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(text, "method not allowed\n");
}

#[tokio::test]
async fn many_requests_share_one_http2_connection() {
    let server = start().await;
    let stream = TokioIo::new(server.handshake("h2").await);
    let (sender, connection) = http2::handshake(TokioExecutor::new(), stream)
        .await
        .unwrap();
    tokio::spawn(connection);
    let requests: Vec<_> = (0..20)
        .map(|_| {
            let mut sender = sender.clone();
            let request = Request::post("https://localhost/convert");
            let request = request.body(Body::from(review(json!([])))).unwrap();
            tokio::spawn(async move { sender.send_request(request).await })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap().unwrap().status(), StatusCode::OK);
    }
}

#[tokio::test]
async fn what_was_converted_is_counted() {
    let server = start().await;
    let task = json!({"apiVersion": "task.example.io/v1", "kind": "Task", "spec": {"operation": {"provider": "p", "completion": "Queue"}}});
    assert_eq!(
        server.convert(review(json!([task]))).await["response"]["result"]["status"],
        "Success"
    );
    server.convert("no json".to_owned()).await;
    server.get("/elsewhere").await;
    let metrics = server.get("/metrics").await.1;
    for line in [
        r#"task_conversion_requests_total{endpoint="convert",result="success"} 1"#,
        r#"task_conversion_objects_total{from="v1",to="v1alpha1"} 1"#,
        r#"task_conversion_rests_total{event="written"} 1"#,
        r#"task_conversion_requests_total{endpoint="convert",result="failure"} 1"#,
        r#"task_conversion_requests_total{endpoint="other",result="refused"} 1"#,
        "task_conversion_request_bytes_count 2",
        "task_conversion_inflight_bytes 0",
        concat!(
            r#"task_conversion_build_info{version=""#,
            env!("CARGO_PKG_VERSION"),
            r#""} 1"#
        ),
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
    let unknown = review(json!([])).replace("v1alpha1", "v9");
    for body in ["", "no json", "[]", "{\"kind\":", &unknown] {
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
    let server = start().await;
    let body = review(json!([]));
    let (begin, rest) = body.split_at(20);
    let head = format!(
        "POST /convert HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{begin}",
        body.len()
    );
    let mut stream = server.handshake("http/1.1").await;
    stream.write_all(head.as_bytes()).await.unwrap();
    while !server
        .get("/metrics")
        .await
        .1
        .contains("inflight_bytes 20\n")
    {}

    server.stop.send(()).unwrap();
    while TcpStream::connect(server.address).await.is_ok() {}
    stream.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("Success"), "{answer}");
    server.served.await.unwrap();
}

#[tokio::test]
async fn clients_that_do_not_begin_their_handshake_hold_up_nobody() {
    let server = start().await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
    }
    assert_eq!(server.get("/healthz").await.0, StatusCode::OK);
}

#[tokio::test]
async fn a_client_that_sends_no_request_is_let_go_after_ten_seconds() {
    let server = start().await;
    let mut stream = server.handshake("http/1.1").await;
    // From here on the clock jumps to the next timer whenever all wait.
    tokio::time::pause();
    let start = tokio::time::Instant::now();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    // The server may have begun to wait just before the clock stood.
    assert_eq!(start.elapsed().as_secs_f64().round(), 10.0);
    assert!(answer.is_empty());
}

fn why_not(folder: &TempDir) -> String {
    load_tls(folder.path()).unwrap_err().to_string()
}

#[test]
fn a_missing_file_is_named() {
    for name in ["tls.crt", "tls.key"] {
        let (folder, _) = certificate();
        let path = folder.path().join(name);
        fs::remove_file(&path).unwrap();
        let begin = format!("cannot read {}: ", path.display());
        assert!(why_not(&folder).starts_with(&begin), "{}", why_not(&folder));
    }
}

#[test]
fn a_file_of_something_else_is_named() {
    for name in ["tls.crt", "tls.key"] {
        for content in [
            "",
            "no PEM\n",
            "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n",
            "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n",
        ] {
            let (folder, _) = certificate();
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            let why = why_not(&folder);
            assert!(
                why.contains(&path.display().to_string()),
                "{content}: {why}"
            );
        }
    }
}

#[test]
fn a_key_of_another_certificate_is_told() {
    let ((folder, _), (other, _)) = (certificate(), certificate());
    let key = folder.path().join("tls.key");
    fs::copy(other.path().join("tls.key"), &key).unwrap();
    let begin = format!("{} is not the key of ", key.display());
    assert!(why_not(&folder).starts_with(&begin), "{}", why_not(&folder));
}
