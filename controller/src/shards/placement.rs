//! Which shard a Task belongs to.

use crate::reconcile::build::digest::fnv_1a;

/// The shard of the Task `name` in `namespace`, of so many shards.
///
/// It is the remainder by `shards` of the FNV-1a hash, 64 bits, of the UTF-8 bytes of `<namespace>/<name>`. **It must never change**: replicas
/// of two versions of the program work side by side while one is rolled out, and each must find the same.
#[must_use]
pub fn shard_of(namespace: &str, name: &str, shards: u32) -> u32 {
    let hash = fnv_1a(format!("{namespace}/{name}").as_bytes());
    // What is left of a division by a u32 is one.
    (hash % u64::from(shards.max(1))) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shards_are_those_of_every_other_version_of_the_program() {
        let shard = |name| shard_of("default", name, 6);
        assert_eq!(["a", "b", "web", "task-1"].map(shard), [4, 3, 1, 4]);
        assert_eq!(shard_of("shop", "web", 1000), 708);
    }

    #[test]
    fn of_one_shard_all_are() {
        assert_eq!(shard_of("default", "web", 1), 0);
    }

    #[test]
    fn names_that_count_up_are_spread_evenly() {
        for shards in [2, 3, 6, 16] {
            let mut tasks = vec![0_u32; shards as usize];
            for number in 0..6000 {
                tasks[shard_of("default", &format!("task-{number}"), shards) as usize] += 1;
            }
            let even = 6000 / shards;
            assert!(
                tasks.iter().all(|&count| count.abs_diff(even) < even / 5),
                "{tasks:?}"
            );
        }
    }
}
