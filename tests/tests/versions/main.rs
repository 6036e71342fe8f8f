//! Tasks at both versions on a real API server, against a model of what they must be.
//!
//! A failure shows the smallest life that fails and the seed: `PROPTEST_RNG_SEED=… cargo test …` repeats it, and
//! `PROPTEST_CASES=…` asks for more lives.

#![allow(missing_docs, clippy::unwrap_used, clippy::panic)]

mod files;
mod generate;
mod lives;
mod model;
mod world;

use std::path::Path;
use std::sync::LazyLock;

use proptest::collection::vec;
use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use tokio::runtime::Runtime;
use world::World;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// One API server for all tests of this file.
static WORLD: LazyLock<World> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("versions");
    RUNTIME.block_on(World::start(&folder))
});

/// How many Tasks live, if `PROPTEST_CASES` does not say.
const LIVES: u32 = 200;

/// How often to check and from which seed.
fn config() -> Config {
    let mut config = Config {
        failure_persistence: None,
        ..Config::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = LIVES;
    }
    let seed = match config.rng_seed {
        RngSeed::Fixed(seed) => seed,
        RngSeed::Random => u64::from(std::process::id()),
    };
    config.rng_seed = RngSeed::Fixed(seed);
    println!("PROPTEST_RNG_SEED={seed}");
    config
}

#[test]
fn whatever_is_done_at_one_version_both_versions_show_what_they_must() {
    let config = config();
    let result = TestRunner::new(config).run(&generate::life(), |life| {
        RUNTIME
            .block_on(lives::check(&WORLD, life))
            .map_err(TestCaseError::fail)
    });
    if let Err(failure) = result {
        panic!("{failure}");
    }
}

#[test]
fn an_applied_file_is_what_is_there_and_shows_no_difference() {
    let config = config();
    let files = vec(generate::file(), config.cases as usize);
    let files = files
        .new_tree(&mut TestRunner::new(config))
        .unwrap()
        .current();
    RUNTIME.block_on(files::check(&WORLD, files));
}
