//! Attributes the difference of the time at each node to functions.
//!
//! A function called `c` times, each call with `s` ns of its own, takes `c * s`. A change of `s` belongs to the
//! function itself. A change of `c` belongs to a caller on the path from the test that calls its callee more often than
//! before. The calls that both versions make are compared; additional calls of one version cost as much as they cost
//! there. With base's calls `b` and head's `h`, each of `base / b` and `head / h` ns,
//!
//! ```text
//! head - base  =  min(b, h) * (head / h - base / b)  +  (h - b) * (head / h if h > b, else base / b)
//!                  the function's own                     callers that call more or less often
//! ```
//!
//! No term multiplies a measured time by more than 1, so that many additional calls do not amplify noise. The time of a
//! call may depend on the number of calls: deep recursion takes longer per call on every processor, work in smaller
//! pieces less. The ratio h / b is the product, along the path from the test, of the factors by which each node is
//! called more often per call of its caller, and by which it calls itself more often, directly or not. The second term
//! is divided among them by their logarithms. The parts of all nodes add up to the difference of the whole test.

use super::merge::{Merged, MergedNode};
use perfunit_decide as decide;
use perfunit_decide::Estimate;
use perfunit_measure::{ROOT, THREADS};
use perfunit_model::{Difference, Side, Sides};
use std::collections::BTreeMap;

/// Relative difference below which numbers of calls count as equal, because they vary between runs.
const EQUAL_CALLS: f64 = 1e-3;

/// Calls of a node in one run, as medians over pairs.
struct Counts {
    all: Sides<f64>,
    /// Calls by its caller, without direct and indirect recursion.
    from_outside: Sides<f64>,
}

impl Counts {
    fn of(node: &MergedNode) -> Self {
        let (all, recursions) = (medians(&node.calls), medians(&node.recursions));
        let outside = |all: f64, recursions: f64| if recursions < all { all - recursions } else { all };
        let from_outside = Sides { base: outside(all.base, recursions.base), head: outside(all.head, recursions.head) };
        Self { all, from_outside }
    }
}

/// A caller that calls something more or less often.
struct Caller {
    key: u64,
    /// Key of the callee.
    called: u64,
    /// Fraction attributed to this caller.
    weight: f64,
}

/// Values by pair.
type ByPair = Vec<f64>;

#[derive(Default)]
struct Account {
    own: ByPair,
    calling: BTreeMap<u64, ByPair>,
}

/// Attributes every difference to a function. All intervals hold together with probability 1 - `alpha`. Returns `None`
/// for fewer pairs than an interval needs.
pub fn attribute(merged: &Merged, alpha: f64) -> Option<Attribution> {
    attribute_joined(merged, alpha, &Joined::new())
}

/// Keys of functions, with the key of the function to whose account their own cost is added.
pub type Joined = BTreeMap<u64, u64>;

/// The same as [`attribute`], with some accounts joined.
pub fn attribute_joined(merged: &Merged, alpha: f64, joined: &Joined) -> Option<Attribution> {
    attribute_calls(merged, alpha, joined, &|_, _| false, &|_| false)
}

/// The same as [`attribute`] for instructions, with estimated calls: code that is inlined on one side has fewer entries than
/// calls on the other. A change of calls from an unchanged function to a changed one is attributed to the callee. If unchanged
/// code is called more often and does less in a call, the additional calls do less than the others did.
pub fn attribute_estimated(merged: &Merged, alpha: f64, has_changed: impl Fn(u64) -> bool) -> Option<Attribution> {
    let is_callees = |caller, callee| has_changed(callee) && !has_changed(caller);
    attribute_calls(merged, alpha, &Joined::new(), &is_callees, &|key| !has_changed(key))
}

fn attribute_calls(
    merged: &Merged,
    alpha: f64,
    joined: &Joined,
    is_callees: &dyn Fn(u64, u64) -> bool,
    is_unchanged: &dyn Fn(u64) -> bool,
) -> Option<Attribution> {
    let counts: Vec<Counts> = merged.nodes.iter().map(Counts::of).collect();
    let mut accounts: BTreeMap<u64, Account> = BTreeMap::new();
    let mut whole = vec![0.0; merged.pairs];
    for (index, node) in merged.nodes.iter().enumerate() {
        let (mut own, mut counted) = parts(node, &counts[index]);
        if is_unchanged(node.key) {
            offset(&mut own, &mut counted);
        }
        add(&mut whole, &own, 1.0);
        add(&mut whole, &counted, 1.0);
        let owner = joined.get(&responsible(node.key)).copied().unwrap_or_else(|| responsible(node.key));
        add(&mut accounts.entry(owner).or_default().own, &own, 1.0);
        for Caller { key, called, weight } in callers(merged, &counts, index) {
            let account = if is_callees(key, called) {
                &mut accounts.entry(called).or_default().own
            } else {
                accounts.entry(responsible(key)).or_default().calling.entry(called).or_default()
            };
            add(account, &counted, weight);
        }
    }
    let each = alpha / accounts.len().max(1) as f64;
    let mut parts = accounts.into_iter().map(|(key, account)| account.close(key, each)).collect::<Option<Vec<_>>>()?;
    for part in &mut parts {
        part.not_apart.extend(joined.iter().filter(|(_, with)| **with == part.key).map(|(key, _)| *key));
    }
    let whole = difference(&whole, alpha)?;
    Some(Attribution { parts: in_order(parts, &whole), whole })
}

/// Returns the key of the responsible function. The test is assumed to start all threads.
fn responsible(key: u64) -> u64 {
    if key == THREADS { ROOT } else { key }
}

fn in_order(mut parts: Vec<Part>, whole: &Difference) -> Vec<Part> {
    let direction = if whole.estimate < 0.0 { -1.0 } else { 1.0 };
    parts.sort_by(|a, b| (direction * b.change.estimate).total_cmp(&(direction * a.change.estimate)));
    parts
}

impl Account {
    fn close(self, key: u64, alpha: f64) -> Option<Part> {
        let mut all = self.own.clone();
        self.calling.values().for_each(|values| add(&mut all, values, 1.0));
        let mean = |values: &[f64]| difference(values, alpha).map(|difference| difference.estimate);
        let calling = self.calling.iter().map(|(callee, values)| Some((*callee, mean(values)?)));
        Some(Part {
            key,
            not_apart: Vec::new(),
            change: difference(&all, alpha)?,
            own_cost: if self.own.is_empty() { 0.0 } else { mean(&self.own)? },
            calling_cost: calling.collect::<Option<_>>()?,
        })
    }
}

fn add(sum: &mut ByPair, values: &[f64], weight: f64) {
    sum.resize(values.len().max(sum.len()), 0.0);
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value);
}

/// Returns, by pair, the difference of the time per call and the difference by the number of calls. If one side does
/// not call the node, all of the difference is the latter.
fn parts(node: &MergedNode, counts: &Counts) -> (ByPair, ByPair) {
    // The part of each side's time that is in calls made by both sides.
    let common = match growth(counts.all) {
        // The root has no caller.
        _ if node.key == ROOT => Sides { base: 1.0, head: 1.0 },
        Some(growth) => Sides { base: growth.min(1.0), head: growth.recip().min(1.0) },
        None => Sides { base: 0.0, head: 0.0 },
    };
    let split = |(base, head): (&f64, &f64)| {
        let own = head * common.head - base * common.base;
        (own, head - base - own)
    };
    node.self_cost.base.iter().zip(&node.self_cost.head).map(split).unzip()
}

/// Offsets own parts against parts by the number of calls that have the opposite sign.
fn offset(own: &mut ByPair, counted: &mut ByPair) {
    for (own, counted) in own.iter_mut().zip(counted) {
        if *own * *counted < 0.0 {
            let moved = own.clamp(-counted.abs(), counted.abs());
            *own -= moved;
            *counted += moved;
        }
    }
}

/// Returns the factor by which head calls more often; `None` if one side makes no calls.
fn growth(calls: Sides<f64>) -> Option<f64> {
    match (calls.base > 0.0, calls.head > 0.0) {
        (true, true) => {
            let growth = calls.head / calls.base;
            Some(if (growth - 1.0).abs() < EQUAL_CALLS { 1.0 } else { growth })
        }
        // The root of a thread is entered on neither side.
        (false, false) => Some(1.0),
        _ => None,
    }
}

/// Returns the callers on the path to this node that call more or less often, with weights that add up to 1. Empty if
/// the node is called as often as before.
fn callers(merged: &Merged, counts: &[Counts], index: usize) -> Vec<Caller> {
    let way: Vec<usize> = way_to(merged, index);
    let key = |node: usize| merged.nodes[node].key;
    let by_caller = |node: usize, weight| Caller { key: key(merged.nodes[node].parent), called: key(node), weight };
    // For a path that only one side has, the first caller on that path is responsible.
    if let Some(first) = way.iter().find(|node| growth(counts[**node].all).is_none()) {
        return vec![by_caller(*first, 1.0)];
    }
    let logarithm = |calls: Sides<f64>| growth(calls).unwrap_or(1.0).ln();
    let whole = logarithm(counts[index].all);
    if whole == 0.0 {
        return Vec::new();
    }
    let mut before = 0.0;
    let mut found = Vec::new();
    for node in way {
        let (outside, all) = (logarithm(counts[node].from_outside), logarithm(counts[node].all));
        found.push(by_caller(node, (outside - before) / whole));
        found.push(Caller { key: key(node), called: key(node), weight: (all - outside) / whole });
        before = all;
    }
    found.retain(|culprit| (culprit.weight * whole).abs() >= EQUAL_CALLS);
    found
}

/// Returns the nodes on the path from below the root to this one; empty for the root.
fn way_to(merged: &Merged, index: usize) -> Vec<usize> {
    let mut way = Vec::new();
    let mut at = index;
    while at != 0 {
        way.push(at);
        at = merged.nodes[at].parent;
    }
    way.reverse();
    way
}

/// The part of the difference that is attributed to a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Key of the site; that of the root for time outside of functions with a probe.
    pub key: u64,
    /// The whole part, per run.
    pub change: Difference,
    /// Unchanged callers with an own cost that is included here, because the two cannot be separated.
    pub not_apart: Vec<u64>,
    /// Share of the function's own calls in the part, per run.
    pub own_cost: f64,
    /// Share of calling others more or less often in the part, per run, by the key of the callee.
    pub calling_cost: BTreeMap<u64, f64>,
}

impl Part {
    /// Returns the callee with the highest cost, if calling others more or less often is most of the part.
    pub fn called_otherwise(&self) -> Option<u64> {
        let direction = self.change.estimate.signum();
        let calls: f64 = self.calling_cost.values().sum();
        let costliest = self.calling_cost.iter().max_by(|a, b| (direction * a.1).total_cmp(&(direction * b.1)));
        costliest.filter(|_| direction * calls > direction * self.own_cost).map(|(callee, _)| *callee)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Attribution {
    /// Parts in the direction of the test's difference, largest first.
    pub parts: Vec<Part>,
    /// The test's difference.
    pub whole: Difference,
}

/// Share of the test's difference below which a function is not named.
const LEAST_SHARE: f64 = 0.05;

impl Attribution {
    /// Widens each interval until it contains that of another attribution of the same test.
    pub fn widen(&mut self, other: &Self) {
        let widen = |own: &mut Difference, other: &Difference| {
            *own = Difference { low: own.low.min(other.low), high: own.high.max(other.high), ..*own };
        };
        widen(&mut self.whole, &other.whole);
        for part in &mut self.parts {
            if let Some(same) = other.parts.iter().find(|same| same.key == part.key) {
                widen(&mut part.change, &same.change);
            }
        }
    }

    /// Returns the certain parts that are large enough to be named, in the direction of the whole.
    pub fn responsible(&self) -> impl Iterator<Item = &Part> {
        self.parts
            .iter()
            .filter(|part| self.whole.is_certain() && part.change.is_certain() && self.share(part) >= LEAST_SHARE)
    }

    /// Returns a part as a fraction of the whole, or of all certain parts in its direction, if others reduce the whole.
    pub fn share(&self, part: &Part) -> f64 {
        let direction = self.whole.estimate.signum();
        let certain = self.parts.iter().filter(|part| part.change.is_certain());
        let adding: f64 = certain.map(|part| (direction * part.change.estimate).max(0.0)).sum();
        direction * part.change.estimate / adding.max(self.whole.estimate.abs())
    }
}

/// Cost of a node on both sides, per run.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeDifference {
    /// Calls, as medians over pairs.
    pub calls: Sides<f64>,
    /// Self time, as medians over pairs.
    pub self_cost: Sides<f64>,
    /// Total time, as sums of such medians.
    pub total_cost: Sides<f64>,
    /// Difference of the self time.
    pub self_change: Difference,
    /// Difference of the total time.
    pub total_change: Difference,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Differences {
    /// Differences by node of the merged tree.
    pub nodes: Vec<NodeDifference>,
    /// Level of each interval: that of the whole, divided by the number of nodes (Bonferroni).
    pub alpha: f64,
}

/// Compares both sides at every node. All intervals hold together with probability 1 - `alpha`. Returns `None` for
/// fewer pairs than an interval needs.
pub fn differences(merged: &Merged, alpha: f64) -> Option<Differences> {
    let each = alpha / merged.nodes.len() as f64;
    let totals = totals(merged);
    let mut nodes = Vec::with_capacity(merged.nodes.len());
    for (node, total) in merged.nodes.iter().zip(&totals) {
        nodes.push(NodeDifference {
            calls: medians(&node.calls),
            self_cost: medians(&node.self_cost),
            total_cost: medians(total),
            self_change: difference(&pair_differences(&node.self_cost), each)?,
            total_change: difference(&pair_differences(total), each)?,
        });
    }
    Some(Differences { nodes, alpha: each })
}

/// Returns head minus base for each pair.
pub(super) fn pair_differences(values: &Sides<Vec<f64>>) -> Vec<f64> {
    values.head.iter().zip(&values.base).map(|(head, base)| head - base).collect()
}

/// Returns the trimmed mean of the pairs' differences with its interval.
pub(super) fn difference(values: &[f64], alpha: f64) -> Option<Difference> {
    let interval = Estimate::of(values)?.interval(alpha);
    Some(Difference { estimate: interval.estimate, low: interval.low, high: interval.high })
}

/// Returns the total time by node and pair.
fn totals(merged: &Merged) -> Vec<Sides<Vec<f64>>> {
    let mut totals: Vec<Sides<Vec<f64>>> = merged.nodes.iter().map(|node| node.self_cost.clone()).collect();
    // Callers come before their callees.
    for index in (1..totals.len()).rev() {
        let (before, after) = totals.split_at_mut(index);
        let caller = &mut before[merged.nodes[index].parent];
        for side in Side::BOTH {
            for (sum, below) in caller.get_mut(side).iter_mut().zip(after[0].get(side)) {
                *sum += below;
            }
        }
    }
    totals
}

pub(super) fn medians(values: &Sides<Vec<f64>>) -> Sides<f64> {
    values.as_ref().map(|values| decide::median(&mut values.clone()))
}

/// Upper bound of the cost of timing one call on known machines, ns (`cargo bench --bench probes`).
pub(super) const PROBE_NS: f64 = 20.0;

/// Returns the functions with a part within the error of timing, and the changed functions below them.
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

/// Returns the calls of a node on the side that makes more.
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
    use super::*;
    use perfunit_measure::{ROOT, Recorded, RecordedNode};
    use perfunit_model::Sides;

    const NAMES: [&str; 6] = ["test", "threads", "a", "b", "c", "d"];

    /// Parses a tree: `a 2 x 10, a>b 4/3 x 5` is 2 calls of 10 ns each, then 4, of which 3 are recursive, and so on.
    /// Paths are written out, callers first.
    fn tree(text: &str) -> Recorded {
        let mut ways = vec![String::new()];
        let mut nodes = vec![RecordedNode { self_cost: 1.0, ..RecordedNode::root(ROOT) }];
        for entry in text.split(", ").filter(|entry| !entry.is_empty()) {
            let [way, calls, "x", each] = entry.split(' ').collect::<Vec<_>>()[..] else { panic!("{entry}") };
            let (caller, name) = way.rsplit_once('>').unwrap_or(("", way));
            let parent = ways.iter().position(|known| known == caller).unwrap();
            let key = NAMES.iter().position(|known| *known == name).unwrap() as u64;
            let (calls, recursions) = calls.split_once('/').unwrap_or((calls, "0"));
            let [calls, recursions, each] = [calls, recursions, each].map(|number| number.parse::<f64>().unwrap());
            nodes.push(RecordedNode { parent, calls, recursions, self_cost: calls * each, ..RecordedNode::root(key) });
            ways.push(way.to_owned());
        }
        Recorded { nodes }
    }

    fn attribute_sample(base: &str, head: &str) -> Attribution {
        let mut merged = Merged::default();
        (0..4).for_each(|_| merged.add(&Sides { base: tree(base), head: tree(head) }));
        attribute(&merged, 0.01).unwrap()
    }

    /// Checks the attributed parts in ns, without those that are 0.
    #[track_caller]
    fn check(base: &str, head: &str, expected: &[(&str, f64)]) {
        let attribution = attribute_sample(base, head);
        let all = attribution.parts.iter().map(|part| (NAMES[part.key as usize], part.change.estimate));
        let found: Vec<_> = all.filter(|(_, ns)| ns.abs() > 1e-9).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        for ((name, ns), (expected_name, expected_ns)) in found.iter().zip(expected) {
            assert!(name == expected_name && (ns - expected_ns).abs() < 1e-9, "{found:?}");
        }
        let sum: f64 = found.iter().map(|(_, ns)| ns).sum();
        assert!((sum - attribution.whole.estimate).abs() < 1e-9, "{sum} of {:?}", attribution.whole);
    }

    #[test]
    fn a_slower_function_pays_and_its_callers_do_not() {
        check("a 1 x 5, a>b 3 x 10", "a 1 x 5, a>b 3 x 14", &[("b", 12.0)]);
    }

    #[test]
    fn who_calls_more_often_pays_for_all_below() {
        check("a 1 x 5, a>b 2 x 10, a>b>c 2 x 3", "a 1 x 5, a>b 4 x 10, a>b>c 4 x 3", &[("a", 26.0)]);
    }

    #[test]
    fn each_of_two_pays_his_part() {
        // b is slower and called twice as often: 2 more calls of 11 ns, and 1 ns more in each of the other 2.
        check("a 1 x 5, a>b 2 x 10", "a 1 x 5, a>b 4 x 11", &[("a", 22.0), ("b", 2.0)]);
        // a calls b twice as often, b calls c twice as often: both halve c's 4 additional calls of 8 ns per 2.
        check(
            "a 1 x 5, a>b 1 x 10, a>b>c 1 x 8",
            "a 1 x 5, a>b 2 x 10, a>b>c 4 x 8",
            &[("a", 10.0 + 12.0), ("b", 12.0)],
        );
    }

    #[test]
    fn who_recurses_more_pays_and_not_who_began_it() {
        check("a 1 x 5, a>b 4/3 x 10", "a 1 x 5, a>b 8/7 x 10", &[("b", 40.0)]);
        // Called twice as often, with the same depth: a is responsible.
        check("a 1 x 5, a>b 4/3 x 10", "a 1 x 5, a>b 8/6 x 10", &[("a", 40.0)]);
        // b calls itself through c twice as often, so the additional cost of c belongs to b.
        check("b 2/1 x 10, b>c 1 x 4", "b 4/3 x 10, b>c 2 x 4", &[("b", 24.0)]);
    }

    #[test]
    fn what_is_most_of_a_charge_is_calls_of_all_together_or_its_own() {
        let first = |own: f64| {
            let head = format!("a 1 x {own}, a>b 2 x 25, a>c 2 x 24");
            attribute_sample("a 1 x 5, a>b 1 x 25, a>c 1 x 24", &head).parts[0].called_otherwise()
        };
        assert_eq!(first(5.0), Some(3));
        assert_eq!(first(45.0), Some(3));
        assert_eq!(first(65.0), None);
    }

    #[test]
    fn deeper_recursion_is_more_calls_whatever_a_call_takes_at_that_depth() {
        // Beyond some depth processors mispredict each return; below the precision of a probe a call may seem to take
        // no time.
        for (shallow, deep) in [(1.0, 1.0), (1.0, 3.0), (1.7, 40.0), (3.0, 1.0), (0.0, 3.0), (-0.2, 3.0)] {
            let (shallow_tree, deep_tree) = (format!("b 21/20 x {shallow}"), format!("b 401/400 x {deep}"));
            let parts = |part: &Part| (part.own_cost, part.calling_cost.values().sum::<f64>());
            let attributed_to = |base, head| attribute_sample(base, head).parts.swap_remove(0);
            let attributed = attributed_to(&shallow_tree, &deep_tree);
            let (own, calls) = parts(&attributed);
            assert!((own - 21.0 * (deep - shallow)).abs() < 1e-9 && (calls - 380.0 * deep).abs() < 1e-9);
            assert_eq!(attributed.called_otherwise(), Some(3), "{shallow} {deep}: {own} {calls}");
            // In the other direction only the sign changes.
            let back = parts(&attributed_to(&deep_tree, &shallow_tree));
            assert!((own + back.0).abs() < 1e-9 && (calls + back.1).abs() < 1e-9, "{back:?}");
        }
    }

    #[test]
    fn estimated_calls_of_a_changed_function_by_an_unchanged_one_are_its_own() {
        let [base, head] = ["a 1 x 5, a>b 1 x 10", "a 1 x 5, a>b 4 x 6"].map(tree);
        let mut merged = Merged::default();
        (0..4).for_each(|_| merged.add(&Sides { base: base.clone(), head: head.clone() }));
        let parts = |changed: &[u64]| {
            let attribution = attribute_estimated(&merged, 0.01, |key| changed.contains(&key)).unwrap();
            let parts = attribution.parts.into_iter().map(|part| (NAMES[part.key as usize], part.change.estimate));
            parts.filter(|(_, cost)| *cost != 0.0).collect::<Vec<_>>()
        };
        assert_eq!(parts(&[3]), [("b", 14.0)]);
        assert_eq!(parts(&[2, 3]), [("a", 18.0), ("b", -4.0)]);
        // Calls of equal code that do less than one call did before.
        assert_eq!((parts(&[2]), parts(&[])), (vec![("a", 14.0)], vec![("a", 14.0)]));
    }

    #[test]
    fn work_in_smaller_pieces_costs_nobody_more_than_it_takes() {
        // The same work in 10 calls instead of 1: each call does less, and the others do the rest.
        check("a 1 x 5, a>b 1 x 100", "a 1 x 5, a>b 10 x 10", &[("a", 90.0), ("b", -90.0)]);
    }

    #[test]
    fn a_new_call_is_the_callers_and_so_is_one_that_is_gone() {
        check("a 1 x 5", "a 1 x 5, a>b 2 x 10, a>b>c 2 x 1", &[("a", 22.0)]);
        check("a 1 x 5, a>b 2 x 10", "a 1 x 5, a>c 2 x 13", &[("a", 6.0)]);
    }

    #[test]
    fn code_that_moves_into_a_new_function_costs_nobody() {
        check("a 1 x 50", "a 1 x 30, a>b 1 x 20", &[]);
    }

    #[test]
    fn one_function_at_two_places_is_one_responsible() {
        check("a 1 x 1, b 1 x 1, a>c 1 x 5, b>c 3 x 5", "a 1 x 1, b 1 x 1, a>c 1 x 7, b>c 3 x 7", &[("c", 8.0)]);
    }

    #[test]
    fn the_largest_in_the_direction_of_the_whole_comes_first() {
        let order = |base, head| -> Vec<_> {
            let attribution = attribute_sample(base, head).parts;
            attribution.iter().map(|part| NAMES[part.key as usize]).collect()
        };
        assert_eq!(order("a 1 x 10, b 1 x 10", "a 1 x 30, b 1 x 5"), ["a", "test", "b"]);
        assert_eq!(order("a 1 x 30, b 1 x 5", "a 1 x 10, b 1 x 10"), ["a", "test", "b"]);
    }

    #[test]
    fn what_a_function_is_charged_with_is_told_apart() {
        let attribution = attribute_sample("a 1 x 5, a>b 2 x 10, a>c 1 x 4", "a 1 x 7, a>b 4 x 10, a>c 2 x 4").parts;
        let a = &attribution[0];
        assert_eq!((NAMES[a.key as usize], a.own_cost), ("a", 2.0));
        assert_eq!(a.calling_cost, BTreeMap::from([(3, 20.0), (4, 4.0)]));
    }

    #[test]
    fn too_few_pairs_have_no_interval() {
        let mut merged = Merged::default();
        merged.add(&Sides { base: tree(""), head: tree("") });
        assert_eq!(attribute(&merged, 0.01), None);
    }

    const CALLER: u64 = 2;
    const LEAF: u64 = 3;

    /// The test calls the caller once, and the caller calls the leaf this many times; costs are self costs.
    fn merge_sample(calls: f64, base: [f64; 3], head: [f64; 3]) -> Merged {
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
        let merged = merge_sample(calls, base, head);
        leaks(&merged, &attribute(&merged, 0.01).unwrap(), |key| changed.contains(&key))
    }

    #[test]
    fn what_a_caller_of_short_calls_is_charged_with_may_be_its_callees() {
        let (base, head) = ([50.0, 20.0, 10.0], [50.0, 29.0, 14.0]);
        assert_eq!(found(1.0, base, head, &[LEAF]), Joined::from([(CALLER, LEAF)]));
        let merged = merge_sample(1.0, base, head);
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
        // Each of a hundred calls may have this error.
        assert_eq!(found(100.0, [50.0, 20.0, 10.0], [50.0, 90.0, 14.0], &[LEAF]).len(), 1);
    }

    #[test]
    fn who_has_changed_pays_for_himself() {
        assert_eq!(found(1.0, [50.0, 20.0, 10.0], [50.0, 29.0, 14.0], &[CALLER, LEAF]), Joined::new());
        assert_eq!(found(1.0, [50.0, 20.0, 10.0], [50.0, 29.0, 14.0], &[]), Joined::new());
    }
}
