//! How the time of a parametrised workload grows with its parameter.

use super::{Exponent, Sides, TargetId};
use serde::{Deserialize, Serialize};

/// Workloads that differ by a number in their names, and whose time grows with a larger power of it than before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    pub target: TargetId,
    /// Their common name, with `*` in the place of the number.
    pub name: String,
    /// Exponent of the time, as a function of the number, of each version.
    pub exponent: Sides<Exponent>,
    /// The largest number.
    pub largest: u64,
    /// Head's time there, in base's.
    pub ratio: f64,
    /// Time there, in nanoseconds.
    pub ns: Sides<f64>,
}
