//! What of a test's difference is attributed to which function.

use crate::model::Difference;
use std::collections::BTreeMap;

/// What a function is charged with.
#[derive(Debug, Clone, PartialEq)]
pub struct Charge {
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

impl Charge {
    /// What is called more or less often, if that is most of the charge: of several functions the one that costs most.
    pub fn called_otherwise(&self) -> Option<u64> {
        let direction = self.change.estimate.signum();
        let calls: f64 = self.calling_cost.values().sum();
        let costliest = self.calling_cost.iter().max_by(|a, b| (direction * a.1).total_cmp(&(direction * b.1)));
        costliest.filter(|_| direction * calls > direction * self.own_cost).map(|(callee, _)| *callee)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Charges {
    /// The largest first, in the direction of the test's difference.
    pub charges: Vec<Charge>,
    /// The test's difference.
    pub whole: Difference,
}

/// Whoever pays less than this part of the test's difference is not named.
const LEAST_SHARE: f64 = 0.05;

impl Charges {
    /// Those who certainly pay a part worth naming, in the direction of the whole.
    pub fn payers(&self) -> impl Iterator<Item = &Charge> {
        self.charges
            .iter()
            .filter(|charge| self.whole.is_certain() && charge.change.is_certain() && self.share(charge) >= LEAST_SHARE)
    }

    /// What somebody pays, as a fraction of the whole; of all that certainly adds to it, where something else takes away
    /// from it.
    pub fn share(&self, charge: &Charge) -> f64 {
        let direction = self.whole.estimate.signum();
        let certain = self.charges.iter().filter(|charge| charge.change.is_certain());
        let adding: f64 = certain.map(|charge| (direction * charge.change.estimate).max(0.0)).sum();
        direction * charge.change.estimate / adding.max(self.whole.estimate.abs())
    }
}
