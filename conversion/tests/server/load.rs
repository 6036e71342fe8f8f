//! Many large reviews at a time: some are put off, none is lost, and memory stays within its bound.

use std::time::{Duration, Instant};

use axum::body::Bytes;
use http_body_util::BodyExt;
use hyper::{StatusCode, header};
use tokio::time::sleep;

use crate::program::{Client, Program, large_review, post};

const MIB: u64 = 1024 * 1024;

/// What the program may take beside its reviews.
const BESIDE: u64 = 64 * MIB;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_large_reviews_at_a_time_are_all_answered_within_the_bound() {
    let bound = 32 * MIB;
    let limits = [
        "--max-body-bytes=8388608",
        &format!("--max-inflight-bytes={bound}"),
    ];
    let program = Program::start(&limits).await;
    let put_off = answer_all(&program, 20, large_review(1000, 3 * MIB as usize)).await;
    assert!(put_off > 0);
    assert_peak_within(&program, bound);
    program.metric("inflight_bytes 0\n").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes long: make test-load"]
async fn two_hundred_large_reviews_at_a_time_are_all_answered_within_the_bound() {
    let program = Program::start(&[]).await;
    for (reviews, objects, bytes) in [
        (1, 20_000, 60_000_000),
        (200, 2_000, 6_000_000),
        (10, 20_000, 60_000_000),
    ] {
        let start = Instant::now();
        let put_off = answer_all(&program, reviews, large_review(objects, bytes)).await;
        println!(
            "{reviews} reviews of {objects} objects and {bytes} bytes: {:.1} s, put off {put_off} times, peak {} MiB",
            start.elapsed().as_secs_f64(),
            program.kernel_number("status", "VmHWM") / 1024,
        );
        assert_eq!(put_off > 0, reviews > 1);
        assert_peak_within(&program, 256 * MIB);
    }
    program.metric("inflight_bytes 0\n").await;
}

fn assert_peak_within(program: &Program, bound: u64) {
    let peak = program.kernel_number("status", "VmHWM") * 1024;
    assert!(peak <= bound + BESIDE, "{} MiB", peak / MIB);
}

/// Sends `reviews` reviews at the same time, and again what is put off, until all are answered. Returns how often one was put off.
async fn answer_all(program: &Program, reviews: usize, body: Bytes) -> usize {
    let clients: Vec<_> = (0..reviews)
        .map(|_| tokio::spawn(answer(program.client.clone(), body.clone())))
        .collect();
    let mut put_off = 0;
    for client in clients {
        put_off += client.await.unwrap();
    }
    put_off
}

async fn answer(client: Client, body: Bytes) -> usize {
    let mut sender = client.connect().await;
    let mut put_off = 0;
    loop {
        let request = post("/convert", body.clone());
        let response = sender.send_request(request).await.unwrap();
        match response.status() {
            StatusCode::OK => {
                let end = last_bytes(response.into_body()).await;
                assert!(end.ends_with(r#""result":{"status":"Success"}}}"#), "{end}");
                return put_off;
            }
            StatusCode::SERVICE_UNAVAILABLE => {
                assert_eq!(response.headers()[header::RETRY_AFTER], "1");
                last_bytes(response.into_body()).await;
                put_off += 1;
                sleep(Duration::from_secs(1)).await;
                // As the API server does, which does not wait until all is sent to an end.
                sender = client.connect().await;
            }
            other => panic!("{other}"),
        }
    }
}

/// Reads a body to its end and keeps no more than that.
async fn last_bytes(mut body: hyper::body::Incoming) -> String {
    let mut end = Vec::new();
    while let Some(frame) = body.frame().await {
        if let Ok(data) = frame.unwrap().into_data() {
            end.extend_from_slice(&data[data.len().saturating_sub(64)..]);
            end.drain(..end.len().saturating_sub(64));
        }
    }
    String::from_utf8_lossy(&end).into_owned()
}
