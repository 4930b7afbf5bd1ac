//! Which functions to time, by the tree of calls: the fewer, the less the probes disturb what they measure.

use super::attribution::Attribution;
use super::merge::Merged;
use perfunit_measure::{ROOT, THREADS};
use std::collections::BTreeSet;

pub type Keys = BTreeSet<u64>;

/// The functions that the test and its threads call themselves.
pub fn first_level(tree: &Merged) -> Keys {
    called_by(tree, |key| key == ROOT || key == THREADS)
}

/// The functions that these call.
pub fn below(tree: &Merged, keys: &Keys) -> Keys {
    called_by(tree, |key| keys.contains(&key))
}

fn called_by(tree: &Merged, by: impl Fn(u64) -> bool) -> Keys {
    let called = tree.nodes.iter().skip(1).filter(|node| by(tree.nodes[node.parent].key));
    called.map(|node| node.key).filter(|key| *key != THREADS).collect()
}

/// The functions on the ways from the test to these, and what these call; `None` if the test calls none of them.
pub fn ways_to(tree: &Merged, wanted: &Keys) -> Option<Keys> {
    let mut keys = Keys::new();
    for node in tree.nodes.iter().filter(|node| wanted.contains(&node.key)) {
        let mut node = node;
        while node.key != ROOT {
            if node.key != THREADS {
                keys.insert(node.key);
            }
            node = &tree.nodes[node.parent];
        }
    }
    if keys.is_empty() {
        return None;
    }
    keys.extend(below(tree, wanted));
    Some(keys)
}

/// Where to look closer: what those call who certainly pay a part worth naming, as far as it is not timed yet. The test
/// itself is responsible for what nobody else is.
pub fn closer(tree: &Merged, attribution: &Attribution, timed: &Keys) -> Keys {
    let responsible: Keys = attribution.responsible().map(|part| part.key).collect();
    let own = called_by(tree, |key| responsible.contains(&key) || (key == THREADS && responsible.contains(&ROOT)));
    own.difference(timed).copied().collect()
}

/// Calls of one run, of the side that calls more.
pub fn all_calls(tree: &Merged) -> f64 {
    let calls = |side: fn(&super::merge::MergedNode) -> &[f64]| {
        let last = |values: &[f64]| values.last().copied().unwrap_or(0.0);
        tree.nodes.iter().map(|node| last(side(node))).sum::<f64>()
    };
    calls(|node| &node.calls.base).max(calls(|node| &node.calls.head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribute;
    use perfunit_measure::{Recorded, RecordedNode};
    use perfunit_model::Sides;

    /// Nodes as (key, parent, self time on base and on head); the root is 0.
    fn tree(nodes: &[(u64, usize, f64, f64)]) -> Merged {
        let recorded = |time: fn(&(u64, usize, f64, f64)) -> f64| {
            let below = nodes.iter().map(|node| RecordedNode {
                parent: node.1,
                calls: 1.0,
                self_cost: time(node),
                ..RecordedNode::root(node.0)
            });
            let root = RecordedNode { self_cost: 1.0, ..RecordedNode::root(ROOT) };
            Recorded { nodes: std::iter::once(root).chain(below).collect() }
        };
        let mut merged = Merged::default();
        let pair = Sides { base: recorded(|node| node.2), head: recorded(|node| node.3) };
        (0..4).for_each(|_| merged.add(&pair));
        merged
    }

    /// The test calls 10 and 11, 10 calls 12, which calls 13 and 14; a thread calls 15.
    fn example(head_of_12: f64) -> Merged {
        let nodes = [
            (10, 0, 1.0, 1.0),
            (11, 0, 1.0, 1.0),
            (12, 1, 1.0, head_of_12),
            (13, 3, 1.0, 1.0),
            (14, 3, 1.0, 1.0),
            (THREADS, 0, 0.0, 0.0),
            (15, 6, 1.0, 1.0),
        ];
        tree(&nodes)
    }

    #[test]
    fn the_first_level_is_what_the_test_and_its_threads_call() {
        assert_eq!(first_level(&example(1.0)), [10, 11, 15].into());
    }

    #[test]
    fn the_ways_to_a_function_and_what_it_calls() {
        assert_eq!(ways_to(&example(1.0), &[12].into()), Some([10, 12, 13, 14].into()));
        assert_eq!(ways_to(&example(1.0), &[15].into()), Some([15].into()));
        assert_eq!(ways_to(&example(1.0), &[99].into()), None);
    }

    #[test]
    fn one_looks_closer_below_those_who_pay() {
        let merged = example(9.0);
        let attribution = attribute(&merged, 0.01).unwrap();
        assert_eq!(closer(&merged, &attribution, &[10, 11, 12].into()), [13, 14].into());
        assert_eq!(closer(&merged, &attribution, &[10, 11, 12, 13, 14].into()), Keys::new());
    }

    #[test]
    fn all_calls_are_those_of_the_busier_side() {
        assert!((all_calls(&example(1.0)) - 7.0).abs() < 1e-9);
    }
}
