//! What of a test's difference is attributed to which function.

use perfunit_model::Difference;
use std::collections::BTreeMap;

/// What is attributed to a function.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// The site's key; of the root for what nobody with a probe did.
    pub key: u64,
    /// All of it, per run.
    pub change: Difference,
    /// Unchanged callers whose own cost is part of its own, because the two cannot be told apart.
    pub not_apart: Vec<u64>,
    /// Of this what its own calls take more or less, per run.
    pub own_cost: f64,
    /// Of this what calling others more or less often costs, per run, by the key of what is called.
    pub calling_cost: BTreeMap<u64, f64>,
}

impl Part {
    /// What is called more or less often, if that is most of the part: of several functions the one that costs most.
    pub fn called_otherwise(&self) -> Option<u64> {
        let direction = self.change.estimate.signum();
        let calls: f64 = self.calling_cost.values().sum();
        let costliest = self.calling_cost.iter().max_by(|a, b| (direction * a.1).total_cmp(&(direction * b.1)));
        costliest.filter(|_| direction * calls > direction * self.own_cost).map(|(callee, _)| *callee)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Attribution {
    /// The largest first, in the direction of the test's difference.
    pub parts: Vec<Part>,
    /// The test's difference.
    pub whole: Difference,
}

/// A function with less than this part of the test's difference is not named.
const LEAST_SHARE: f64 = 0.05;

impl Attribution {
    /// Widens each interval until it holds that of another attribution of the same test.
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

    /// Those with a certain part worth naming, in the direction of the whole.
    pub fn responsible(&self) -> impl Iterator<Item = &Part> {
        self.parts
            .iter()
            .filter(|part| self.whole.is_certain() && part.change.is_certain() && self.share(part) >= LEAST_SHARE)
    }

    /// A part as a fraction of the whole; of all that certainly adds to it, where something else takes away
    /// from it.
    pub fn share(&self, part: &Part) -> f64 {
        let direction = self.whole.estimate.signum();
        let certain = self.parts.iter().filter(|part| part.change.is_certain());
        let adding: f64 = certain.map(|part| (direction * part.change.estimate).max(0.0)).sum();
        direction * part.change.estimate / adding.max(self.whole.estimate.abs())
    }
}
