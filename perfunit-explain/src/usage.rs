//! What each function takes in one test, wherever in its call tree.

use perfunit_model::{Function, Profile};
use std::collections::BTreeMap;

/// A function's part in one test, per run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Usage {
    /// How often it is called.
    pub calls: f64,
    /// Of itself.
    pub self_cost: f64,
    /// Of it and of everything that it calls; where it calls itself, the outer call has it all.
    pub total_cost: f64,
}

/// By function, in their order.
pub(super) fn usages(profile: &Profile) -> BTreeMap<&Function, Usage> {
    let mut found: BTreeMap<&Function, Usage> = BTreeMap::new();
    let mut callers = vec![None; profile.nodes.len()];
    for (index, caller) in profile.walk() {
        callers[index] = caller;
        let node = &profile.nodes[index];
        let Some(function) = node.function else { continue };
        let usage = found.entry(&profile.functions[function]).or_default();
        usage.calls += node.calls;
        usage.self_cost += node.self_cost;
        if !is_inside_itself(profile, &callers, index) {
            usage.total_cost += node.total_cost;
        }
    }
    found
}

/// Whether the node's function stands on the way to the node, too.
fn is_inside_itself(profile: &Profile, callers: &[Option<usize>], index: usize) -> bool {
    let function = profile.nodes[index].function;
    std::iter::successors(callers[index], |caller| callers[*caller])
        .any(|above| profile.nodes[above].function == function)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use perfunit_model::{Engine, ProfileNode, Profiles, TargetId, TargetKind, TestId};

    pub fn timed<const N: usize>(tests: [Profile; N]) -> Profiles {
        Profiles { engine: Engine::Probes, tests: tests.into() }
    }

    /// A function `a::b` of `src/a.rs`; its line is the length of its name.
    pub fn function(name: &str) -> Function {
        Function { package: "p".into(), file: "src/a.rs".into(), line: name.len(), name: name.into() }
    }

    /// `a 2 10, a>b 4 5`: 2 calls that take 10 ns together, and so on. Ways are written out, callers first; the test
    /// itself takes `own` ns.
    pub fn profile(test: &str, own: f64, tree: &str) -> Profile {
        let mut ways = vec![String::new()];
        let mut functions: Vec<Function> = Vec::new();
        let node =
            |function, calls, self_cost| ProfileNode { function, calls, self_cost, total_cost: 0.0, children: vec![] };
        let mut nodes = vec![node(None, 0.0, own)];
        for entry in tree.split(", ").filter(|entry| !entry.is_empty()) {
            let [way, calls, ns] = entry.split(' ').collect::<Vec<_>>()[..] else { panic!("{entry}") };
            let (caller, name) = way.rsplit_once('>').unwrap_or(("", way));
            let caller = ways.iter().position(|known| known == caller).unwrap();
            let function = function(name);
            let place = functions.iter().position(|known| *known == function).unwrap_or_else(|| {
                functions.push(function);
                functions.len() - 1
            });
            let index = nodes.len();
            nodes[caller].children.push(index);
            nodes.push(node(Some(place), calls.parse().unwrap(), ns.parse().unwrap()));
            ways.push(way.to_owned());
        }
        let target = TargetId { package: "p".into(), kind: TargetKind::Lib, name: "p".into() };
        let mut profile = Profile { test: TestId { target, name: test.into() }, functions, nodes };
        for index in (0..profile.nodes.len()).rev() {
            let below: f64 = profile.nodes[index].children.iter().map(|child| profile.nodes[*child].total_cost).sum();
            profile.nodes[index].total_cost = profile.nodes[index].self_cost + below;
        }
        profile
    }

    #[test]
    fn places_add_up_and_recursion_does_not_count_twice() {
        let profile = profile("t", 1.0, "a 1 10, a>b 2 5, a>b>a 3 2, b 1 4");
        let found: Vec<_> = usages(&profile).into_iter().map(|(function, usage)| (&*function.name, usage)).collect();
        let a = Usage { calls: 4.0, self_cost: 12.0, total_cost: 17.0 };
        let b = Usage { calls: 3.0, self_cost: 9.0, total_cost: 11.0 };
        assert_eq!(found, [("a", a), ("b", b)]);
        assert!((profile.total_cost() - 22.0).abs() < 1e-9);
    }
}
