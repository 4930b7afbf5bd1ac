//! Merges the trees of all pairs and both sides: nodes with the same functions on the path from the test become one
//! node.

use perfunit_measure::{ROOT, Recorded, RecordedNode};
use perfunit_model::{Function, Side, Sides};
use std::collections::{BTreeMap, HashMap};

/// A node of the merged tree with the values of each pair; 0 where a process did not reach it.
#[derive(Debug, Clone, PartialEq)]
pub struct MergedNode {
    /// Key of the site.
    pub key: u64,
    /// Index of the caller; the root refers to itself.
    pub parent: usize,
    /// Calls in one run, by pair.
    pub calls: Sides<Vec<f64>>,
    /// True if calls are estimated on a side (see [`RecordedNode::is_inlined`]).
    pub is_inlined: bool,
    /// Recursive calls in one run, by pair.
    pub recursions: Sides<Vec<f64>>,
    /// Self time in one run, ns, by pair.
    pub self_cost: Sides<Vec<f64>>,
    /// Cost of probes that was subtracted from the self time, ns, by pair.
    pub probe_cost: Sides<Vec<f64>>,
}

/// The merged tree: the root is the first node, and callers come before their callees.
#[derive(Debug, Clone, PartialEq)]
pub struct Merged {
    pub nodes: Vec<MergedNode>,
    /// Number of merged pairs.
    pub pairs: usize,
    places: HashMap<(usize, u64), usize>,
}

impl Default for Merged {
    fn default() -> Self {
        let root = MergedNode::new(ROOT, 0, 0);
        Self { nodes: vec![root], pairs: 0, places: HashMap::new() }
    }
}

impl MergedNode {
    fn new(key: u64, parent: usize, pairs: usize) -> Self {
        let zeros = || Sides { base: vec![0.0; pairs], head: vec![0.0; pairs] };
        let (calls, recursions) = (zeros(), zeros());
        Self { key, parent, calls, is_inlined: false, recursions, self_cost: zeros(), probe_cost: zeros() }
    }

    /// Returns the figures of each pair, in the order of [`RecordedNode`].
    fn figures(&mut self) -> [&mut Sides<Vec<f64>>; 4] {
        [&mut self.calls, &mut self.recursions, &mut self.self_cost, &mut self.probe_cost]
    }
}

impl Merged {
    /// Returns the tree with `factors` times the measured cost of probes subtracted, by pair.
    #[must_use]
    pub fn with_probe_cost(&self, factors: &[f64]) -> Self {
        let mut corrected = self.clone();
        for node in &mut corrected.nodes {
            for side in Side::BOTH {
                let costs = node.self_cost.get_mut(side).iter_mut().zip(node.probe_cost.get_mut(side));
                for ((own, probes), factor) in costs.zip(factors) {
                    *own += (1.0 - factor) * *probes;
                    *probes *= factor;
                }
            }
        }
        corrected
    }

    /// Returns the tree in which unchanged functions call inlined ones equally often in both versions: the calls of inlined
    /// code are estimated, and loops of the callee count as calls where the compiler begins them in the caller.
    #[must_use]
    pub fn with_equal_calls_of_inlined(mut self, has_changed: impl Fn(u64) -> bool) -> Self {
        for index in 1..self.nodes.len() {
            let (callers, nodes) = self.nodes.split_at_mut(index);
            let node = &mut nodes[0];
            let caller = &callers[node.parent];
            if !node.is_inlined || has_changed(caller.key) {
                continue;
            }
            for pair in 0..self.pairs {
                let growth = |calls: &Sides<Vec<f64>>| calls.head[pair] / calls.base[pair];
                let growth = match node.parent {
                    0 => growth(&node.calls).recip(),
                    _ => growth(&caller.calls) / growth(&node.calls),
                };
                // Otherwise one version does not call one of the two.
                if growth.is_normal() {
                    node.calls.head[pair] *= growth;
                    node.recursions.head[pair] *= growth;
                }
            }
        }
        self
    }

    /// Adds the trees of a pair of processes.
    pub fn add(&mut self, pair: &Sides<Recorded>) {
        for node in &mut self.nodes {
            for figures in node.figures() {
                figures.base.push(0.0);
                figures.head.push(0.0);
            }
        }
        self.pairs += 1;
        for side in Side::BOTH {
            self.add_side(side, &pair.get(side).nodes);
        }
    }

    fn add_side(&mut self, side: Side, recorded: &[RecordedNode]) {
        let mut places = Vec::with_capacity(recorded.len());
        for (index, node) in recorded.iter().enumerate() {
            let place = if index == 0 { 0 } else { self.place(places[node.parent], node.key) };
            places.push(place);
            let merged = &mut self.nodes[place];
            merged.is_inlined |= node.is_inlined;
            // Two threads may record the same path.
            let values = [node.calls, node.recursions, node.self_cost, node.probe_cost];
            for (sums, value) in merged.figures().into_iter().zip(values) {
                *sums.get_mut(side).last_mut().expect("a pair was begun") += value;
            }
        }
    }

    fn place(&mut self, parent: usize, key: u64) -> usize {
        *self.places.entry((parent, key)).or_insert_with(|| {
            self.nodes.push(MergedNode::new(key, parent, self.pairs));
            self.nodes.len() - 1
        })
    }

    /// Returns the children of each node.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            children[node.parent].push(index);
        }
        children
    }
}

/// Functions of one version by the keys of their sites.
type Known = BTreeMap<u64, Function>;

/// Returns head's keys of functions with another key in base, with base's keys. The names must be equal and unique in a
/// package: first with modules, then only type and function.
pub fn match_renamed(known: &Sides<Known>) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    for name in [whole_name, short_name] {
        let gone =
            by_name(&known.base, |key| !known.head.contains_key(&key) && !found.values().any(|old| *old == key), name);
        let new = by_name(&known.head, |key| !known.base.contains_key(&key) && !found.contains_key(&key), name);
        for (name, old) in &gone {
            if let ([old], Some([new])) = (&old[..], new.get(name).map(Vec::as_slice)) {
                found.insert(*new, *old);
            }
        }
    }
    found
}

fn by_name(
    known: &Known,
    takes: impl Fn(u64) -> bool,
    name: fn(&Function) -> &str,
) -> BTreeMap<(&str, &str), Vec<u64>> {
    let mut found = BTreeMap::<_, Vec<u64>>::new();
    for (key, function) in known.iter().filter(|(key, _)| takes(**key)) {
        found.entry((function.package.as_str(), name(function))).or_default().push(*key);
    }
    found
}

fn whole_name(function: &Function) -> &str {
    &function.name
}

fn short_name(function: &Function) -> &str {
    let parts = function.name.rmatch_indices("::").nth(1);
    parts.map_or(&function.name, |(at, separator)| &function.name[at + separator.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(nodes: &[(u64, usize, f64)]) -> Recorded {
        let node = |&(key, parent, self_cost): &(u64, usize, f64)| RecordedNode {
            parent,
            calls: 1.0,
            self_cost,
            ..RecordedNode::root(key)
        };
        Recorded { nodes: nodes.iter().map(node).collect() }
    }

    #[test]
    fn equal_ways_are_one_node_whatever_their_order() {
        let mut merged = Merged::default();
        let base = tree(&[(ROOT, 0, 1.0), (7, 0, 2.0), (8, 0, 3.0), (9, 1, 4.0)]);
        let head = tree(&[(ROOT, 0, 1.5), (8, 0, 3.5), (7, 0, 2.5), (9, 2, 4.5)]);
        merged.add(&Sides { base: base.clone(), head });
        merged.add(&Sides { base: base.clone(), head: base });
        let found: Vec<_> =
            merged.nodes.iter().map(|node| (node.key, node.parent, node.self_cost.head.clone())).collect();
        assert_eq!(
            found,
            [(ROOT, 0, vec![1.5, 1.0]), (7, 0, vec![2.5, 2.0]), (8, 0, vec![3.5, 3.0]), (9, 1, vec![4.5, 4.0])]
        );
        assert_eq!(merged.children(), [vec![1, 2], vec![3], vec![], vec![]]);
    }

    #[test]
    fn what_only_one_process_passed_is_0_elsewhere() {
        let mut merged = Merged::default();
        merged.add(&Sides { base: tree(&[(ROOT, 0, 1.0)]), head: tree(&[(ROOT, 0, 1.0), (7, 0, 2.0)]) });
        merged.add(&Sides { base: tree(&[(ROOT, 0, 1.0), (7, 0, 2.5)]), head: tree(&[(ROOT, 0, 1.0)]) });
        assert_eq!(merged.nodes[1].self_cost, Sides { base: vec![0.0, 2.5], head: vec![2.0, 0.0] });
        assert_eq!(merged.nodes[1].calls, Sides { base: vec![0.0, 1.0], head: vec![1.0, 0.0] });
    }

    #[test]
    fn unchanged_functions_call_inlined_ones_as_often_as_before() {
        let calls = |of_run: f64, of_line: f64, of_word: f64| {
            let mut recorded = tree(&[(ROOT, 0, 1.0), (7, 0, 2.0), (8, 1, 3.0), (9, 2, 4.0)]);
            for (node, calls) in recorded.nodes[1..].iter_mut().zip([of_run, of_line, of_word]) {
                (node.calls, node.is_inlined) = (calls, true);
            }
            recorded
        };
        let mut merged = Merged::default();
        merged.add(&Sides { base: calls(1.0, 10.0, 20.0), head: calls(35.0, 30.0, 90.0) });
        merged.add(&Sides { base: calls(1.0, 0.0, 0.0), head: calls(35.0, 30.0, 90.0) });
        let head = |changed: &[u64]| {
            let merged = merged.clone().with_equal_calls_of_inlined(|key| changed.contains(&key));
            merged.nodes[1..].iter().map(|node| node.calls.head.clone()).collect::<Vec<_>>()
        };
        assert_eq!(head(&[]), [vec![1.0, 1.0], vec![10.0, 30.0], vec![20.0, 90.0]]);
        assert_eq!(head(&[8]), [vec![1.0, 1.0], vec![10.0, 30.0], vec![90.0, 90.0]]);
    }

    #[test]
    fn two_threads_on_equal_ways_add_up() {
        let mut merged = Merged::default();
        let twice = tree(&[(ROOT, 0, 1.0), (7, 0, 2.0), (7, 0, 3.0)]);
        merged.add(&Sides { base: twice.clone(), head: twice });
        assert_eq!(
            (merged.nodes.len(), merged.nodes[1].self_cost.base[0], merged.nodes[1].calls.base[0]),
            (2, 5.0, 2.0)
        );
    }

    fn known(functions: &[(u64, &str)]) -> Known {
        let function = |name: &str| Function {
            package: "p".to_owned(),
            file: "src/lib.rs".to_owned(),
            line: 1,
            name: name.to_owned(),
        };
        functions.iter().map(|(key, name)| (*key, function(name))).collect()
    }

    #[track_caller]
    fn check(base: &[(u64, &str)], head: &[(u64, &str)], expected: &[(u64, u64)]) {
        let found = match_renamed(&Sides { base: known(base), head: known(head) });
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_has_another_key_is_known_by_its_name() {
        check(&[(1, "a::T::f"), (2, "g")], &[(3, "a::T::f"), (2, "g")], &[(3, 1)]);
        // Moved to another module.
        check(&[(1, "a::T::f")], &[(3, "b::c::T::f")], &[(3, 1)]);
        check(&[(1, "a::T::f"), (2, "b::T::f")], &[(3, "a::T::f"), (4, "c::T::f")], &[(3, 1), (4, 2)]);
    }

    #[test]
    fn of_several_with_one_name_none_is_known() {
        check(&[(1, "T::f"), (2, "T::f")], &[(3, "T::f"), (4, "T::f")], &[]);
        check(&[(1, "T::f")], &[(1, "T::f"), (3, "T::f")], &[]);
        check(&[(1, "T::f")], &[(3, "T::g")], &[]);
    }
}
