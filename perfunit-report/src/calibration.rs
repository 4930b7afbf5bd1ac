//! A calibration as a JSON document, described in `docs/json.md`. The [tables](text) are made
//! of it.

mod text;

pub use text::render;

use super::wire::{Interval, SCHEMA_VERSION, finite, pretty};
use perfunit_decide as decide;
use perfunit_model as model;
use perfunit_model::{Calibration, Cell, Circumstances, DecisionRule, Processes, Share, Tally};
use schemars::JsonSchema;
use serde::Serialize;

/// Level of the intervals around rates.
const ALPHA: f64 = 0.05;
/// What stands for all kinds of work together.
const ALL: &str = "all";

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Document {
    /// Version of the format.
    pub schema_version: u32,
    /// The machine, and the moment.
    pub circumstances: Circumstances,
    /// What was asked for.
    pub terms: Terms,
    /// By effect size, smallest first.
    pub levels: Vec<Level>,
    /// Wall time of all of it.
    pub seconds: f64,
    /// Whether Ctrl-C cut it short.
    pub interrupted: bool,
}

/// What was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Terms {
    /// Whether it had to be quick.
    pub quick: bool,
    /// Seed of the random shifts.
    pub seed: u64,
    /// Probability of a false verdict before confirmation.
    pub alpha: f64,
    /// The same of the confirmation.
    pub confirmation_alpha: f64,
    /// Longest measuring for a verdict, and again for its confirmation.
    pub verdict_seconds: f64,
    /// The probability with which the intervals around rates hold the true one.
    pub confidence: f64,
}

/// One effect size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Level {
    /// Operations of base's tests.
    pub base_operations: u32,
    /// Operations of head's tests.
    pub operations: u32,
    /// The difference, as a fraction of base's.
    pub effect: f64,
    /// The threshold that was used to look for it.
    pub threshold: f64,
    /// Each kind of work, then all together.
    pub workloads: Vec<Workload>,
    /// What other rules say.
    pub compared: Vec<Compared>,
}

/// The verdicts on one kind of work.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Workload {
    /// Its name; `all` for all together.
    pub workload: String,
    /// What all recorded pairs of changed tests together say.
    pub change: Option<Interval>,
    /// And those of equal tests.
    pub equal_change: Option<Interval>,
    /// Changed tests that were found.
    pub found: Rate,
    /// Equal tests that were called changed.
    pub false_alarms: Rate,
    /// Of as many changed as equal tests.
    pub f1: Option<Interval>,
    /// On changed tests.
    pub changed: Verdicts,
    /// On equal tests.
    pub equal: Verdicts,
}

/// So many out of so many.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Rate {
    /// How many.
    pub count: usize,
    /// Out of how many.
    pub of: usize,
    /// The rate with its interval; null out of nothing.
    pub rate: Option<Interval>,
}

/// What verdicts cost.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Verdicts {
    /// Those that say neither that it changed nor that it did not.
    pub inconclusive: usize,
    /// Pairs of processes, confirmation included; mean.
    pub pairs_per_verdict: Option<f64>,
    /// Wall time; mean.
    pub seconds_per_verdict: Option<f64>,
}

/// What one rule says.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Compared {
    /// The rule, in words.
    pub rule: String,
    /// `lockstep` or `sequential`.
    pub processes: String,
    /// Changed tests that it found.
    pub found: Rate,
    /// Equal tests that it called changed.
    pub false_alarms: Rate,
    /// Of as many changed as equal tests.
    pub f1: Option<Interval>,
}

/// The document as pretty JSON with a trailing newline.
pub fn json(document: &Document) -> String {
    pretty(document)
}

impl From<&Calibration> for Document {
    fn from(calibration: &Calibration) -> Self {
        let model::Terms { quick, seed, alpha, confirmation_alpha, verdict_seconds } = calibration.terms;
        Self {
            schema_version: SCHEMA_VERSION,
            circumstances: calibration.circumstances.clone(),
            terms: Terms { quick, seed, alpha, confirmation_alpha, verdict_seconds, confidence: 1.0 - ALPHA },
            levels: calibration.levels.iter().map(Level::from).collect(),
            seconds: calibration.seconds,
            interrupted: calibration.interrupted,
        }
    }
}

impl From<&model::Level> for Level {
    fn from(level: &model::Level) -> Self {
        let all = Cell {
            workload: ALL.to_owned(),
            change: None,
            equal_change: None,
            changed: level.cells.iter().fold(Tally::default(), |sum, cell| sum.and(&cell.changed)),
            equal: level.cells.iter().fold(Tally::default(), |sum, cell| sum.and(&cell.equal)),
        };
        Self {
            base_operations: level.base_operations,
            operations: level.operations,
            effect: level.effect(),
            threshold: level.threshold,
            workloads: level.cells.iter().chain([&all]).map(Workload::from).collect(),
            compared: level.compared.iter().map(Compared::from).collect(),
        }
    }
}

impl From<&Cell> for Workload {
    fn from(cell: &Cell) -> Self {
        let (found, false_alarms) = (cell.changed.found(), cell.equal.false_alarms());
        Self {
            workload: cell.workload.clone(),
            change: cell.change.map(Interval::from),
            equal_change: cell.equal_change.map(Interval::from),
            found: Rate::from(found),
            false_alarms: Rate::from(false_alarms),
            f1: decide::f1(found, false_alarms, ALPHA).map(Interval::from),
            changed: Verdicts::from(&cell.changed),
            equal: Verdicts::from(&cell.equal),
        }
    }
}

impl From<&model::Compared> for Compared {
    fn from(compared: &model::Compared) -> Self {
        let rule = match compared.rule {
            DecisionRule::Ours => "cargo perfunit",
            DecisionRule::MannWhitney => "Mann-Whitney",
            DecisionRule::WelchT => "Welch's t",
            DecisionRule::IntervalOverlap => "interval overlap",
            DecisionRule::PlainMean => "plain mean",
        };
        let processes = match compared.processes {
            Processes::Lockstep => "lockstep",
            Processes::Sequential => "sequential",
        };
        Self {
            rule: rule.to_owned(),
            processes: processes.to_owned(),
            found: Rate::from(compared.found),
            false_alarms: Rate::from(compared.false_alarms),
            f1: decide::f1(compared.found, compared.false_alarms, ALPHA).map(Interval::from),
        }
    }
}

impl From<Share> for Rate {
    fn from(share: Share) -> Self {
        Self { count: share.count, of: share.of, rate: decide::rate(share, ALPHA).map(Interval::from) }
    }
}

impl From<&Tally> for Verdicts {
    fn from(tally: &Tally) -> Self {
        let mean = |sum: f64| finite(sum / tally.experiments as f64);
        Self {
            inconclusive: tally.inconclusive,
            pairs_per_verdict: mean(tally.pairs as f64),
            seconds_per_verdict: mean(tally.seconds),
        }
    }
}

#[cfg(test)]
mod tests;
