//! What the pairs behind a verdict showed, one by one: for plots.

use super::Sides;
use serde::{Deserialize, Serialize};

/// The figures from which an interval was made.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Head's change as a fraction of base, one for each unit of replication in the order of measuring: a pair of
    /// processes, or a layout where there were several.
    #[serde(deserialize_with = "super::float::list")]
    pub estimates: Vec<f64>,
    /// Time of one run in a batch, ns, over the batches of all pairs (first calls, where these were compared): quantiles
    /// at equal steps, the smallest first and the largest last. Empty if nothing was measured.
    #[serde(deserialize_with = "super::float::lists")]
    pub batches: Sides<Vec<f64>>,
}

impl Sample {
    /// Quantiles of a side's batches: one every 5 %.
    pub const QUANTILES: usize = 21;
}
