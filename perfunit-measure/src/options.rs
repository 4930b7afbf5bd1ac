//! How to measure and decide, as the user asked for it.

use perfunit_model::{Instructions, Metric, Placement, Threshold};
use perfunit_project::config::Terms;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// How to measure and decide.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measuring {
    pub threshold: Threshold,
    /// The change that an inconclusive test may have reached.
    #[serde(default = "Threshold::of_inconclusive")]
    pub bound: Threshold,
    /// Probability of a false verdict per test before confirmation.
    pub alpha: f64,
    /// Longest life of one measured process.
    pub timeout: Duration,
    pub budget: Option<Duration>,
    /// Longest measuring of one test.
    pub per_test_budget: Duration,
    /// Seed of the random shifts and of what tests draw.
    pub seed: u64,
    /// Give both processes of a pair the same random numbers.
    pub equal_seeds: bool,
    /// Tests that other runs measure, with which this one shares its error rate.
    #[serde(default)]
    pub others: usize,
    /// Runs that share one family-wise error rate, this one included; each has an equal part.
    #[serde(default = "one")]
    pub family: usize,
    /// Whether layouts are matched.
    pub placement: Placement,
    /// The metrics that decide the verdicts, each once.
    pub gates: Vec<Metric>,
    /// Where instructions come from.
    pub instructions: Instructions,
}

impl Measuring {
    /// The terms of a test of which nothing else is said.
    pub fn terms(&self) -> Terms {
        Terms {
            threshold: self.threshold,
            per_test_budget: self.per_test_budget,
            timeout: self.timeout,
            gates: self.gates.clone(),
            threshold_from: None,
            gates_from: None,
            accepted: None,
        }
    }
}

fn one() -> usize {
    1
}

impl Default for Measuring {
    /// As without any option, but for the seed, which is then drawn.
    fn default() -> Self {
        Self {
            threshold: Threshold::default(),
            bound: Threshold::of_inconclusive(),
            alpha: 0.01,
            timeout: Duration::from_secs(10),
            budget: None,
            per_test_budget: Duration::from_secs(10),
            seed: 0,
            equal_seeds: true,
            others: 0,
            family: one(),
            placement: Placement::default(),
            gates: vec![Metric::Time],
            instructions: Instructions::default(),
        }
    }
}
