//! The call trees of all tests in one, to read where the time goes from the top down: nodes with the same functions on
//! the way from the test are one (Zhou and Li).

use crate::model::{Function, Profile};
use std::collections::BTreeMap;

/// A function at one place of the merged tree.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestNode {
    /// Index in [`Forest::functions`]; `None` for the tests themselves and for threads that they started.
    pub function: Option<usize>,
    /// Tests that pass here.
    pub tests: usize,
    /// Calls, over one run of each test.
    pub calls: f64,
    /// Time in itself, ns, over one run of each test.
    pub self_ns: f64,
    /// Time in all, ns, over one run of each test.
    pub total_ns: f64,
    /// `total_ns` as a part of that of all tests, 0..=1.
    pub share: f64,
    /// Indices in [`Forest::nodes`] of what it calls, the largest first.
    pub children: Vec<usize>,
}

/// The merged tree. Its first node is all tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forest {
    /// The functions of the tree.
    pub functions: Vec<Function>,
    pub nodes: Vec<ForestNode>,
}

/// Merges the trees of all tests; without any the forest has no node.
pub fn forest(profiles: &[Profile]) -> Forest {
    let mut grown = Grown::default();
    for profile in profiles {
        grown.add(profile);
    }
    let Grown { mut forest, .. } = grown;
    let whole = forest.nodes.first().map_or(0.0, |root| root.total_ns);
    let totals: Vec<f64> = forest.nodes.iter().map(|node| node.total_ns).collect();
    for node in &mut forest.nodes {
        node.share = if whole > 0.0 { node.total_ns / whole } else { 0.0 };
        node.children.sort_by(|a, b| totals[*b].total_cmp(&totals[*a]));
    }
    forest
}

/// A forest that grows, with what is needed to find nodes again.
#[derive(Default)]
struct Grown<'a> {
    forest: Forest,
    functions: BTreeMap<&'a Function, usize>,
    places: BTreeMap<(Option<usize>, Option<usize>), usize>,
}

impl<'a> Grown<'a> {
    fn add(&mut self, profile: &'a Profile) {
        let mut places = vec![0; profile.nodes.len()];
        for (index, caller) in profile.walk() {
            let node = &profile.nodes[index];
            let function = node.function.map(|function| self.function(&profile.functions[function]));
            let place = self.place(caller.map(|caller| places[caller]), function);
            places[index] = place;
            let merged = &mut self.forest.nodes[place];
            merged.calls += node.calls;
            merged.self_ns += node.self_ns;
            merged.total_ns += node.total_ns;
        }
        // Two threads may pass one way.
        places.sort_unstable();
        places.dedup();
        for place in places {
            self.forest.nodes[place].tests += 1;
        }
    }

    fn function(&mut self, function: &'a Function) -> usize {
        *self.functions.entry(function).or_insert_with(|| {
            self.forest.functions.push(function.clone());
            self.forest.functions.len() - 1
        })
    }

    fn place(&mut self, caller: Option<usize>, function: Option<usize>) -> usize {
        if let Some(place) = self.places.get(&(caller, function)) {
            return *place;
        }
        let place = self.forest.nodes.len();
        let node = ForestNode {
            function,
            tests: 0,
            calls: 0.0,
            self_ns: 0.0,
            total_ns: 0.0,
            share: 0.0,
            children: Vec::new(),
        };
        self.forest.nodes.push(node);
        self.places.insert((caller, function), place);
        if let Some(caller) = caller {
            self.forest.nodes[caller].children.push(place);
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::super::usage::tests::profile;
    use super::*;

    #[test]
    fn equal_ways_of_all_tests_are_one_node() {
        let merged =
            forest(&[profile("1", 10.0, "a 1 20, a>b 2 30"), profile("2", 0.0, "b 1 10, a 1 10, a>b 1 10, a>c 1 10")]);
        let told = |node: &ForestNode| {
            let name = node.function.map_or("", |function| merged.functions[function].name.as_str());
            (name.to_owned(), node.tests, node.total_ns, node.calls)
        };
        let children = |index: usize| -> Vec<_> {
            merged.nodes[index].children.iter().map(|child| told(&merged.nodes[*child])).collect()
        };
        assert_eq!(told(&merged.nodes[0]), (String::new(), 2, 100.0, 0.0));
        assert_eq!(children(0), [("a".to_owned(), 2, 80.0, 2.0), ("b".to_owned(), 1, 10.0, 1.0)]);
        let a = merged.nodes[0].children[0];
        assert_eq!(children(a), [("b".to_owned(), 2, 40.0, 3.0), ("c".to_owned(), 1, 10.0, 1.0)]);
        assert!((merged.nodes[a].share - 0.8).abs() < 1e-9);
    }

    #[test]
    fn nothing_makes_no_tree() {
        assert_eq!(forest(&[]), Forest::default());
    }
}
