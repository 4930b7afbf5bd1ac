//! Why a test got slower or faster: the responsible functions, and the call tree that shows it.
//!
//! All costs are those of one run of the test body, in the unit of the engine; all calls are those of one run, too.

use super::{Cause, ChangeKind, Engine, ExplanationNote, Sides, Strategy, TestId, Unexplained, Unprobed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Head minus base, with the ends of its confidence interval.
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
    /// True if the interval leaves out 0.
    pub fn is_certain(&self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// A function of the workspace, as people know it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Function {
    /// The package.
    pub package: String,
    /// The file, from the root of the repository.
    pub file: String,
    /// Line of its name, from 1; in head if it is there.
    pub line: usize,
    /// Inline modules, type or trait, and name: `parser::Parser::parse_line`.
    pub name: String,
}

impl Function {
    /// Whether the name of an item, with the inline modules of its file, is this function's.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with("::"))
    }
}

/// A function at one place of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CallNode {
    /// Index in [`Explanation::functions`]; `None` for the test itself and for threads that it started.
    pub function: Option<usize>,
    /// How often it was called.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub calls: Sides<f64>,
    /// Of it and of what it calls that is not told apart.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub self_cost: Sides<f64>,
    /// Of it and of everything that it calls.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub total_cost: Sides<f64>,
    /// Difference of `self_cost`.
    pub self_change: Difference,
    /// Difference of `total_cost`.
    pub total_change: Difference,
    /// Indices in [`Explanation::nodes`] of what it calls, those with the largest difference first.
    pub children: Vec<usize>,
}

/// In what way a function is responsible.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Responsibility {
    /// A call of it takes longer or shorter, although what it calls does not.
    ItsOwn,
    /// It calls this function, an index in [`Explanation::functions`], more or less often than it did.
    CallsOf(usize),
}

/// A function that is responsible for a part of the difference.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ResponsibleFunction {
    /// Index in [`Explanation::functions`].
    pub function: usize,
    /// The larger part of how.
    pub how: Responsibility,
    /// The part of the difference that is attributed to it.
    pub change: Difference,
    /// The same as a fraction of the test's difference; where others have become faster, of all that became slower.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub share: f64,
    /// How often it is called.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub calls: Sides<f64>,
    /// How often it calls the function of [`Responsibility::CallsOf`], for each of its own calls; if that is itself, for each of its
    /// calls while it was not active.
    #[serde(default, deserialize_with = "super::json_forms::float::sides_if_any")]
    pub calls_each: Option<Sides<f64>>,
    /// What happened to its source; `None` if nothing did.
    pub changed: Option<ChangeKind>,
    /// Its callers with unchanged source whose own time is part of `change`, because calls are too short to be timed apart;
    /// `None` for the test itself.
    #[serde(default)]
    pub not_apart: Vec<Option<usize>>,
}

/// Why one test got slower or faster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    pub test: TestId,
    /// What is counted, and the unit of all costs: ns, or instructions.
    pub engine: Engine,
    /// How it was found out.
    pub strategy: Strategy,
    /// Wall time of finding it out, builds left aside, s.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub seconds: f64,
    /// Pairs of processes behind the intervals.
    pub pairs: usize,
    /// Cost of one run, the calibrated cost of probes subtracted.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub cost: Sides<f64>,
    /// Difference of these.
    pub change: Difference,
    /// How many times as long base takes with probes as without, cost subtracted.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub distortion: f64,
    /// What the probes cost in one run: an upper bound of the bias that may be left.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub probe_cost: Sides<f64>,
    /// The functions of the tree.
    pub functions: Vec<Function>,
    /// The tree; the first is the test.
    pub nodes: Vec<CallNode>,
    /// The responsible functions, the largest part first.
    pub responsible: Vec<ResponsibleFunction>,
    /// What else changed and can be behind it, the largest part first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Whether code of the workspace that can reach the test changed; `None` where that was not asked.
    #[serde(default)]
    pub code_changed: Option<bool>,
    /// Head's functions that carry no probe, by reason: their time is their callers'.
    pub without_probe: BTreeMap<Unprobed, usize>,
    /// Head's change of the executed instructions, as a fraction of base, where callgrind counted them.
    #[serde(default)]
    pub instructions: Option<f64>,
    pub notes: Vec<ExplanationNote>,
}

impl Explanation {
    /// Returns whether head executes a function in this test.
    pub fn executes(&self, function: &Function) -> bool {
        let is_it = |node: &CallNode| {
            let known = node.function.map(|index| &self.functions[index]);
            known.is_some_and(|known| (&known.file, known.line) == (&function.file, function.line))
        };
        self.nodes.iter().any(|node| node.calls.head > 0.0 && is_it(node))
    }

    /// Why nobody is named and nothing else is known to be behind it, if so.
    pub fn why_nobody(&self) -> Option<Unexplained> {
        if !self.responsible.is_empty() || !self.causes.is_empty() {
            return None;
        }
        Some(Unexplained::Nobody { notes: self.notes.clone() })
    }

    /// What made functions slower or faster that did not change: known where no code of the workspace changed and
    /// something else did that can be behind most of the difference.
    pub fn outer_cause(&self) -> Option<&Cause> {
        const MOST: f64 = 0.5;
        self.causes.first().filter(|cause| self.code_changed == Some(false) && cause.share >= MOST)
    }
}
