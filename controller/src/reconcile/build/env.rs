//! The order of a container's environment variables.
//!
//! Kubernetes resolves a reference `$(NAME)` in a value only to a variable that stands earlier in the
//! list. A Task's `env` is a map and has no order, so one is chosen here in which every reference
//! resolves if any order lets it.

use std::collections::{BTreeMap, BTreeSet};

/// The variables of `env` in the order in which the container gets them.
///
/// Each variable stands after those that its value refers to; among those that may stand next, the
/// first by name does. Variables that refer to each other in a circle cannot all be resolved: they stand
/// together, by name. References to variables that are not in `env` are no constraint: Kubernetes leaves
/// them as text.
pub fn in_dependency_order(env: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    let mut waiting: BTreeMap<&str, BTreeSet<&str>> = env
        .iter()
        .map(|(name, value)| {
            let needs = references(value)
                .into_iter()
                .filter(|&needed| needed != name && env.contains_key(needed))
                .collect();
            (name.as_str(), needs)
        })
        .collect();

    let mut ordered = Vec::with_capacity(env.len());
    while let Some(next) = next_group(&waiting) {
        for name in &next {
            waiting.remove(name);
        }
        for needs in waiting.values_mut() {
            for name in &next {
                needs.remove(name);
            }
        }
        ordered.extend(next);
    }
    ordered
        .into_iter()
        .filter_map(|name| env.get_key_value(name))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

/// The variables to stand next: the first by name that needs none of those waiting, else the first
/// circle that needs none outside itself. `None` when nothing waits.
fn next_group<'a>(waiting: &BTreeMap<&'a str, BTreeSet<&'a str>>) -> Option<Vec<&'a str>> {
    if let Some((&name, _)) = waiting.iter().find(|(_, needs)| needs.is_empty()) {
        return Some(vec![name]);
    }
    waiting.keys().find_map(|&name| {
        let circle = needed_by(name, waiting);
        let closed = circle
            .iter()
            .all(|&member| needed_by(member, waiting).contains(name));
        closed.then(|| circle.into_iter().collect())
    })
}

/// All the variables that `name` needs, directly or through others; itself only if it is in a circle.
fn needed_by<'a>(
    name: &'a str,
    waiting: &BTreeMap<&'a str, BTreeSet<&'a str>>,
) -> BTreeSet<&'a str> {
    let mut needed = BTreeSet::new();
    let mut ahead = vec![name];
    while let Some(name) = ahead.pop() {
        for &next in waiting.get(name).into_iter().flatten() {
            if needed.insert(next) {
                ahead.push(next);
            }
        }
    }
    needed
}

/// The names that `value` refers to as `$(NAME)`, read as Kubernetes reads it: `$$` stands for a dollar
/// sign, so that `$$(NAME)` is no reference, and an opening without its closing bracket is text.
fn references(value: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = value;
    while let Some(dollar) = rest.find('$') {
        rest = &rest[dollar + 1..];
        if let Some(escaped) = rest.strip_prefix('$') {
            rest = escaped;
        } else if let Some(opened) = rest.strip_prefix('(') {
            rest = opened;
            if let Some((name, after)) = opened.split_once(')') {
                found.push(name);
                rest = after;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn env(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    fn order(pairs: &[(&str, &str)]) -> String {
        let env = env(pairs);
        let names: Vec<_> = in_dependency_order(&env)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        names.join(" ")
    }

    #[test]
    fn a_variable_stands_after_those_it_refers_to_otherwise_by_name() {
        for (pairs, expected) in [
            (&[][..], ""),
            (&[("B", "2"), ("A", "1"), ("C", "3")], "A B C"),
            (&[("A", "$(B)"), ("B", "1")], "B A"),
            (&[("A", "$(C)/$(B)"), ("B", "$(C)"), ("C", "1")], "C B A"),
            (&[("A", "$(Z)"), ("M", "1"), ("Z", "2")], "M Z A"),
            (
                &[
                    ("A", "http://$(HOST):$(PORT)/"),
                    ("HOST", "h"),
                    ("PORT", "1"),
                ],
                "HOST PORT A",
            ),
            (&[("A", "$(A)"), ("B", "1")], "A B"),
            (&[("A", "$(NOWHERE)"), ("B", "1")], "A B"),
            (&[("A", "$(x-y.z)"), ("x-y.z", "1")], "x-y.z A"),
        ] {
            assert_eq!(order(pairs), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_circle_stands_together_by_name() {
        for (pairs, expected) in [
            (&[("B", "$(A)"), ("A", "$(B)")][..], "A B"),
            (&[("A", "$(C)"), ("B", "$(C)"), ("C", "$(B)")], "B C A"),
            (&[("A", "$(B)"), ("B", "$(A) $(Z)"), ("Z", "1")], "Z A B"),
            (
                &[("A", "$(X)"), ("B", "$(A)"), ("X", "$(Y)"), ("Y", "$(X)")],
                "X Y A B",
            ),
        ] {
            assert_eq!(order(pairs), expected, "{pairs:?}");
        }
    }

    #[test]
    fn a_reference_is_read_as_kubernetes_reads_it() {
        for (value, expected) in [
            ("", &[][..]),
            ("plain", &[]),
            ("$(A)", &["A"]),
            ("x$(A)y$(B)z", &["A", "B"]),
            ("$$(A)", &[]),
            ("$$$(A)", &["A"]),
            ("$$$$(A)", &[]),
            ("$A ${A} $", &[]),
            ("$(A", &[]),
            ("$(A$(B)", &["A$(B"]),
            ("$(", &[]),
            ("$()", &[""]),
            ("$ö$(A)", &["A"]),
        ] {
            assert_eq!(references(value), expected, "{value:?}");
        }
    }

    /// Environments in which most values refer to other variables, in circles too.
    fn environments() -> impl Strategy<Value = BTreeMap<String, String>> {
        let value = proptest::collection::vec("\\$\\([a-h]\\)|\\$\\$\\([a-h]\\)|x|\\$", 0..3);
        proptest::collection::btree_map("[a-h]", value.prop_map(|parts| parts.concat()), 0..8)
    }

    /// Does `from` reach `to` by references?
    fn reaches(env: &BTreeMap<String, String>, from: &str, to: &str) -> bool {
        let waiting = env
            .iter()
            .map(|(name, value)| (name.as_str(), references(value).into_iter().collect()))
            .collect();
        needed_by(from, &waiting).contains(to)
    }

    proptest! {
        #[test]
        fn every_variable_is_there_once_with_its_value(env in environments()) {
            let ordered: BTreeMap<String, String> = in_dependency_order(&env)
                .into_iter()
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect();
            prop_assert_eq!(in_dependency_order(&env).len(), env.len());
            prop_assert_eq!(ordered, env);
        }

        #[test]
        fn only_within_a_circle_does_a_reference_look_ahead(env in environments()) {
            let ordered = in_dependency_order(&env);
            for (at, (name, value)) in ordered.iter().enumerate() {
                for needed in references(value) {
                    let later = ordered[at + 1..].iter().any(|(other, _)| *other == needed);
                    prop_assert!(!later || reaches(&env, needed, name), "{name} before {needed}: {ordered:?}");
                }
            }
        }

        #[test]
        fn without_references_the_order_is_by_name(
            env in proptest::collection::btree_map("[a-zA-Z._-]{1,4}", "[^$]{0,8}", 0..8)
        ) {
            let names: Vec<_> = in_dependency_order(&env).into_iter().map(|(name, _)| name).collect();
            prop_assert_eq!(names, env.keys().map(String::as_str).collect::<Vec<_>>());
        }
    }
}
