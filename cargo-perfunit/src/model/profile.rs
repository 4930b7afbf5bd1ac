//! Where the time of one test goes, on one version: the half of an explanation that needs no other version.
//!
//! All times are nanoseconds for one run of the test body, all calls for one run, too.

use super::{Explanation, Function, Side, TestId};
use serde::{Deserialize, Serialize};

/// The call tree of one test on one version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub test: TestId,
    /// The functions of the tree.
    pub functions: Vec<Function>,
    /// The tree; the first is the test.
    pub nodes: Vec<ProfileNode>,
}

/// A function at one place of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileNode {
    /// Index in [`Profile::functions`]; `None` for the test itself and for threads that it started.
    pub function: Option<usize>,
    /// How often it was called.
    pub calls: f64,
    /// Time in it and in what it calls that carries no probe, ns.
    pub self_ns: f64,
    /// Time in it and in everything that it calls, ns.
    pub total_ns: f64,
    /// Indices in [`Profile::nodes`] of what it calls.
    pub children: Vec<usize>,
}

impl Profile {
    /// Time of one run, ns; 0 for an empty tree.
    pub fn total_ns(&self) -> f64 {
        self.nodes.first().map_or(0.0, |root| root.total_ns)
    }

    /// The tree from callers to what they call, each node with the node that calls it (the test has none). A node that
    /// is not reached from the test is left out.
    pub fn walk(&self) -> Vec<(usize, Option<usize>)> {
        let mut found = Vec::with_capacity(self.nodes.len());
        let mut open = if self.nodes.is_empty() { Vec::new() } else { vec![(0, None)] };
        while let Some((index, caller)) = open.pop() {
            found.push((index, caller));
            open.extend(self.nodes[index].children.iter().rev().map(|child| (*child, Some(index))));
        }
        found
    }

    /// Sets the time in all from the times in themselves, so that shares of it never add up to more than 1.
    fn add_up(&mut self) {
        let mut totals: Vec<f64> = self.nodes.iter().map(|node| node.self_ns).collect();
        for (index, caller) in self.walk().into_iter().rev() {
            self.nodes[index].total_ns = totals[index];
            if let Some(caller) = caller {
                totals[caller] += totals[index];
            }
        }
    }
}

impl Explanation {
    /// What one of the two versions does, without the places that only the other one passes.
    ///
    /// What was subtracted for the probes can leave a node with less than no time; here it has none.
    pub fn profile(&self, side: Side) -> Profile {
        let is_there = |index: usize| {
            let node = &self.nodes[index];
            // Threads are called by nobody.
            index == 0 || *node.calls.get(side) > 0.0 || *node.total_ns.get(side) > 0.0
        };
        let kept: Vec<usize> = (0..self.nodes.len()).filter(|index| is_there(*index)).collect();
        let place = |index: &usize| kept.binary_search(index).ok();
        let nodes = kept.iter().map(|index| {
            let node = &self.nodes[*index];
            ProfileNode {
                function: node.function,
                calls: *node.calls.get(side),
                self_ns: node.self_ns.get(side).max(0.0),
                total_ns: 0.0,
                children: node.children.iter().filter_map(place).collect(),
            }
        });
        let mut profile =
            Profile { test: self.test.clone(), nodes: nodes.collect(), functions: self.functions.clone() };
        profile.add_up();
        profile
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CallNode, Difference, Engine, Sides, Strategy, TargetId, TargetKind};
    use super::*;
    use std::collections::BTreeMap;

    const NONE: Difference = Difference { estimate: 0.0, low: 0.0, high: 0.0 };

    fn node(function: Option<usize>, calls: [f64; 2], self_ns: [f64; 2], children: &[usize]) -> CallNode {
        let sides = |[base, head]: [f64; 2]| Sides { base, head };
        CallNode {
            function,
            calls: sides(calls),
            self_ns: sides(self_ns),
            total_ns: sides(self_ns),
            self_change: NONE,
            total_change: NONE,
            children: children.to_vec(),
        }
    }

    fn explanation(nodes: Vec<CallNode>) -> Explanation {
        let target = TargetId { package: "p".into(), kind: TargetKind::Lib, name: "p".into() };
        Explanation {
            test: TestId { target, name: "t".into() },
            engine: Engine::Probes,
            strategy: Strategy::Complete,
            seconds: 1.5,
            pairs: 8,
            ns: Sides { base: 1.0, head: 1.0 },
            change: NONE,
            distortion: 1.0,
            probe_cost_ns: Sides { base: 0.0, head: 0.0 },
            functions: Vec::new(),
            nodes,
            blamed: Vec::new(),
            causes: Vec::new(),
            code_changed: None,
            without_probe: BTreeMap::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_side_has_only_the_places_that_it_passes() {
        let explanation = explanation(vec![
            node(None, [0.0, 0.0], [5.0, 6.0], &[2, 1]),
            node(Some(0), [1.0, 0.0], [3.0, 0.0], &[]),
            node(Some(1), [1.0, 2.0], [-0.5, 4.0], &[3]),
            node(Some(2), [0.0, 2.0], [0.0, 1.0], &[]),
        ]);
        let told = |side: Side| -> Vec<_> {
            let nodes = explanation.profile(side).nodes.into_iter();
            nodes.map(|node| (node.function, node.self_ns, node.total_ns, node.children)).collect()
        };
        let base = [(None, 5.0, 8.0, vec![2, 1]), (Some(0), 3.0, 3.0, vec![]), (Some(1), 0.0, 0.0, vec![])];
        assert_eq!(told(Side::Base), base);
        let head = [(None, 6.0, 11.0, vec![1]), (Some(1), 4.0, 5.0, vec![2]), (Some(2), 1.0, 1.0, vec![])];
        assert_eq!(told(Side::Head), head);
    }

    #[test]
    fn the_walk_goes_from_callers_to_what_they_call() {
        let tree = explanation(vec![
            node(None, [0.0, 0.0], [5.0, 6.0], &[2, 1]),
            node(Some(0), [1.0, 1.0], [3.0, 3.0], &[]),
            node(Some(1), [1.0, 2.0], [1.0, 4.0], &[3]),
            node(Some(2), [1.0, 2.0], [1.0, 1.0], &[]),
        ]);
        assert_eq!(tree.profile(Side::Head).walk(), [(0, None), (2, Some(0)), (3, Some(2)), (1, Some(0))]);
    }
}
