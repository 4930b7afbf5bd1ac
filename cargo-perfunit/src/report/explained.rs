//! Explanations in JSON, described in `docs/json.md`.

use super::wire::finite;
use crate::model::{self, Blame, CallNode, Engine, Strategy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a test got slower or faster. Times are in `unit`, whatever a field is called, calls are calls, both of one run of the
/// test body.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// `probes` or `callgrind`.
    pub engine: String,
    /// `ns` or `instructions`.
    pub unit: String,
    /// `complete`, `levelwise` or `until-source-change`.
    pub strategy: String,
    /// Wall time of finding it out, builds left aside.
    pub seconds: Option<f64>,
    /// Pairs of processes behind the intervals.
    pub pairs: usize,
    /// Time with probes, their calibrated cost subtracted.
    pub ns: PerSide,
    /// Head minus base of that.
    pub difference: Difference,
    /// How many times as long base takes with probes as without, cost subtracted.
    pub distortion: Option<f64>,
    /// What the probes cost, which was subtracted.
    pub probe_cost_ns: PerSide,
    /// Who is to blame, the largest part first.
    pub blamed: Vec<Blamed>,
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
    /// Remarks.
    pub notes: Vec<String>,
}

/// A figure of both versions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PerSide {
    /// Of base.
    pub base: Option<f64>,
    /// Of head.
    pub head: Option<f64>,
}

/// Head minus base, with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// Best estimate, ns.
    pub estimate: Option<f64>,
    /// Lower end, ns.
    pub low: Option<f64>,
    /// Upper end, ns.
    pub high: Option<f64>,
}

/// A function that is to blame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Blamed {
    /// Index in `functions`.
    pub function: usize,
    /// `own`: its calls take longer or shorter; `calls`: it calls another one more or less often.
    pub kind: String,
    /// What it is to blame for.
    pub difference: Difference,
    /// As a fraction of the test's difference.
    pub share: Option<f64>,
    /// How often it is called.
    pub calls: PerSide,
    /// With `calls`: index in `functions` of what it calls more or less often.
    pub callee: Option<usize>,
    /// With `calls`: how often each call of it calls that one.
    pub calls_each: Option<PerSide>,
    /// What happened to its source, in words; null if nothing did.
    pub changed: Option<String>,
}

/// Something besides the functions with probes that changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// In words: `serde 1.0.200 -> 1.0.219`.
    pub text: String,
    /// What exactly, by `kind`.
    #[serde(flatten)]
    pub changed: model::Changed,
    /// The part of the test's difference that is charged to functions whose source is the same and that it can reach.
    pub share: Option<f64>,
}

/// A function at one place of the call tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Index in `functions`; null for the test and for threads that it starts.
    pub function: Option<usize>,
    /// How often it is called there.
    pub calls: PerSide,
    /// Time in itself.
    pub self_ns: PerSide,
    /// Time in all that it does.
    pub total_ns: PerSide,
    /// Difference of `self_ns`.
    pub self_difference: Difference,
    /// Difference of `total_ns`.
    pub total_difference: Difference,
    /// Indices in `nodes`.
    pub children: Vec<usize>,
}

impl From<&model::Explanation> for Explanation {
    fn from(explanation: &model::Explanation) -> Self {
        let (engine, unit) = match explanation.engine {
            Engine::Probes => ("probes", "ns"),
            Engine::Callgrind => ("callgrind", "instructions"),
        };
        Self {
            engine: engine.to_owned(),
            unit: unit.to_owned(),
            strategy: strategy(explanation.strategy).to_owned(),
            seconds: finite(explanation.seconds),
            pairs: explanation.pairs,
            ns: explanation.ns.into(),
            difference: explanation.change.into(),
            distortion: finite(explanation.distortion),
            probe_cost_ns: explanation.probe_cost_ns.into(),
            blamed: explanation.blamed.iter().map(Blamed::from).collect(),
            causes: explanation.causes.iter().map(Cause::from).collect(),
            code_changed: explanation.code_changed,
            functions: explanation.functions.clone(),
            nodes: explanation.nodes.iter().map(Node::from).collect(),
            without_probe: explanation.without_probe.clone(),
            notes: explanation.notes.clone(),
        }
    }
}

fn strategy(strategy: Strategy) -> &'static str {
    match strategy {
        Strategy::Complete => "complete",
        Strategy::Levelwise => "levelwise",
        Strategy::UntilSourceChange => "until-source-change",
    }
}

impl From<model::Sides<f64>> for PerSide {
    fn from(sides: model::Sides<f64>) -> Self {
        Self { base: finite(sides.base), head: finite(sides.head) }
    }
}

impl From<model::Difference> for Difference {
    fn from(difference: model::Difference) -> Self {
        let model::Difference { estimate, low, high } = difference;
        Self { estimate: finite(estimate), low: finite(low), high: finite(high) }
    }
}

impl From<&model::Blamed> for Blamed {
    fn from(blamed: &model::Blamed) -> Self {
        let (kind, callee) = match blamed.blame {
            Blame::ItsOwn => ("own", None),
            Blame::CallsOf(callee) => ("calls", Some(callee)),
        };
        Self {
            function: blamed.function,
            kind: kind.to_owned(),
            difference: blamed.change.into(),
            share: finite(blamed.share),
            calls: blamed.calls.into(),
            callee,
            calls_each: blamed.calls_each.map(PerSide::from),
            changed: blamed.changed.clone(),
        }
    }
}

impl From<&model::Cause> for Cause {
    fn from(cause: &model::Cause) -> Self {
        Self { text: cause.changed.to_string(), changed: cause.changed.clone(), share: finite(cause.share) }
    }
}

impl From<&CallNode> for Node {
    fn from(node: &CallNode) -> Self {
        Self {
            function: node.function,
            calls: node.calls.into(),
            self_ns: node.self_ns.into(),
            total_ns: node.total_ns.into(),
            self_difference: node.self_change.into(),
            total_difference: node.total_change.into(),
            children: node.children.clone(),
        }
    }
}
