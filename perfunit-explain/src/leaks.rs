//! Time that leaks between a function and its caller.
//!
//! A clock reading waits for nothing: the processor begins a call before it has read the clock, and ends it after. So up to
//! what a probe takes may be on the wrong side of each call. Where that is all that a function with unchanged source is
//! attributed with, and it calls one that changed, the two cannot be told apart by time, and what they are attributed with
//! together is the changed one's.

use super::attribute::Joined;
use super::attribution::Attribution;
use super::differences::medians;
use super::merge::{Merged, MergedNode};

/// What timing one call takes at most on the machines that we know, ns (`cargo bench --bench probes`).
pub(super) const PROBE_NS: f64 = 20.0;

/// The functions whose part is within the error of timing, and the changed ones below them.
pub(super) fn leaks(merged: &Merged, attribution: &Attribution, has_changed: impl Fn(u64) -> bool) -> Joined {
    let direction = attribution.whole.estimate.signum();
    let mut joined = Joined::new();
    for part in attribution.responsible().filter(|part| !has_changed(part.key)) {
        let boundaries: f64 = merged
            .nodes
            .iter()
            .enumerate()
            .skip(1)
            .map(|(_, node)| {
                let is_one = node.key == part.key || merged.nodes[node.parent].key == part.key;
                if is_one { calls(node) } else { 0.0 }
            })
            .sum();
        if part.own_cost.abs() > PROBE_NS * boundaries {
            continue;
        }
        let below = merged
            .nodes
            .iter()
            .enumerate()
            .skip(1)
            .filter(|(index, node)| has_changed(node.key) && is_below(merged, *index, part.key));
        let share_of = |key: u64| {
            let found = attribution.parts.iter().find(|part| part.key == key);
            found.map_or(0.0, |part| direction * part.change.estimate)
        };
        let most = below.map(|(_, node)| node.key).max_by(|a, b| share_of(*a).total_cmp(&share_of(*b)));
        joined.extend(most.map(|callee| (part.key, callee)));
    }
    joined
}

/// Calls of a node on the side that makes more.
fn calls(node: &MergedNode) -> f64 {
    let calls = medians(&node.calls);
    calls.base.max(calls.head)
}

fn is_below(merged: &Merged, index: usize, key: u64) -> bool {
    let mut at = index;
    while at != 0 {
        at = merged.nodes[at].parent;
        if merged.nodes[at].key == key {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::super::attribute::{attribute, attribute_joined};
    use super::*;
    use perfunit_measure::{ROOT, Recorded, RecordedNode};
    use perfunit_model::Sides;

    const CALLER: u64 = 2;
    const LEAF: u64 = 3;

    /// The test calls the caller once, which calls the leaf so many times; costs are their own.
    fn merged(calls: f64, base: [f64; 3], head: [f64; 3]) -> Merged {
        let tree = |[own, caller, leaf]: [f64; 3]| {
            let node =
                |key, parent, calls, self_cost| RecordedNode { parent, calls, self_cost, ..RecordedNode::root(key) };
            Recorded { nodes: vec![node(ROOT, 0, 0.0, own), node(CALLER, 0, 1.0, caller), node(LEAF, 1, calls, leaf)] }
        };
        let mut merged = Merged::default();
        (0..4).for_each(|_| merged.add(&Sides { base: tree(base), head: tree(head) }));
        merged
    }

    fn found(calls: f64, base: [f64; 3], head: [f64; 3], changed: &[u64]) -> Joined {
        let merged = merged(calls, base, head);
        leaks(&merged, &attribute(&merged, 0.01).unwrap(), |key| changed.contains(&key))
    }

    #[test]
    fn what_a_caller_of_short_calls_is_charged_with_may_be_its_callees() {
        let (base, head) = ([50.0, 20.0, 10.0], [50.0, 29.0, 14.0]);
        assert_eq!(found(1.0, base, head, &[LEAF]), Joined::from([(CALLER, LEAF)]));
        let merged = merged(1.0, base, head);
        let joined = attribute_joined(&merged, 0.01, &Joined::from([(CALLER, LEAF)])).unwrap();
        let first = &joined.parts[0];
        assert_eq!((first.key, &first.not_apart[..]), (LEAF, &[CALLER][..]));
        assert!((first.own_cost - 13.0).abs() < 1e-9 && (joined.share(first) - 1.0).abs() < 1e-9, "{first:?}");
    }

    #[test]
    fn the_test_itself_is_such_a_caller() {
        assert_eq!(found(1.0, [50.0, 20.0, 10.0], [59.0, 20.0, 14.0], &[LEAF]), Joined::from([(ROOT, LEAF)]));
    }

    #[test]
    fn more_than_the_error_is_its_own() {
        assert_eq!(found(1.0, [50.0, 20.0, 10.0], [50.0, 90.0, 14.0], &[LEAF]), Joined::new());
        // Of a hundred calls each may be off by as much.
        assert_eq!(found(100.0, [50.0, 20.0, 10.0], [50.0, 90.0, 14.0], &[LEAF]).len(), 1);
    }

    #[test]
    fn who_has_changed_pays_for_himself() {
        assert_eq!(found(1.0, [50.0, 20.0, 10.0], [50.0, 29.0, 14.0], &[CALLER, LEAF]), Joined::new());
        assert_eq!(found(1.0, [50.0, 20.0, 10.0], [50.0, 29.0, 14.0], &[]), Joined::new());
    }
}
