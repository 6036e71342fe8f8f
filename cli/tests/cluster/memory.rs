//! What a migration of many Tasks costs.
//!
//! `TASK_MIGRATE=10000 cargo test …` migrates as many.

use std::fs;
use std::time::Instant;

use crate::world::{Ended, RUNTIME, World};

/// How many Tasks there are, if `TASK_MIGRATE` does not say.
const TASKS: usize = 1000;

/// The memory that the program may take, in MiB.
const LIMIT: usize = 64;

/// The most memory that a process has taken so far, in KiB; `None` once it is gone.
fn peak(pid: u32) -> Option<usize> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}

#[test]
fn many_tasks_are_migrated_in_little_memory() {
    let count = match std::env::var("TASK_MIGRATE") {
        Ok(text) => text.parse().unwrap(),
        Err(_) => TASKS,
    };
    let world = World::take();
    RUNTIME.block_on(async {
        world.create_many(count).await;
        world.store_at("v1").await;
        let begin = Instant::now();
        let mut migration = world.begin(&["--yes", "--qps=0", "--concurrency=16"]);
        let pid = migration.id().unwrap();
        let mut most = 0;
        world
            .until("it has ended", async || {
                most = most.max(peak(pid).unwrap_or_default());
                migration.try_wait().unwrap().is_some()
            })
            .await;
        let took = begin.elapsed().as_secs_f64();

        let ended = Ended::from(migration.wait_with_output().await.unwrap());
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!(world.stored_at("v1").await, count);
        let rate = count as f64 / took;
        println!(
            "{count} Tasks in {took:.1} s, {rate:.0} a second, {} MiB",
            most / 1024
        );
        assert!(most > 0 && most < LIMIT * 1024, "{most} KiB");
    });
}
