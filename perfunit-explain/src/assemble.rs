//! Builds an [`Explanation`] from figures by key.

use super::attribute::{Attribution, Differences, Part};
use super::merge::{Merged, MergedNode};
use perfunit_measure::{ROOT, THREADS};
use perfunit_model::{
    CallNode, ChangeKind, Difference, Engine, Explanation, ExplanationNote, Function, Responsibility,
    ResponsibleFunction, Sides, Strategy, TestId, Unprobed,
};
use std::collections::{BTreeMap, BTreeSet};

/// Facts about the test in addition to its trees.
pub struct Known<'a> {
    pub test: &'a TestId,
    pub engine: Engine,
    /// Strategy of the explanation.
    pub strategy: Strategy,
    /// Wall time of the explanation, s.
    pub seconds: f64,
    /// The times without probes, if functions are timed by probes.
    pub plain: Option<Plain>,
    /// Cost of the probes in one run, ns.
    pub probe_cost: Sides<f64>,
    /// Functions with probes by the keys of their sites.
    pub functions: &'a Sides<BTreeMap<u64, Function>>,
    /// Number of calls in one process that did not fit into its tree.
    pub overflow: u64,
    /// Head's functions without a probe, by reason.
    pub without_probe: BTreeMap<Unprobed, usize>,
    /// Returns the change of a function's source; `None` if there is none.
    pub changed: &'a dyn Fn(&Function) -> Option<ChangeKind>,
    /// Returns the names in a function's source, sorted.
    pub names: &'a dyn Fn(&Function) -> Vec<String>,
    /// Returns the test's own source; `None` if it is not found.
    pub of_test: &'a dyn Fn() -> Option<OfTest>,
}

/// Times of a test without probes.
#[derive(Debug, Clone, Copy)]
pub struct Plain {
    /// Time of one run on base, ns.
    pub base_ns: f64,
    /// Difference to be explained, ns per run.
    pub difference: Difference,
}

impl Known<'_> {
    /// Returns how many times as long a run on base takes with probes, without their own time.
    fn distortion(&self, cost_base: f64) -> f64 {
        self.plain.map_or(1.0, |plain| cost_base / plain.base_ns)
    }
}

/// The source of a test, or of the macro call that generates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfTest {
    pub file: String,
    /// Names in the source, sorted.
    pub names: Vec<String>,
    /// File and name of the changed items to which no names lead from here (see [`perfunit_select::reach::unreached`]).
    pub unreached: BTreeSet<(String, String)>,
}

/// Returns the function with this key, from head if it exists there.
pub fn function_of(functions: &Sides<BTreeMap<u64, Function>>, key: u64) -> Option<&Function> {
    functions.head.get(&key).or_else(|| functions.base.get(&key))
}

/// Returns the explanation that names the responsible functions of an attribution.
pub fn told(merged: &Merged, differences: &Differences, attribution: &Attribution, known: &Known<'_>) -> Explanation {
    let named: Vec<&Part> = attribution.responsible().collect();
    told_of((&named, attribution), merged, differences, attribution, known)
}

/// Returns the explanation that names functions, with the attribution that they are parts of.
pub fn told_of(
    (named, parts_of): (&[&Part], &Attribution),
    merged: &Merged,
    differences: &Differences,
    attribution: &Attribution,
    known: &Known<'_>,
) -> Explanation {
    let mut catalogue = Catalogue { known: known.functions, places: BTreeMap::new(), functions: Vec::new() };
    let nodes = nodes(merged, differences, &mut catalogue);
    let responsible =
        named.iter().filter_map(|part| catalogue.responsible(part, parts_of, merged, known.changed)).collect();
    let cost = differences.nodes[0].total_cost;
    Explanation {
        test: known.test.clone(),
        engine: known.engine,
        strategy: known.strategy,
        seconds: known.seconds,
        pairs: merged.pairs,
        cost,
        change: attribution.whole,
        distortion: known.distortion(cost.base),
        probe_cost: known.probe_cost,
        without_probe: known.without_probe.clone(),
        notes: notes(named, attribution, cost.base, known),
        functions: catalogue.functions,
        nodes,
        responsible,
        causes: Vec::new(),
        code_changed: None,
        instructions: None,
    }
}

/// Removes responsible functions and causes if they contradict the change (a fraction) to be explained.
pub fn unless_contrary(mut explanation: Explanation, change: f64) -> Explanation {
    let found = explanation.change;
    if found.is_certain() && found.estimate.signum() != change.signum() {
        explanation.responsible.clear();
        explanation.causes.clear();
        explanation.notes.retain(|note| !matches!(note, ExplanationNote::InTest { .. }));
        let change = found.estimate / explanation.cost.base;
        explanation.notes.insert(0, ExplanationNote::OtherWay { engine: explanation.engine, change });
    }
    explanation
}

/// Factor of distortion from which a note warns that probes change the test.
const MUCH_DISTORTED: f64 = 2.0;

fn notes(named: &[&Part], attribution: &Attribution, cost_base: f64, known: &Known<'_>) -> Vec<ExplanationNote> {
    let engine = known.engine;
    let mut notes = Vec::new();
    if known.overflow > 0 {
        notes.push(ExplanationNote::NoRoom { calls: known.overflow });
    }
    if !attribution.whole.is_certain() && named.is_empty() {
        notes.push(not_shown(engine, attribution.whole, cost_base, known.plain));
        return notes;
    }
    let distortion = known.distortion(cost_base);
    if distortion >= MUCH_DISTORTED {
        notes.push(ExplanationNote::Distorted { factor: distortion });
    }
    if let Some(part) = named.iter().find(|part| part.key == ROOT) {
        notes.push(ExplanationNote::InTest { engine, share: attribution.share(part) });
    }
    notes
}

/// Returns the note on a difference that is not certain; `base` is what a run on base costs.
fn not_shown(engine: Engine, found: Difference, base: f64, plain: Option<Plain>) -> ExplanationNote {
    let Difference { low, high, .. } = found;
    match plain {
        Some(plain) if low < plain.difference.estimate && plain.difference.estimate < high => {
            ExplanationNote::LeftOpen { low: low / base, high: high / base }
        }
        _ => ExplanationNote::DoesNotShow { engine },
    }
}

fn nodes(merged: &Merged, differences: &Differences, catalogue: &mut Catalogue<'_>) -> Vec<CallNode> {
    let mut children = merged.children();
    for below in &mut children {
        let change = |index: &usize| differences.nodes[*index].total_change.estimate.abs();
        below.sort_by(|a, b| change(b).total_cmp(&change(a)));
    }
    let all = merged.nodes.iter().zip(&differences.nodes).zip(children);
    all.map(|((node, found), children)| CallNode {
        function: catalogue.place(node.key),
        calls: found.calls,
        self_cost: found.self_cost,
        total_cost: found.total_cost,
        self_change: found.self_change,
        total_change: found.total_change,
        children,
    })
    .collect()
}

/// Functions named so far.
struct Catalogue<'a> {
    known: &'a Sides<BTreeMap<u64, Function>>,
    places: BTreeMap<u64, usize>,
    functions: Vec<Function>,
}

impl Catalogue<'_> {
    /// Returns the index of the function with this key, from head if it exists there.
    fn place(&mut self, key: u64) -> Option<usize> {
        if key == ROOT || key == THREADS {
            return None;
        }
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let function = function_of(self.known, key)?;
        self.functions.push(function.clone());
        self.places.insert(key, self.functions.len() - 1);
        Some(self.functions.len() - 1)
    }

    fn responsible(
        &mut self,
        part: &Part,
        attribution: &Attribution,
        merged: &Merged,
        changed: &dyn Fn(&Function) -> Option<ChangeKind>,
    ) -> Option<ResponsibleFunction> {
        let function = self.place(part.key)?;
        let calls = all_calls(merged, part.key);
        let callee = part.called_otherwise().and_then(|callee| Some((callee, self.place(callee)?)));
        Some(ResponsibleFunction {
            function,
            how: callee.map_or(Responsibility::ItsOwn, |(_, place)| Responsibility::CallsOf(place)),
            change: part.change,
            share: attribution.share(part),
            calls,
            calls_each: callee.map(|(key, _)| calls_each(merged, part.key, key, calls)),
            changed: changed(&self.functions[function]),
            not_apart: part.not_apart.iter().map(|key| self.place(*key)).collect(),
        })
    }
}

/// Returns the calls of a function in one run, from all callers.
fn all_calls(merged: &Merged, key: u64) -> Sides<f64> {
    sum(merged, |node| &node.calls, |node| node.key == key)
}

/// Returns the calls of one function by another per call of the caller; recursive calls per call from outside.
fn calls_each(merged: &Merged, by: u64, of: u64, calls: Sides<f64>) -> Sides<f64> {
    let each = |called: f64, calls: f64| if calls > 0.0 { called / calls } else { 0.0 };
    if by == of {
        let again = sum(merged, |node| &node.recursions, |node| node.key == of);
        return Sides {
            base: each(again.base, calls.base - again.base),
            head: each(again.head, calls.head - again.head),
        };
    }
    let called = sum(merged, |node| &node.calls, |node| node.key == of && merged.nodes[node.parent].key == by);
    Sides { base: each(called.base, calls.base), head: each(called.head, calls.head) }
}

fn sum(
    merged: &Merged,
    figure: impl Fn(&MergedNode) -> &Sides<Vec<f64>>,
    takes: impl Fn(&MergedNode) -> bool,
) -> Sides<f64> {
    let mut sum = Sides { base: 0.0, head: 0.0 };
    for node in merged.nodes.iter().skip(1).filter(|node| takes(node)) {
        let Sides { base, head } = super::attribute::medians(figure(node));
        sum.base += base;
        sum.head += head;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_disappears_only_if_the_interval_excludes_it() {
        let interval = |low: f64, high: f64| Difference { estimate: low.midpoint(high), low, high };
        let plain = Plain { base_ns: 1000.0, difference: interval(90.0, 110.0) };
        let note = |low, high| not_shown(Engine::Probes, interval(low, high), 2000.0, Some(plain)).to_string();
        assert_eq!(note(-30.0, 40.0), "the difference disappears with probes");
        assert_eq!(note(-30.0, 1400.0), "times with probes vary too much: the test changed by -1.5 % to +70.0 %");
    }
}
