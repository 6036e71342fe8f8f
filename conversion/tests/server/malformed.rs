//! Whatever comes in, the server goes on serving, and keeps nothing of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::program::{Client, PATIENCE, Program, post, review, send_on};

/// How much more memory the second half of the requests may take than the first, in kB: the allocator's own ups and downs.
const LEAK: u64 = 8 * 1024;

/// How many malformed requests are sent at the same time.
const AT_ONCE: usize = 16;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_malformed_requests_hold_up_no_other_and_leave_nothing() {
    let slowest = survive(1000).await;
    assert!(slowest < Duration::from_secs(10), "{slowest:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes long: make test-load"]
async fn ten_thousand_malformed_requests_hold_up_no_other_and_leave_nothing() {
    let slowest = survive(10_000).await;
    println!("the slowest well-formed request beside 10,000 malformed ones took {slowest:?}");
    assert!(slowest < Duration::from_millis(100), "{slowest:?}");
}

/// Sends `count` malformed requests and, all the while, well-formed ones; returns how long the slowest of these took.
async fn survive(count: usize) -> Duration {
    let program = Program::start(&[]).await;
    let done = Arc::new(AtomicBool::new(false));
    let measured = tokio::spawn(well_formed(program.client.clone(), Arc::clone(&done)));
    // The first half also shows how much memory such requests take at a time.
    send_all(&program.client, 0, count / 2).await;
    let before = settled(&program).await;
    send_all(&program.client, count / 2, count).await;
    let after = settled(&program).await;
    done.store(true, Ordering::Relaxed);
    let slowest = measured.await.unwrap();
    assert!(after.0 <= before.0 + 2, "files: {before:?}, then {after:?}");
    assert!(after.1 <= before.1 + LEAK, "kB: {before:?}, then {after:?}");
    program.metric("panics_total 0\n").await;
    program.metric("inflight_bytes 0\n").await;
    slowest
}

/// How many files the process has open, and how much memory it takes in kB, once the connections of the malformed requests are gone.
async fn settled(program: &Program) -> (usize, u64) {
    let deadline = Instant::now() + PATIENCE;
    // The one that asks, and the one of the well-formed requests.
    let few = |metrics: &str| {
        (1..=2).any(|open| metrics.contains(&format!("task_conversion_connections {open}\n")))
    };
    while !few(&program.client.get("/metrics").await.text) {
        assert!(
            Instant::now() < deadline,
            "{}",
            program
                .client
                .get("/metrics")
                .await
                .text
                .lines()
                .filter(|l| l.contains("connections") || l.contains("requests_total"))
                .collect::<Vec<_>>()
                .join("\n")
        );
        sleep(Duration::from_millis(100)).await;
    }
    (
        program.open_files(),
        program.kernel_number("status", "VmRSS"),
    )
}

async fn well_formed(client: Client, done: Arc<AtomicBool>) -> Duration {
    let task = json!({"apiVersion": "task.example.io/v1", "kind": "Task", "spec": {"replicas": 1}});
    let mut sender = client.connect().await;
    let mut slowest = Duration::ZERO;
    while !done.load(Ordering::Relaxed) {
        let request = post("/convert", review(json!([task])));
        let start = Instant::now();
        let answer = send_on(&mut sender, request).await.unwrap();
        slowest = slowest.max(start.elapsed());
        assert_eq!(answer.status, StatusCode::OK);
        assert!(answer.text.contains("Success"), "{}", answer.text);
        sleep(Duration::from_millis(5)).await;
    }
    slowest
}

async fn send_all(client: &Client, from: usize, to: usize) {
    let senders: Vec<_> = (0..AT_ONCE)
        .map(|lane| {
            let client = client.clone();
            tokio::spawn(async move {
                for index in (from + lane..to).step_by(AT_ONCE) {
                    // Whatever comes back is right as long as the server goes on.
                    let _ = timeout(PATIENCE, send_one(&client, index)).await;
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.unwrap();
    }
}

async fn send_one(client: &Client, index: usize) -> std::io::Result<()> {
    let noise = noise(index, 16 + index * 37 % 4000);
    let valid = review(
        json!([{"apiVersion": "task.example.io/v1", "kind": "Task", "metadata": {"name": "t"}}]),
    );
    let path = [
        "/convert",
        "/mutate-task-example-io-v1-task",
        "/validate-task-example-io-v1-task",
    ][index % 3];
    let head = |length: usize, more: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{more}content-length: {length}\r\n\r\n"
        )
    };
    match index % 12 {
        // A body of random bytes.
        0 => say(client, &[head(noise.len(), "").as_bytes(), &noise]).await,
        // Truncated JSON.
        1 => {
            let cut = index * 7 % valid.len();
            say(
                client,
                &[head(cut, "").as_bytes(), &valid.as_bytes()[..cut]],
            )
            .await
        }
        // The wrong type, and a compression that is none.
        2 => {
            say(
                client,
                &[
                    head(4, "content-type: image/png\r\ncontent-encoding: br\r\n").as_bytes(),
                    b"\x89PNG",
                ],
            )
            .await
        }
        // Huge headers.
        3 => {
            let huge = format!("huge: {}\r\n", "x".repeat(200_000));
            say(client, &[head(0, &huge).as_bytes()]).await
        }
        // A connection that is opened, and no more.
        4 => {
            let stream = TcpStream::connect(client.address).await?;
            sleep(Duration::from_millis(20)).await;
            drop(stream);
            Ok(())
        }
        // What is no TLS.
        5 => raw(client, &noise).await,
        // TLS that breaks off, or goes on as something else.
        6 => {
            raw(
                client,
                &[&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], &noise].concat(),
            )
            .await
        }
        // What is no HTTP.
        7 => say(client, &[&noise]).await,
        // A body that never comes whole.
        8 => {
            let mut stream = client.handshake("http/1.1").await?;
            stream.write_all(head(1_000_000, "").as_bytes()).await?;
            stream.write_all(&noise).await?;
            Ok(())
        }
        // Chunks that are none.
        9 => {
            let head = format!(
                "POST {path} HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
            );
            say(
                client,
                &[head.as_bytes(), b"ffffffffffffffffff\r\n", &noise],
            )
            .await
        }
        // A length that contradicts itself.
        10 => {
            say(
                client,
                &[head(5, "content-length: 7\r\n").as_bytes(), b"12345"],
            )
            .await
        }
        // What is no HTTP/2.
        _ => {
            let mut stream = client.handshake("h2").await?;
            stream
                .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
                .await?;
            stream.write_all(&noise).await?;
            let _ = stream.read_to_end(&mut Vec::new()).await?;
            Ok(())
        }
    }
}

/// Says something over TLS and listens to the end.
async fn say(client: &Client, parts: &[&[u8]]) -> std::io::Result<()> {
    let mut stream = client.handshake("http/1.1").await?;
    for part in parts {
        stream.write_all(part).await?;
    }
    // For what waits for more that does not come.
    stream.shutdown().await?;
    let _ = stream.read_to_end(&mut Vec::new()).await?;
    Ok(())
}

/// The same without TLS.
async fn raw(client: &Client, bytes: &[u8]) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(client.address).await?;
    stream.write_all(bytes).await?;
    stream.shutdown().await?;
    let _ = stream.read_to_end(&mut Vec::new()).await?;
    Ok(())
}

/// Bytes without a pattern, the same for the same seed (xorshift).
fn noise(seed: usize, length: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15 ^ (seed as u64 + 1);
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()[3]
        })
        .collect()
}
