//! The user's settings for measuring and deciding.

use perfunit_model::{Instructions, Metric, Placement, Threshold};
use perfunit_project::config::Terms;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The settings for measuring and deciding.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measuring {
    pub threshold: Threshold,
    /// The largest change that an inconclusive test may have.
    #[serde(default = "Threshold::of_inconclusive")]
    pub bound: Threshold,
    /// The probability of a false verdict per test before confirmation.
    pub alpha: f64,
    /// The timeout of each measured process.
    pub timeout: Duration,
    pub budget: Option<Duration>,
    /// The time budget of one test.
    pub per_test_budget: Duration,
    /// The seed of the random shifts and of the tests' random numbers.
    pub seed: u64,
    /// The number of tests that other runs measure and that share the error rate of this run.
    #[serde(default)]
    pub others: usize,
    /// The number of runs that share one family-wise error rate, including this one; each run has an equal part.
    #[serde(default = "one")]
    pub family: usize,
    /// The placement of code, which selects whether layouts are matched.
    pub placement: Placement,
    /// The metrics that decide the verdicts, each once.
    pub gates: Vec<Metric>,
    /// The source of instruction counts.
    pub instructions: Instructions,
}

impl Measuring {
    /// Returns the terms of a test without settings of its own.
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
    /// Returns the settings of a run without options, except the seed, which such a run draws.
    fn default() -> Self {
        Self {
            threshold: Threshold::default(),
            bound: Threshold::of_inconclusive(),
            alpha: 0.01,
            timeout: Duration::from_secs(10),
            budget: None,
            per_test_budget: Duration::from_secs(10),
            seed: 0,
            others: 0,
            family: one(),
            placement: Placement::default(),
            gates: vec![Metric::Time],
            instructions: Instructions::default(),
        }
    }
}
