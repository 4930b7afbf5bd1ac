//! The explanation of a slower or faster test: the responsible functions and the call tree.
//!
//! Costs are those of one run of the test body, in the engine's unit. Calls are also per run.

use super::{Cause, ChangeKind, Engine, ExplanationNote, Sides, Strategy, TestId, Unexplained, Unprobed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Difference between head and base, with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Best estimate.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub estimate: f64,
    /// Lower end.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub low: f64,
    /// Upper end.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub high: f64,
}

impl Difference {
    /// Returns true if the interval excludes 0.
    pub fn is_certain(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// A function of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Function {
    /// Name of the package.
    pub package: String,
    /// Path of the file, relative to the repository's root.
    pub file: String,
    /// Line of the function's name, from 1; in head if the function exists there.
    pub line: usize,
    /// Inline modules, type or trait, and name: `parser::Parser::parse_line`.
    pub name: String,
}

impl Function {
    /// Returns the file and line; `None` outside of the workspace.
    pub fn place(&self) -> Option<String> {
        (!self.file.is_empty()).then(|| format!("{}:{}", self.file, self.line))
    }

    /// Returns true if a path names the function: its whole path with or without the crate, or the last segments.
    pub fn is_named(&self, path: &str) -> bool {
        let krate = self.package.replace('-', "_");
        is_end_of_path(path, &self.name) || is_end_of_path(path, &format!("{krate}::{}", self.name))
    }
}

/// The share of the difference from which another change is its main cause.
pub const MOST: f64 = 0.5;

/// Returns whether a name is a path, or its last segments.
pub fn is_end_of_path(name: &str, path: &str) -> bool {
    path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
}

/// A node of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallNode {
    /// Index in [`Explanation::functions`]; `None` for the test itself and for threads that it started.
    pub function: Option<usize>,
    /// Number of calls.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub calls: Sides<f64>,
    /// Cost of the function itself and of callees that are not timed separately.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub self_cost: Sides<f64>,
    /// Cost of the function including all its callees.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub total_cost: Sides<f64>,
    /// Difference of `self_cost`.
    pub self_change: Difference,
    /// Difference of `total_cost`.
    pub total_change: Difference,
    /// Indices in [`Explanation::nodes`] of callees, the largest difference first.
    pub children: Vec<usize>,
}

/// Kind of a function's responsibility.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Responsibility {
    /// Its own code takes longer or shorter, apart from its callees.
    ItsOwn,
    /// It calls this function, an index in [`Explanation::functions`], more or less often.
    CallsOf(usize),
}

/// A function that is responsible for part of the difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponsibleFunction {
    /// Index in [`Explanation::functions`].
    pub function: usize,
    /// The kind with the larger part.
    pub how: Responsibility,
    /// The part of the difference that is attributed to the function.
    pub change: Difference,
    /// The part as a fraction of the test's difference; if other functions became faster, of everything that became
    /// slower.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub share: f64,
    /// Number of calls of the function.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub calls: Sides<f64>,
    /// Number of calls of the function in [`Responsibility::CallsOf`] per call of this one; if it calls itself, per
    /// call while it was not active.
    #[serde(default, deserialize_with = "super::json_forms::float::sides_if_any")]
    pub calls_each: Option<Sides<f64>>,
    /// Change of the function's source; `None` if it is unchanged.
    pub changed: Option<ChangeKind>,
    /// Callers with unchanged source that contribute to `change`, because calls are too short to be timed separately;
    /// `None` for the test itself.
    #[serde(default)]
    pub not_apart: Vec<Option<usize>>,
}

/// The explanation of one test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    pub test: TestId,
    /// The engine, which determines the unit of costs: ns or instructions.
    pub engine: Engine,
    /// How functions to time were chosen.
    pub strategy: Strategy,
    /// Wall time of the explanation without builds, in seconds.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub seconds: f64,
    /// Pairs of processes behind the intervals.
    pub pairs: usize,
    /// Cost of one run, after subtracting the probes' calibrated cost.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub cost: Sides<f64>,
    /// Difference of `cost`.
    pub change: Difference,
    /// Base's `cost` as a multiple of its time without probes.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub distortion: f64,
    /// Cost of the probes in one run: an upper bound of the remaining bias.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub probe_cost: Sides<f64>,
    /// The functions in the call tree.
    pub functions: Vec<Function>,
    /// The call tree; the first node is the test.
    pub nodes: Vec<CallNode>,
    /// The responsible functions, the largest share first.
    pub responsible: Vec<ResponsibleFunction>,
    /// Other changes that may be the cause, the largest share first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// True if workspace code that the test can reach changed; `None` if not checked.
    #[serde(default)]
    pub code_changed: Option<bool>,
    /// Functions of head without a probe by reason. Their time is counted for their callers.
    pub without_probe: BTreeMap<Unprobed, usize>,
    /// Change of executed instructions in head, as a fraction of base, if callgrind counted them.
    #[serde(default)]
    pub instructions: Option<f64>,
    pub notes: Vec<ExplanationNote>,
}

impl Explanation {
    /// Returns true if head executes the function in this test.
    pub fn executes(&self, function: &Function) -> bool {
        let is_it = |node: &CallNode| {
            let known = node.function.map(|index| &self.functions[index]);
            known.is_some_and(|known| (&known.file, known.line) == (&function.file, function.line))
        };
        self.nodes.iter().any(|node| node.calls.head > 0.0 && is_it(node))
    }

    /// Returns the reason if no function and no other cause is named.
    pub fn why_nobody(&self) -> Option<Unexplained> {
        if !self.responsible.is_empty() || !self.causes.is_empty() {
            return None;
        }
        Some(Unexplained::Nobody { notes: self.notes.clone() })
    }

    /// Returns the outer cause of the difference. It is known if no workspace code changed, but another change can be
    /// the cause of most of the difference.
    pub fn outer_cause(&self) -> Option<&Cause> {
        self.causes.first().filter(|cause| self.code_changed == Some(false) && cause.share >= MOST)
    }
}
