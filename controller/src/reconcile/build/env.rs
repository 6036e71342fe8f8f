//! The order of a container's environment variables.
//!
//! Kubernetes resolves a reference `$(NAME)` in a value only to a variable that stands earlier in the
//! list. A Task's `env` is a map and has no order, so one is chosen here in which every reference
//! resolves if any order lets it.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BinaryHeap},
};

/// The variables of `env` in the order in which the container gets them.
///
/// Each variable stands after those that its value refers to; among those that may stand next, the
/// first by name does. Variables that refer to each other in a circle cannot all be resolved: they stand
/// together, by name, where the first of them would. References to variables that are not in `env` are no
/// constraint: Kubernetes leaves them as text.
///
/// Takes time in proportion to the length of `env`, whatever refers to what in it.
pub fn in_dependency_order(env: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    let variables: Vec<(&str, &str)> = env
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect();
    let place = |name: &str| variables.binary_search_by_key(&name, |(name, _)| name).ok();
    let needs: Graph = variables
        .iter()
        .map(|(_, value)| references(value).into_iter().filter_map(place).collect())
        .collect();
    order(&needs)
        .into_iter()
        .map(|variable| variables[variable])
        .collect()
}

/// Where the arrows from each node lead, a node being a number. There may be several from one to the same other.
type Graph = Vec<Vec<usize>>;

/// The nodes in an order in which each stands after those that it needs, otherwise by number, and those of a circle together.
fn order(needs: &Graph) -> Vec<usize> {
    let circle = circles(needs);
    let mut members = vec![Vec::new(); needs.len()];
    let mut needed_by = vec![Vec::new(); needs.len()];
    let mut missing = vec![0_usize; needs.len()];
    for (node, needs) in needs.iter().enumerate() {
        let into = circle[node];
        members[into].push(node);
        for from in needs.iter().map(|&needed| circle[needed]) {
            if from != into {
                needed_by[from].push(into);
                missing[into] += 1;
            }
        }
    }

    let free = (0..needs.len()).filter(|&node| circle[node] == node && missing[node] == 0);
    let mut next: BinaryHeap<_> = free.map(Reverse).collect();
    let mut ordered = Vec::with_capacity(needs.len());
    while let Some(Reverse(first)) = next.pop() {
        ordered.append(&mut members[first]);
        for &waiting in &needed_by[first] {
            missing[waiting] -= 1;
            if missing[waiting] == 0 {
                next.push(Reverse(waiting));
            }
        }
    }
    ordered
}

/// For each node the first node of its circle: of those that it reaches and that reach it. A node in no circle is its own.
///
/// Kosaraju's algorithm. It does not recurse: an API server stores Tasks of tens of thousands of variables if an older schema let it.
fn circles(graph: &Graph) -> Vec<usize> {
    let mut reversed = vec![Vec::new(); graph.len()];
    for (node, next) in graph.iter().enumerate() {
        for &next in next {
            reversed[next].push(node);
        }
    }
    let mut left = Vec::with_capacity(graph.len());
    let mut seen = vec![false; graph.len()];
    for start in 0..graph.len() {
        visit(graph, start, &mut seen, |node| left.push(node));
    }

    let mut first = vec![0; graph.len()];
    let mut seen = vec![false; graph.len()];
    for &start in left.iter().rev() {
        let mut circle = Vec::new();
        visit(&reversed, start, &mut seen, |node| circle.push(node));
        let smallest = circle.iter().copied().min().unwrap_or(start);
        for node in circle {
            first[node] = smallest;
        }
    }
    first
}

/// Goes from `start`, depth first, to the nodes that have not been seen, and calls `leave` for each after all that it leads to.
fn visit(graph: &Graph, start: usize, seen: &mut [bool], mut leave: impl FnMut(usize)) {
    if std::mem::replace(&mut seen[start], true) {
        return;
    }
    let mut path = vec![(start, graph[start].iter())];
    while let Some((node, ahead)) = path.last_mut() {
        match ahead.next() {
            Some(&next) => {
                if !std::mem::replace(&mut seen[next], true) {
                    path.push((next, graph[next].iter()));
                }
            }
            None => {
                leave(*node);
                path.pop();
            }
        }
    }
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
            let Some((name, after)) = opened.split_once(')') else {
                break;
            };
            found.push(name);
            rest = after;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::{
        collections::BTreeSet,
        time::{Duration, Instant},
    };

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
            (
                &[("A", "1"), ("B", "$(D)"), ("C", "2"), ("D", "$(B)")],
                "A B D C",
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

    /// The variables that `name` refers to, directly or through others; itself only if it does so.
    fn reached<'e>(env: &'e BTreeMap<String, String>, name: &str) -> BTreeSet<&'e str> {
        let mut reached = BTreeSet::new();
        let mut ahead = references(&env[name]);
        while let Some(next) = ahead.pop() {
            if env.contains_key(next) && reached.insert(next) {
                ahead.extend(references(&env[next]));
            }
        }
        reached
    }

    /// The order by the letter of its definition: again and again, the first by name of those that need none but those that stand
    /// already and those that need it as well, and with it the latter.
    fn by_definition(env: &BTreeMap<String, String>) -> Vec<&str> {
        let mut ordered: Vec<&str> = Vec::new();
        let is_circle = |one: &str, other: &str| {
            one == other || reached(env, one).contains(other) && reached(env, other).contains(one)
        };
        while let Some(next) = env.keys().find(|name| {
            let may_stand = |needed: &&str| ordered.contains(needed) || is_circle(name, needed);
            !ordered.contains(&name.as_str()) && reached(env, name).iter().all(may_stand)
        }) {
            let circle = env
                .keys()
                .map(String::as_str)
                .filter(|name| is_circle(next, name));
            ordered.extend(circle);
        }
        ordered
    }

    #[test]
    fn however_the_variables_refer_to_each_other_the_order_is_there_at_once() {
        let name = |index: usize| format!("A{index:06}");
        let pairs_that_need_all_later_ones = (0..256).map(|index| {
            let later = (index + 1..256).map(name);
            let partner = (index % 2 == 1).then(|| name(index - 1));
            let value = later.chain(partner).map(|name| format!("$({name})"));
            (name(index), value.collect())
        });
        let each_needs_the_next =
            (0..200_000).map(|index| (name(index), format!("$({})", name(index + 1))));
        let brackets_that_are_not_closed = (0..2).map(|index| (name(index), "$(".repeat(500_000)));
        for (env, first) in [
            (pairs_that_need_all_later_ones.collect(), 254),
            (each_needs_the_next.collect(), 199_999),
            (brackets_that_are_not_closed.collect(), 0),
        ] {
            let env: BTreeMap<_, String> = env;
            let start = Instant::now();
            let ordered = in_dependency_order(&env);
            let took = start.elapsed();
            assert_eq!(
                (ordered.len(), ordered[0].0),
                (env.len(), name(first).as_str())
            );
            assert!(took < Duration::from_secs(5), "{took:?}");
        }
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
        fn the_order_is_that_of_the_definition(env in environments()) {
            let names: Vec<_> = in_dependency_order(&env).into_iter().map(|(name, _)| name).collect();
            prop_assert_eq!(names, by_definition(&env));
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
