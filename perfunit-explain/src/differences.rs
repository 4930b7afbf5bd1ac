//! Head against base at every node of the merged tree.

use super::merge::Merged;
use perfunit_decide as decide;
use perfunit_decide::Estimate;
use perfunit_model::{Difference, Side, Sides};

/// What a node takes on both sides, per run.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeDifference {
    /// Calls: the median over pairs.
    pub calls: Sides<f64>,
    /// Of itself: the median over pairs.
    pub self_cost: Sides<f64>,
    /// Of all that it does: the sum of such medians.
    pub total_cost: Sides<f64>,
    /// Difference of the time in itself.
    pub self_change: Difference,
    /// Difference of the time in all.
    pub total_change: Difference,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Differences {
    /// By node of the merged tree.
    pub nodes: Vec<NodeDifference>,
    /// The level of each interval: that of the whole, divided by the number of nodes (Bonferroni).
    pub alpha: f64,
}

/// Compares both sides at every node, such that with probability 1 - `alpha` no interval misses; `None` for fewer pairs
/// than an interval needs.
pub fn differences(merged: &Merged, alpha: f64) -> Option<Differences> {
    let each = alpha / merged.nodes.len() as f64;
    let totals = totals(merged);
    let mut nodes = Vec::with_capacity(merged.nodes.len());
    for (node, total) in merged.nodes.iter().zip(&totals) {
        nodes.push(NodeDifference {
            calls: medians(&node.calls),
            self_cost: medians(&node.self_cost),
            total_cost: medians(total),
            self_change: difference(&paired(&node.self_cost), each)?,
            total_change: difference(&paired(total), each)?,
        });
    }
    Some(Differences { nodes, alpha: each })
}

/// Head minus base of each pair.
pub(super) fn paired(values: &Sides<Vec<f64>>) -> Vec<f64> {
    values.head.iter().zip(&values.base).map(|(head, base)| head - base).collect()
}

/// The trimmed mean of the pairs' differences with its interval.
pub(super) fn difference(values: &[f64], alpha: f64) -> Option<Difference> {
    let interval = Estimate::of(values)?.interval(alpha);
    Some(Difference { estimate: interval.estimate, low: interval.low, high: interval.high })
}

/// By node and pair, the time in itself and all below.
fn totals(merged: &Merged) -> Vec<Sides<Vec<f64>>> {
    let mut totals: Vec<Sides<Vec<f64>>> = merged.nodes.iter().map(|node| node.self_cost.clone()).collect();
    // Callers stand before what they call.
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
