//! The server stops without failing a request.

use std::time::Duration;

use axum::body::Body;
use hyper::client::conn::http2;
use hyper::{Request, StatusCode, header};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nix::sys::signal::Signal;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use crate::program::{PATIENCE, Program, get, post, review, send_on};

#[tokio::test]
async fn it_is_not_ready_at_once_but_serves_for_the_delay() {
    let program = Program::start(&["--drain-delay", "2s"]).await;
    let start = Instant::now();
    program.signal(Signal::SIGTERM);
    while program.client.get("/readyz").await.status == StatusCode::OK {}
    let mut served = 0;
    while start.elapsed() < Duration::from_millis(1800) {
        let answer = program
            .client
            .send(post("/convert", review(json!([]))))
            .await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(answer.headers[header::CONNECTION], "close");
        served += 1;
    }
    assert!(served > 0);
    assert_eq!(program.client.get("/healthz").await.status, StatusCode::OK);
    assert!(program.exit().await.success());
}

#[tokio::test]
async fn late_requests_are_told_to_try_again_and_those_in_flight_finish() {
    let program = Program::start(&["--drain-delay", "100ms"]).await;
    let body = review(json!([]));
    let (begin, rest) = body.split_at(20);
    let head = format!(
        "POST /convert HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n{begin}",
        body.len()
    );
    let mut in_flight = program.client.handshake("http/1.1").await.unwrap();
    in_flight.write_all(head.as_bytes()).await.unwrap();
    while program
        .client
        .get("/metrics")
        .await
        .text
        .contains("inflight_bytes 0\n")
    {}
    let mut idle = program.client.connect().await;
    assert_eq!(
        send_on(&mut idle, get("/healthz")).await.unwrap().status,
        200
    );

    program.signal(Signal::SIGTERM);
    sleep(Duration::from_millis(500)).await;
    // On a connection that was open before, and on a new one.
    let answer = send_on(&mut idle, post("/convert", vec![b' '; 1 << 20]))
        .await
        .unwrap();
    let new = program
        .client
        .send(post("/convert", vec![b' '; 1 << 20]))
        .await;
    for answer in [answer, new] {
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers[header::RETRY_AFTER], "1");
        assert_eq!(answer.headers[header::CONNECTION], "close");
    }
    // Far longer than late requests alone would be waited for.
    sleep(Duration::from_secs(3)).await;
    in_flight.write_all(rest.as_bytes()).await.unwrap();
    let mut answer = String::new();
    in_flight.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("Success"), "{answer}");
    assert!(program.exit().await.success());
}

#[tokio::test]
async fn no_request_fails_on_a_connection_that_is_kept_while_the_server_stops() {
    let program = Program::start(&["--drain-delay", "300ms"]).await;
    let clients: Vec<_> = (0..20)
        .map(|index| {
            let client = program.client.clone();
            tokio::spawn(async move {
                let mut sender = client.connect().await;
                let mut served = 0;
                loop {
                    let answer = send_on(&mut sender, post("/convert", review(json!([])))).await;
                    let answer = answer.unwrap_or_else(|error| panic!("after {served}: {error}"));
                    if answer.status == StatusCode::SERVICE_UNAVAILABLE {
                        assert_eq!(answer.headers[header::RETRY_AFTER], "1");
                        return served;
                    }
                    assert_eq!(answer.status, StatusCode::OK);
                    served += 1;
                    // As a client that heeds what it is told.
                    if answer.headers.contains_key(header::CONNECTION) {
                        sender = client.connect().await;
                    }
                    sleep(Duration::from_millis(index)).await;
                }
            })
        })
        .collect();
    sleep(Duration::from_millis(200)).await;
    program.signal(Signal::SIGTERM);
    for client in clients {
        assert!(client.await.unwrap() > 0);
    }
    assert!(program.exit().await.success());
}

#[tokio::test]
async fn clients_of_http2_are_told_to_go_elsewhere() {
    let program = Program::start(&["--drain-delay", "100ms"]).await;
    let stream = TokioIo::new(program.client.handshake("h2").await.unwrap());
    let (mut sender, connection) = http2::handshake(TokioExecutor::new(), stream)
        .await
        .unwrap();
    let connection = tokio::spawn(connection);
    let request = Request::get("https://localhost/healthz");
    let request = request.body(Body::empty()).unwrap();
    assert_eq!(sender.send_request(request).await.unwrap().status(), 200);
    program.signal(Signal::SIGTERM);
    // GOAWAY, after which the connection is closed without an error.
    assert!(connection.await.unwrap().is_ok());
    assert!(program.exit().await.success());
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    for second in [Signal::SIGTERM, Signal::SIGINT] {
        let program = Program::start(&["--drain-delay", "1h"]).await;
        program.signal(Signal::SIGTERM);
        while program.client.get("/readyz").await.status == StatusCode::OK {}
        let start = Instant::now();
        program.signal(second);
        assert_eq!(program.exit().await.code(), Some(1));
        assert!(start.elapsed() < PATIENCE / 2);
    }
}

#[tokio::test]
async fn once_it_has_ended_nothing_listens() {
    let program = Program::start(&["--drain-delay", "0s"]).await;
    let address = program.client.address;
    program.signal(Signal::SIGINT);
    assert!(program.exit().await.success());
    assert!(TcpStream::connect(address).await.is_err());
}
