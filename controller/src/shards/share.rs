//! How the shards are spread over the replicas. Pure.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

/// What a replica should do about its share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Share {
    /// The shards that it holds and should give up.
    pub(super) surplus: BTreeSet<u32>,
    /// The shards that nobody holds and that it should take.
    pub(super) take: BTreeSet<u32>,
}

/// The share of the replica `me`, where `holders` tells who holds each shard, and `members` who takes part.
///
/// Each member is to hold as many shards as each other one, or one more. Who has most already is the one that may have one more, so that
/// no shard moves that need not. All replicas find the same as long as they see the same; while they do not, two may want
/// one shard, of whom one gets it, or none does, until they do.
pub(super) fn share(me: &str, holders: &[Option<&str>], members: &BTreeSet<&str>) -> Share {
    let mut held: BTreeMap<&str, Vec<u32>> = members.iter().map(|&name| (name, vec![])).collect();
    let mut free = Vec::new();
    for (shard, holder) in (0..).zip(holders) {
        match holder {
            None => free.push(shard),
            Some(holder) => {
                if let Some(held) = held.get_mut(holder) {
                    held.push(shard);
                }
            }
        }
    }
    let mut most: Vec<&str> = members.iter().copied().collect();
    most.sort_by_key(|name| (Reverse(held[name].len()), *name));
    let each = holders.len() / members.len().max(1);
    let more = holders.len() % members.len().max(1);
    let quotas: BTreeMap<&str, usize> = most
        .into_iter()
        .enumerate()
        .map(|(place, name)| (name, each + usize::from(place < more)))
        .collect();

    let mut free = free.into_iter();
    for (name, quota) in quotas {
        let held = &held[name];
        let take = free.by_ref().take(quota.saturating_sub(held.len()));
        if name == me {
            return Share {
                take: take.collect(),
                surplus: held.iter().skip(quota).copied().collect(),
            };
        }
        take.for_each(drop);
    }
    Share::default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Who holds each shard, a letter each; `-`: nobody.
    fn shares(holders: &str, members: &str) -> Vec<Share> {
        let name = |at: usize, text: &'static str| &text[at..=at];
        let letters: &'static str = "abcdefghijklmnopqrstuvwxyz";
        let of = |letter: char| name(letters.find(letter).unwrap(), letters);
        let holders: Vec<_> = holders
            .chars()
            .map(|letter| (letter != '-').then(|| of(letter)))
            .collect();
        let members: BTreeSet<_> = members.chars().map(of).collect();
        members
            .iter()
            .map(|me| share(me, &holders, &members))
            .collect()
    }

    fn told(holders: &str, members: &str) -> Vec<String> {
        shares(holders, members)
            .iter()
            .map(|share| {
                let list = |shards: &BTreeSet<u32>| shards.iter().map(u32::to_string).collect();
                let [surplus, take]: [String; 2] = [list(&share.surplus), list(&share.take)];
                format!("-{surplus} +{take}")
            })
            .collect()
    }

    #[test]
    fn the_only_replica_takes_all() {
        assert_eq!(told("---", "a"), ["- +012"]);
    }

    #[test]
    fn those_who_begin_together_take_equally_many() {
        assert_eq!(told("------", "abc"), ["- +01", "- +23", "- +45"]);
        assert_eq!(told("----", "abc"), ["- +01", "- +2", "- +3"]);
    }

    #[test]
    fn a_new_replica_is_given_its_share_and_no_more_moves() {
        assert_eq!(told("aabbcc", "abcd"), ["- +", "- +", "-5 +", "- +"]);
        assert_eq!(told("aabbc-", "abcd"), ["- +", "- +", "- +", "- +5"]);
    }

    #[test]
    fn what_a_replica_that_is_gone_held_goes_to_those_who_have_least() {
        assert_eq!(told("aabb--", "ab"), ["- +4", "- +5"]);
        assert_eq!(told("ab-", "ab"), ["- +2", "- +"]);
    }

    #[test]
    fn what_somebody_holds_who_takes_no_part_is_not_taken() {
        assert_eq!(told("zz--", "a"), ["- +23"]);
    }

    #[test]
    fn more_replicas_than_shards_leave_some_with_none() {
        assert_eq!(told("a", "ab"), ["- +", "- +"]);
        assert_eq!(told("aa", "abc"), ["-1 +", "- +", "- +"]);
    }

    proptest! {
        #[test]
        fn whatever_the_start_all_shards_are_held_evenly_in_two_moves_and_stay(
            start in "[a-f-]{1,20}", members in "[a-f]{1,6}",
        ) {
            let members: BTreeSet<char> = members.chars().collect();
            let members: String = members.into_iter().collect();
            // Those who take no part have given up by then.
            let mut holders: Vec<char> = start.chars().map(|letter| if members.contains(letter) { letter } else { '-' }).collect();
            for _ in 0..2 {
                let now: String = holders.iter().collect();
                for (me, share) in members.chars().zip(shares(&now, &members)) {
                    for &shard in &share.surplus { holders[shard as usize] = '-'; }
                    for &shard in &share.take {
                        prop_assert_eq!(holders[shard as usize], '-');
                        holders[shard as usize] = me;
                    }
                }
            }
            let counts = members.chars().map(|me| holders.iter().filter(|&&holder| holder == me).count());
            let (least, most) = (counts.clone().min().unwrap(), counts.max().unwrap());
            prop_assert!(!holders.contains(&'-') && most - least <= 1, "{:?}", holders);
            let now: String = holders.iter().collect();
            prop_assert!(shares(&now, &members).iter().all(|share| *share == Share::default()));
        }
    }
}
