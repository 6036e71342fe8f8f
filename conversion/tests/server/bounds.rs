//! No client takes more than its share.

use std::time::Duration;

use hyper::{StatusCode, header};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::program::{PATIENCE, Program, get, large_review, post, review, send_on};

const MIB: usize = 1024 * 1024;

#[tokio::test]
async fn a_body_that_is_too_large_or_compressed_is_refused() {
    let program = Program::start(&["--max-body-bytes", "1048576"]).await;
    let answer = program
        .client
        .send(post("/convert", vec![b' '; MIB + 1]))
        .await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    let mut compressed = post("/convert", "x");
    let gzip = "gzip".parse().unwrap();
    compressed
        .headers_mut()
        .insert(header::CONTENT_ENCODING, gzip);
    let answer = program.client.send(compressed).await;
    assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn a_review_that_does_not_fit_beside_others_is_put_off_and_served_later() {
    let bounds = [
        "--max-body-bytes",
        "1048576",
        "--max-inflight-bytes",
        "4194304",
    ];
    let program = Program::start(&bounds).await;
    let body = large_review(100, MIB - 10_000);
    let (begin, rest) = body.split_at(body.len() - 1000);
    let head = format!(
        "POST /convert HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut first = program.client.handshake("http/1.1").await.unwrap();
    first.write_all(head.as_bytes()).await.unwrap();
    first.write_all(begin).await.unwrap();
    first.flush().await.unwrap();
    let held = format!("inflight_bytes {}\n", body.len() * 13 / 4);
    program.metric(&held).await;

    // The whole body is sent before the answer is looked at, and the connection is good for the next.
    let mut second = program.client.connect().await;
    for _ in 0..3 {
        let answer = send_on(&mut second, post("/convert", body.clone()))
            .await
            .unwrap();
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(answer.headers[header::RETRY_AFTER], "1");
    }
    // Small ones fit, and being busy is no reason not to be ready.
    assert_eq!(
        program.client.convert(review(json!([]))).await["response"]["uid"],
        "u"
    );
    assert_eq!(program.client.get("/readyz").await.text, "ok\n");

    first.write_all(rest).await.unwrap();
    let mut answer = String::new();
    first.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"));
    drop(first);
    program.metric("inflight_bytes 0\n").await;
    let answer = send_on(&mut second, post("/convert", body)).await.unwrap();
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn nesting_of_a_million_levels_is_a_failure() {
    let program = Program::start(&[]).await;
    for opening in ["[", "{\"a\":"] {
        let body = review(json!([])).replace("[]", &opening.repeat(1_000_000));
        let answer = program.client.convert(body).await;
        assert_eq!(answer["response"]["result"]["status"], "Failure");
    }
}

#[tokio::test]
async fn headers_that_are_too_large_are_refused() {
    let program = Program::start(&[]).await;
    let mut request = get("/healthz");
    let huge = "x".repeat(100_000).parse().unwrap();
    request.headers_mut().insert("huge", huge);
    let answer = program.client.send(request).await;
    assert_eq!(answer.status, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
}

#[tokio::test]
async fn clients_that_do_not_begin_their_handshake_hold_up_nobody() {
    let program = Program::start(&[]).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(program.client.address).await.unwrap());
    }
    assert_eq!(program.client.get("/healthz").await.status, StatusCode::OK);
}

#[tokio::test]
async fn when_all_connections_are_taken_idle_ones_make_room() {
    let program = Program::start(&["--max-connections", "4"]).await;
    let mut kept = Vec::new();
    for _ in 0..4 {
        let mut sender = program.client.connect().await;
        assert!(send_on(&mut sender, get("/healthz")).await.is_ok());
        kept.push(sender);
    }
    let answer = timeout(PATIENCE, program.client.get("/healthz"))
        .await
        .unwrap();
    assert_eq!(answer.status, StatusCode::OK);
    let log = program.log();
    assert_eq!(
        log.matches("all 4 connections are taken").count(),
        1,
        "{log}"
    );
}

#[tokio::test]
async fn without_a_free_file_it_waits_and_logs_little() {
    let program = Program::start_with_few_files(40, &[]).await;
    let mut taken = Vec::new();
    for _ in 0..60 {
        taken.push(TcpStream::connect(program.client.address).await.unwrap());
    }
    sleep(Duration::from_secs(3)).await;
    let log = program.log();
    assert_eq!(
        log.matches("cannot accept a connection").count(),
        1,
        "{log}"
    );
    drop(taken);
    let answer = timeout(PATIENCE, program.client.get("/healthz"))
        .await
        .unwrap();
    assert_eq!(answer.status, StatusCode::OK);
}
