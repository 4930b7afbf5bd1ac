//! Explanations in JSON, described in `docs/json.md`.

use super::causes;
use super::wire::{Interval, finite, finite_sides};
use perfunit_model as model;
use perfunit_model::{CallNode, Engine, Responsibility, Sides, Strategy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a test got slower or faster. Costs are in `unit`; costs and calls are those of one run of the test body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// What was counted.
    pub engine: Engine,
    /// `ns` or `instructions`.
    pub unit: String,
    /// Which functions were timed.
    pub strategy: Strategy,
    /// Wall time of finding it out, builds left aside.
    pub seconds: Option<f64>,
    /// Pairs of processes behind the intervals.
    pub pairs: usize,
    /// The test with probes, their calibrated cost subtracted.
    pub cost: Sides<Option<f64>>,
    /// Head minus base of that.
    pub difference: Interval,
    /// How many times as long base takes with probes as without, cost subtracted.
    pub distortion: Option<f64>,
    /// What the probes cost, which was subtracted.
    pub probe_cost: Sides<Option<f64>>,
    /// The responsible functions, the largest part first.
    pub responsible: Vec<Responsible>,
    /// What else changed and can be behind it, the largest part first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Whether code of the workspace that can reach the test changed; null where that is not known.
    #[serde(default)]
    pub code_changed: Option<bool>,
    /// The functions of the tree.
    pub functions: Vec<model::Function>,
    /// The call tree; the first is the test.
    pub nodes: Vec<Node>,
    /// Head's functions without a probe, by reason.
    pub without_probe: BTreeMap<String, usize>,
    /// Head's change of the executed instructions, as a fraction of base; null unless callgrind counted them.
    #[serde(default)]
    pub instructions: Option<f64>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// A responsible function.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Responsible {
    /// Index in `functions`.
    pub function: usize,
    /// `own`: its calls take more or less time; `calls`: it calls another one more or less often.
    pub kind: String,
    /// Its part of the difference.
    pub difference: Interval,
    /// As a fraction of the test's difference.
    pub share: Option<f64>,
    /// How often it is called.
    pub calls: Sides<Option<f64>>,
    /// With `calls`: index in `functions` of what it calls more or less often.
    pub callee: Option<usize>,
    /// With `calls`: how often each call of it calls that one.
    pub calls_each: Option<Sides<Option<f64>>>,
    /// What happened to its source, in words; null if nothing did.
    pub changed: Option<String>,
    /// Its callers with unchanged source whose own time is part of `difference`, because calls are too short to be timed
    /// apart: indices in `functions`, null for the test.
    #[serde(default)]
    pub not_apart: Vec<Option<usize>>,
}

/// Something besides the functions with probes that changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// In words: `serde 1.0.200 -> 1.0.219`.
    pub text: String,
    /// What exactly, by `kind`.
    #[serde(flatten)]
    pub changed: model::Changed,
    /// The part of the test's difference that is attributed to functions with unchanged source that it can reach.
    pub share: Option<f64>,
}

/// A function at one place of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Index in `functions`; null for the test and for threads that it starts.
    pub function: Option<usize>,
    /// How often it is called there.
    pub calls: Sides<Option<f64>>,
    /// Its own cost.
    pub self_cost: Sides<Option<f64>>,
    /// Its cost with all that it calls.
    pub total_cost: Sides<Option<f64>>,
    /// Head minus base of `self_cost`.
    pub self_difference: Interval,
    /// Head minus base of `total_cost`.
    pub total_difference: Interval,
    /// Indices in `nodes`.
    pub children: Vec<usize>,
}

impl From<&model::Explanation> for Explanation {
    fn from(explanation: &model::Explanation) -> Self {
        Self {
            engine: explanation.engine,
            unit: unit(explanation.engine).to_owned(),
            strategy: explanation.strategy,
            seconds: finite(explanation.seconds),
            pairs: explanation.pairs,
            cost: finite_sides(explanation.cost),
            difference: explanation.change.into(),
            distortion: finite(explanation.distortion),
            probe_cost: finite_sides(explanation.probe_cost),
            responsible: explanation.responsible.iter().map(Responsible::from).collect(),
            causes: explanation.causes.iter().map(Cause::from).collect(),
            code_changed: explanation.code_changed,
            functions: explanation.functions.clone(),
            nodes: explanation.nodes.iter().map(Node::from).collect(),
            instructions: explanation.instructions.and_then(finite),
            without_probe: explanation.without_probe.iter().map(|(why, count)| (why.to_string(), *count)).collect(),
            notes: explanation.notes.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The unit of costs.
pub(super) fn unit(engine: Engine) -> &'static str {
    match engine {
        Engine::Probes => "ns",
        Engine::Callgrind => "instructions",
    }
}

impl From<&model::ResponsibleFunction> for Responsible {
    fn from(responsible: &model::ResponsibleFunction) -> Self {
        let (kind, callee) = match responsible.how {
            Responsibility::ItsOwn => ("own", None),
            Responsibility::CallsOf(callee) => ("calls", Some(callee)),
        };
        Self {
            function: responsible.function,
            kind: kind.to_owned(),
            difference: responsible.change.into(),
            share: finite(responsible.share),
            calls: finite_sides(responsible.calls),
            callee,
            calls_each: responsible.calls_each.map(finite_sides),
            changed: responsible.changed.map(|change| change.to_string()),
            not_apart: responsible.not_apart.clone(),
        }
    }
}

impl From<&model::Cause> for Cause {
    fn from(cause: &model::Cause) -> Self {
        Self { text: causes::words(&cause.changed), changed: cause.changed.clone(), share: finite(cause.share) }
    }
}

impl From<&CallNode> for Node {
    fn from(node: &CallNode) -> Self {
        Self {
            function: node.function,
            calls: finite_sides(node.calls),
            self_cost: finite_sides(node.self_cost),
            total_cost: finite_sides(node.total_cost),
            self_difference: node.self_change.into(),
            total_difference: node.total_change.into(),
            children: node.children.clone(),
        }
    }
}
