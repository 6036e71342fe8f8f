//! How fast the server answers over HTTPS, and what that costs: requests a second, latency, CPU time a request and memory, for
//! reviews of one object and of 500 in each direction. `make bench-server` runs it.
//!
//! | variable | |
//! |---|---|
//! | `PEER_URL` | the conversion endpoint of another server on this machine, such as `https://127.0.0.1:19443/convert`, that is measured in the same run |
//! | `BENCH_SECONDS` | how long each load lasts; 10 without |
//! | `BENCH_CONNECTIONS` | how many connections send requests at the same time; 4 without |
//! | `BENCH_HTTP2` | set: over HTTP/2, and not over HTTP/1.1 as the API server does |
//! | `BENCH_ARGS` | more arguments for the server |
//!
//! Compare the figures of one run only.
#![allow(missing_docs)]

mod oha;
mod process;
#[allow(clippy::unwrap_used, clippy::write_literal)]
#[path = "../convert/reviews.rs"]
mod reviews;
mod server;

use std::error::Error;
use std::time::Duration;
use std::{env, fs};

use oha::{Load, Oha};
use process::Process;
use reviews::{Way, review};
use server::Server;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long each load is sent before it is measured.
const WARM_UP: Duration = Duration::from_secs(2);

fn main() -> Result<()> {
    // `cargo test` runs a bench without this argument, only to see that it works.
    if !env::args().any(|argument| argument == "--bench") {
        return Ok(());
    }
    let number = |name: &str, default: u64| match env::var(name) {
        Ok(value) => value.parse(),
        Err(_) => Ok(default),
    };
    let time = Duration::from_secs(number("BENCH_SECONDS", 10)?);
    let load = Load {
        connections: number("BENCH_CONNECTIONS", 4)?,
        is_http2: env::var_os("BENCH_HTTP2").is_some(),
    };
    let oha = Oha::installed()?;
    let folder = tempfile::tempdir()?;
    let server = Server::start(folder.path())?;
    let mut targets = vec![("ours", server.url(), server.process())];
    if let Ok(url) = env::var("PEER_URL") {
        let process = Process::listening_at(&url)?;
        targets.push(("peer", url, process));
    }

    for (name, _, process) in &targets {
        println!("{name}: idle RSS {:.1} MiB", process.resident()?);
    }
    println!(
        "{:<6}{:<24}{:>12}{:>10}{:>10}{:>16}{:>14}",
        "server", "load", "requests/s", "p50 ms", "p99 ms", "CPU µs/request", "peak RSS MiB"
    );
    let mut costs = Vec::new();
    for count in [1, 500] {
        for way in [Way::Down, Way::Up] {
            let body = folder.path().join("body.json");
            fs::write(&body, review(way, count))?;
            for (name, url, process) in &targets {
                oha.check(url, &body)?;
                oha.send(url, &body, load, WARM_UP)?;
                process.forget_peak()?;
                let before = process.cpu_time()?;
                let answered = oha.send(url, &body, load, time)?;
                let cost =
                    (process.cpu_time()? - before).as_secs_f64() * 1e6 / answered.count as f64;
                println!(
                    "{name:<6}{:<24}{:>12.0}{:>10.2}{:>10.2}{cost:>16.1}{:>14.1}",
                    format!("{count} {}", direction(way)),
                    answered.per_second,
                    answered.p50 * 1e3,
                    answered.p99 * 1e3,
                    process.peak()?
                );
                costs.push(cost);
            }
            if let [.., ours, peers] = costs[..]
                && targets.len() == 2
            {
                println!("      the peer takes {:.1} times the CPU", peers / ours);
            }
        }
    }
    Ok(())
}

fn direction(way: Way) -> &'static str {
    match way {
        Way::Down => "v1 to v1alpha1",
        Way::Up => "v1alpha1 to v1",
    }
}
