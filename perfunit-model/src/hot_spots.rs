//! Summaries of all tests' call trees on one version: functions by rank, the merged tree, and the tests that a function
//! affects (Zhou and Li: "Distance-based root cause analysis and change impact analysis of performance regressions").

use super::{Engine, Function, TestId};

/// Spread of a cost over tests, per run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    pub max: f64,
    pub mean: f64,
    pub min: f64,
}

impl Spread {
    /// Computes the spread of at least one value; all zero without values.
    pub fn of(values: &[f64]) -> Self {
        if values.is_empty() {
            return Self { max: 0.0, mean: 0.0, min: 0.0 };
        }
        let fold = |with: fn(f64, f64) -> f64| values.iter().copied().reduce(with).unwrap_or_default();
        Self { max: fold(f64::max), mean: values.iter().sum::<f64>() / values.len() as f64, min: fold(f64::min) }
    }
}

/// A function's score in the ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Score {
    /// R: the quadratic mean of the function's shares.
    pub distance: f64,
    /// Population standard deviation of the shares.
    pub deviation: f64,
    /// R minus the deviation; functions are ranked by it.
    pub value: f64,
}

/// A function's place in the ranking.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    pub function: Function,
    /// The function's score.
    pub score: Score,
    /// The function's own cost, over the tests that call it.
    pub self_cost: Spread,
    /// Number of tests that call the function.
    pub tests: usize,
}

/// A node of the merged tree.
#[derive(Debug, Clone, PartialEq)]
pub struct ForestNode {
    /// Index in [`Forest::functions`]; `None` for the tests themselves and for threads that they started.
    pub function: Option<usize>,
    /// Number of tests with this node.
    pub tests: usize,
    /// Calls, summed over one run of each test.
    pub calls: f64,
    /// The function's own cost, summed over one run of each test.
    pub self_cost: f64,
    /// The function's cost including its callees, summed over one run of each test.
    pub total_cost: f64,
    /// `total_cost` as a fraction of the cost of all tests, 0..=1.
    pub share: f64,
    /// Indices in [`Forest::nodes`] of callees, the largest first.
    pub children: Vec<usize>,
}

/// The merged tree. Its first node is all tests.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Forest {
    /// The unit of all costs.
    pub engine: Engine,
    /// The functions in the tree.
    pub functions: Vec<Function>,
    pub nodes: Vec<ForestNode>,
}

/// The functions that match a path.
#[derive(Debug, Clone, PartialEq)]
pub struct Impact {
    /// The unit of all costs.
    pub engine: Engine,
    /// Functions with this path by package, file and line; several if the path is ambiguous.
    pub functions: Vec<FunctionImpact>,
}

/// A function with its tests.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionImpact {
    pub function: Function,
    /// Tests that call the function, ordered by its share of their time, the largest first.
    pub tests: Vec<TestImpact>,
    /// Cost of the function including its callees, over these tests.
    pub cost: Spread,
}

/// Share of a function in one test.
#[derive(Debug, Clone, PartialEq)]
pub struct TestImpact {
    pub test: TestId,
    /// The function's own share of the test's time, 0..=1.
    pub self_share: f64,
    /// Share of the function's callees in the test's time, 0..=1.
    pub children_share: f64,
    /// Cost of the function including its callees, per run.
    pub cost: f64,
    /// Calls per run.
    pub calls: f64,
}
