//! Summaries of the call trees of all tests of one version: functions by rank, the merged tree, and the tests that a
//! function matters to (Zhou and Li: "Distance-based root cause analysis and change impact analysis of performance
//! regressions").

use super::{Engine, Function, TestId};

/// Over tests, per run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub max: f64,
    pub mean: f64,
    pub min: f64,
}

impl Spread {
    /// Of at least one value; of none all is 0.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self { max: 0.0, mean: 0.0, min: 0.0 };
        }
        let fold = |with: fn(f64, f64) -> f64| values.iter().copied().reduce(with).unwrap_or_default();
        Self { max: fold(f64::max), mean: values.iter().sum::<f64>() / values.len() as f64, min: fold(f64::min) }
    }
}

/// A function's place in the ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// R: the quadratic mean of its shares.
    pub distance: f64,
    /// Population standard deviation of its shares.
    pub deviation: f64,
    /// R less the deviation: what functions are ranked by.
    pub value: f64,
}

/// A function's place in the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub function: Function,
    /// By what it is ranked.
    pub score: Score,
    /// Of itself, over the tests that call it.
    pub self_cost: Spread,
    /// How many tests call it.
    pub tests: usize,
}

/// A function at one place of the merged tree.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestNode {
    /// Index in [`Forest::functions`]; `None` for the tests themselves and for threads that they started.
    pub function: Option<usize>,
    /// Tests that pass here.
    pub tests: usize,
    /// Calls, over one run of each test.
    pub calls: f64,
    /// Of itself, over one run of each test.
    pub self_cost: f64,
    /// Of all, over one run of each test.
    pub total_cost: f64,
    /// `total_cost` as a part of that of all tests, 0..=1.
    pub share: f64,
    /// Indices in [`Forest::nodes`] of what it calls, the largest first.
    pub children: Vec<usize>,
}

/// The merged tree. Its first node is all tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forest {
    /// The unit of all costs.
    pub engine: Engine,
    /// The functions of the tree.
    pub functions: Vec<Function>,
    pub nodes: Vec<ForestNode>,
}

/// What a path names.
#[derive(Debug, Clone, PartialEq)]
pub struct Impact {
    /// The unit of all costs.
    pub engine: Engine,
    /// Each function with this path, by package, file and line; more than one if the path does not tell them apart.
    pub functions: Vec<FunctionImpact>,
}

/// A function with its tests.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionImpact {
    pub function: Function,
    /// The tests that call it, those first to whose time it contributes the largest part.
    pub tests: Vec<TestImpact>,
    /// Of it and of everything that it calls, over these tests.
    pub cost: Spread,
}

/// What a function is to one test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestImpact {
    pub test: TestId,
    /// Part of the test's time in the function itself, 0..=1.
    pub self_share: f64,
    /// Part of the test's time in what the function calls, 0..=1.
    pub children_share: f64,
    /// Of it and of everything that it calls in one run.
    pub cost: f64,
    /// Calls in one run.
    pub calls: f64,
}
