//! The call trees of all tests in one, to read where the time goes from the top down: nodes with the same functions on
//! the way from the test are one (Zhou and Li).

use perfunit_model::{Forest, ForestNode, Function, Profile, Profiles};
use std::collections::BTreeMap;

/// Merges the trees of all tests; without any the forest has no node.
pub fn forest(profiles: &Profiles) -> Forest {
    let mut grown = Grown::default();
    grown.forest.engine = profiles.engine;
    for profile in &profiles.tests {
        grown.add(profile);
    }
    let Grown { mut forest, .. } = grown;
    let whole = forest.nodes.first().map_or(0.0, |root| root.total_cost);
    let totals: Vec<f64> = forest.nodes.iter().map(|node| node.total_cost).collect();
    for node in &mut forest.nodes {
        node.share = if whole > 0.0 { node.total_cost / whole } else { 0.0 };
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
            merged.self_cost += node.self_cost;
            merged.total_cost += node.total_cost;
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
            self_cost: 0.0,
            total_cost: 0.0,
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
    use super::super::usage::tests::{profile, timed};
    use super::*;

    #[test]
    fn equal_ways_of_all_tests_are_one_node() {
        let merged = forest(&timed([
            profile("1", 10.0, "a 1 20, a>b 2 30"),
            profile("2", 0.0, "b 1 10, a 1 10, a>b 1 10, a>c 1 10"),
        ]));
        let told = |node: &ForestNode| {
            let name = node.function.map_or("", |function| merged.functions[function].name.as_str());
            (name.to_owned(), node.tests, node.total_cost, node.calls)
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
        assert_eq!(forest(&timed([])), Forest::default());
    }
}
