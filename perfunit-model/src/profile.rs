//! Profile of one test on one version: the half of an explanation that needs no other version.
//!
//! Costs are those of one run of the test body, in the engine's unit. Calls are also per run.

use super::{Engine, Explanation, Function, Side, TestId};
use serde::{Deserialize, Serialize};

/// Tests that were profiled by one engine. Costs of different engines cannot be compared.
#[derive(Debug, Clone, PartialEq)]
pub struct Profiles {
    pub engine: Engine,
    pub tests: Vec<Profile>,
}

/// The call tree of one test on one version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub test: TestId,
    /// The functions in the call tree.
    pub functions: Vec<Function>,
    /// The call tree; the first node is the test.
    pub nodes: Vec<ProfileNode>,
}

/// A node of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileNode {
    /// Index in [`Profile::functions`]; `None` for the test itself and for threads that it started.
    pub function: Option<usize>,
    /// Number of calls.
    pub calls: f64,
    /// Cost of the function itself and of callees that are not timed separately.
    pub self_cost: f64,
    /// Cost of the function including all its callees.
    pub total_cost: f64,
    /// Indices in [`Profile::nodes`] of callees.
    pub children: Vec<usize>,
}

impl Profile {
    /// Returns the cost of one run; 0 for an empty tree.
    pub fn total_cost(&self) -> f64 {
        self.nodes.first().map_or(0.0, |root| root.total_cost)
    }

    /// Returns the nodes from callers to callees, each with its caller (`None` for the test). Nodes that the test does
    /// not reach are left out.
    pub fn walk(&self) -> Vec<(usize, Option<usize>)> {
        let mut found = Vec::with_capacity(self.nodes.len());
        let mut open = if self.nodes.is_empty() { Vec::new() } else { vec![(0, None)] };
        while let Some((index, caller)) = open.pop() {
            found.push((index, caller));
            open.extend(self.nodes[index].children.iter().rev().map(|child| (*child, Some(index))));
        }
        found
    }

    /// Computes total costs from the functions' own costs, so that shares never exceed 1.
    fn add_up(&mut self) {
        let mut totals: Vec<f64> = self.nodes.iter().map(|node| node.self_cost).collect();
        for (index, caller) in self.walk().into_iter().rev() {
            self.nodes[index].total_cost = totals[index];
            if let Some(caller) = caller {
                totals[caller] += totals[index];
            }
        }
    }
}

impl Profiles {
    /// Returns the profiles of one version from explanations by this engine.
    pub fn of<'a>(engine: Engine, found: impl IntoIterator<Item = &'a Explanation>, side: Side) -> Self {
        let found = found.into_iter().filter(|explanation| explanation.engine == engine);
        Self { engine, tests: found.map(|explanation| explanation.profile(side)).collect() }
    }
}

impl Explanation {
    /// Returns the profile of one version without nodes that only the other version has.
    ///
    /// Subtracting the probes' cost can leave negative times, which become zero here.
    pub fn profile(&self, side: Side) -> Profile {
        let is_there = |index: usize| {
            let node = &self.nodes[index];
            // Threads have no calls.
            index == 0 || *node.calls.get(side) > 0.0 || *node.total_cost.get(side) > 0.0
        };
        let kept: Vec<usize> = (0..self.nodes.len()).filter(|index| is_there(*index)).collect();
        let place = |index: &usize| kept.binary_search(index).ok();
        let nodes = kept.iter().map(|index| {
            let node = &self.nodes[*index];
            ProfileNode {
                function: node.function,
                calls: *node.calls.get(side),
                self_cost: node.self_cost.get(side).max(0.0),
                total_cost: 0.0,
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
    use super::super::{CallNode, Difference, Sides, Strategy, TargetId, TargetKind};
    use super::*;
    use std::collections::BTreeMap;

    const NONE: Difference = Difference { estimate: 0.0, low: 0.0, high: 0.0 };

    fn node(function: Option<usize>, calls: [f64; 2], self_cost: [f64; 2], children: &[usize]) -> CallNode {
        let sides = |[base, head]: [f64; 2]| Sides { base, head };
        CallNode {
            function,
            calls: sides(calls),
            self_cost: sides(self_cost),
            total_cost: sides(self_cost),
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
            cost: Sides { base: 1.0, head: 1.0 },
            change: NONE,
            distortion: 1.0,
            probe_cost: Sides { base: 0.0, head: 0.0 },
            functions: Vec::new(),
            nodes,
            responsible: Vec::new(),
            causes: Vec::new(),
            code_changed: None,
            instructions: None,
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
            nodes.map(|node| (node.function, node.self_cost, node.total_cost, node.children)).collect()
        };
        let base = [(None, 5.0, 8.0, vec![2, 1]), (Some(0), 3.0, 3.0, vec![]), (Some(1), 0.0, 0.0, vec![])];
        assert_eq!(told(Side::Base), base);
        let head = [(None, 6.0, 11.0, vec![1]), (Some(1), 4.0, 5.0, vec![2]), (Some(2), 1.0, 1.0, vec![])];
        assert_eq!(told(Side::Head), head);
    }

    #[test]
    fn profiles_are_of_one_engine() {
        let timed = explanation(vec![node(None, [0.0, 0.0], [5.0, 6.0], &[])]);
        let counted = Explanation { engine: Engine::Callgrind, ..explanation(Vec::new()) };
        let profiles = |engine| Profiles::of(engine, [&timed, &counted], Side::Head).tests;
        assert_eq!(profiles(Engine::Probes), [timed.profile(Side::Head)]);
        assert_eq!(profiles(Engine::Callgrind), [counted.profile(Side::Head)]);
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
