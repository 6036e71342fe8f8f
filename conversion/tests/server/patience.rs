//! How long the server waits for a client: inside this process, where the clock can be made to jump.

use std::time::Duration;

use clap::Parser;
use task_conversion::server::{Args, Server};
use task_conversion::task::service;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::Instant;

use crate::folder::Folder;
use crate::program::{Client, get, send_on};

async fn start() -> (Client, Folder) {
    let folder = Folder::new("localhost");
    let certificates = folder.path().display().to_string();
    let args = [
        "task-conversion",
        "--bind=127.0.0.1:0",
        "--cert-dir",
        &certificates,
    ];
    let server = Server::bind(&Args::parse_from(args), &service())
        .await
        .unwrap();
    let client = Client::new(server.address(), &folder.certificate);
    tokio::spawn(server.run(std::future::pending()));
    (client, folder)
}

/// From here on the clock jumps to the next timer whenever all wait. Before, the server gets the time to read what was sent.
async fn jump() -> Instant {
    tokio::time::sleep(Duration::from_millis(200)).await;
    tokio::time::pause();
    Instant::now()
}

/// Whether about `seconds` have passed: the server may have begun to wait just before the clock stood.
fn assert_passed(start: Instant, seconds: f64) {
    let passed = start.elapsed().as_secs_f64();
    assert!((passed - seconds).abs() < 1.0, "{passed} s");
}

#[tokio::test]
async fn a_client_that_sends_no_request_is_let_go_after_ten_seconds() {
    let (client, _folder) = start().await;
    let mut stream = client.handshake("http/1.1").await.unwrap();
    let start = jump().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert_passed(start, 10.0);
    assert!(answer.is_empty());
}

#[tokio::test]
async fn headers_that_trickle_in_are_given_up_after_ten_seconds() {
    let (client, _folder) = start().await;
    let mut stream = client.handshake("http/1.1").await.unwrap();
    stream
        .write_all(b"GET /healthz HTTP/1.1\r\nhost:")
        .await
        .unwrap();
    let start = jump().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert_passed(start, 10.0);
}

#[tokio::test]
async fn an_idle_connection_is_kept_for_longer_than_the_api_server_keeps_it() {
    for protocol in ["http/1.1", "h2"] {
        let (client, _folder) = start().await;
        let start = match protocol {
            "h2" => {
                let stream = hyper_util::rt::TokioIo::new(client.handshake("h2").await.unwrap());
                let executor = hyper_util::rt::TokioExecutor::new();
                let (mut sender, connection) =
                    hyper::client::conn::http2::handshake(executor, stream)
                        .await
                        .unwrap();
                let connection = tokio::spawn(connection);
                let request = hyper::Request::get("https://localhost/healthz");
                let request = request.body(axum::body::Body::empty()).unwrap();
                assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
                let start = jump().await;
                let _ = connection.await;
                start
            }
            _ => {
                let mut sender = client.connect().await;
                assert!(send_on(&mut sender, get("/healthz")).await.is_ok());
                let start = jump().await;
                while !sender.is_closed() {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                start
            }
        };
        assert_passed(start, 120.0);
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_body_that_trickles_in_is_given_up_after_twenty_five_seconds() {
    let (client, _folder) = start().await;
    let mut stream = client.handshake("http/1.1").await.unwrap();
    let head = "POST /convert HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reading, mut writing) = tokio::io::split(stream);
    let trickle = tokio::spawn(async move {
        while writing.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let start = jump().await;
    let mut answer = [0; 13];
    reading.read_exact(&mut answer).await.unwrap();
    assert_passed(start, 25.0);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    trickle.abort();
}
