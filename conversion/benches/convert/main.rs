//! How fast a review is answered, beside two measures of the same body: `serde_json::Value`, which is what a conversion that parses
//! pays before it has converted anything, and memcpy, which is the least that any answer costs.
//!
//! Throughput is in bytes of the request. Compare the figures of one run only.
#![allow(missing_docs, clippy::unwrap_used)]

mod reviews;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use reviews::{Way, review};
use task_conversion::review::answer;
use task_conversion::task::TASK;

fn benches(criterion: &mut Criterion) {
    for count in [1, 500] {
        for way in [Way::Down, Way::Up] {
            let body = review(way, count);
            assert_eq!(answer(&TASK, body.as_bytes()).failure, None);

            let mut group = criterion.benchmark_group(format!("{way:?} {count}").to_lowercase());
            group.throughput(Throughput::Bytes(body.len() as u64));
            group.bench_function("answer", |bencher| {
                bencher.iter(|| answer(&TASK, black_box(body.as_bytes())));
            });
            group.bench_function("value", |bencher| {
                bencher.iter(|| {
                    let value: serde_json::Value =
                        serde_json::from_slice(black_box(body.as_bytes())).unwrap();
                    serde_json::to_vec(&value).unwrap()
                });
            });
            group.bench_function("memcpy", |bencher| {
                bencher.iter(|| black_box(body.as_bytes()).to_vec());
            });
            group.finish();
        }
    }
}

criterion_group!(convert, benches);
criterion_main!(convert);
