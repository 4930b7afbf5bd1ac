//! Result of `calibrate`: how often verdicts on this machine are right, and how long they take.

use super::Change;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A count out of a total.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub count: usize,
    /// The total.
    pub of: usize,
}

impl Share {
    /// Adds one to the total, and to the count if `counts`.
    pub fn add(&mut self, counts: bool) {
        self.count += usize::from(counts);
        self.of += 1;
    }

    #[must_use]
    pub fn and(self, other: Share) -> Share {
        Share { count: self.count + other.count, of: self.of + other.of }
    }
}

/// Counts of verdicts on one pair of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub experiments: usize,
    /// Verdicts that head is slower, by any amount.
    pub slower: usize,
    /// Verdicts that head is faster, by any amount.
    pub faster: usize,
    /// Verdicts that are inconclusive.
    pub inconclusive: usize,
    /// Number of process pairs behind the verdicts, confirmation included.
    pub pairs: usize,
    /// Wall time of the verdicts, in seconds.
    pub seconds: f64,
}

impl Tally {
    /// Returns the correct verdicts if head is really slower. Verdicts in the wrong direction do not count.
    pub fn found(&self) -> Share {
        Share { count: self.slower, of: self.experiments }
    }

    /// Returns the verdicts with a change if there is none.
    pub fn false_alarms(&self) -> Share {
        Share { count: self.slower + self.faster, of: self.experiments }
    }

    #[must_use]
    pub fn and(&self, other: &Tally) -> Tally {
        Tally {
            experiments: self.experiments + other.experiments,
            slower: self.slower + other.slower,
            faster: self.faster + other.faster,
            inconclusive: self.inconclusive + other.inconclusive,
            pairs: self.pairs + other.pairs,
            seconds: self.seconds + other.seconds,
        }
    }
}

/// Results for one kind of work at one effect size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The kind of work, which is the name of the artificial test.
    pub workload: String,
    /// Estimated change of changed tests, from all their recorded pairs.
    pub change: Option<Change>,
    /// Estimated change of equal tests, which shows the machine's own difference.
    pub equal_change: Option<Change>,
    /// Verdicts on changed tests.
    pub changed: Tally,
    /// Verdicts of the same rule on equal tests.
    pub equal: Tally,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Operations of base's tests.
    pub base_operations: u32,
    /// Operations of head's tests.
    pub operations: u32,
    /// The rule's threshold.
    pub threshold: f64,
    /// Results for each kind of work.
    pub cells: Vec<Cell>,
    /// Results of other rules on the same pairs of tests; empty unless requested.
    pub compared: Vec<Compared>,
}

impl Level {
    /// Returns the difference in operations, as a fraction of base's.
    pub fn effect(&self) -> f64 {
        f64::from(self.operations) / f64::from(self.base_operations) - 1.0
    }
}

/// Results of one rule on all kinds of work at one effect size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    pub rule: DecisionRule,
    /// The processes whose times the rule used.
    pub processes: Processes,
    /// Changed tests that the rule detects.
    pub found: Share,
    /// Equal tests that the rule calls changed.
    pub false_alarms: Share,
}

/// A rule that decides whether two tests differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionRule {
    /// The rule of `diff`.
    Ours,
    MannWhitney,
    WelchT,
    /// Confidence intervals that do not overlap.
    IntervalOverlap,
    /// Means that differ by half of the effect.
    PlainMean,
}

/// Execution of the processes whose times a rule uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Processes {
    /// Processes in lockstep. The time of a process is the 10 % quantile of its batches.
    Lockstep,
    /// Processes one after the other, as in Peass. The time of a process is the mean of its batches.
    Sequential,
}

/// The machine and the time of the calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Circumstances {
    /// Date and time, UTC.
    pub date: String,
    /// Version of the tool.
    pub tool: String,
    /// First line of `rustc -vV`.
    pub rustc: String,
    /// CPU model.
    pub cpu: String,
    /// Kernel release.
    pub kernel: String,
    /// The core that ran the measured processes.
    pub core: usize,
    /// True if both processes of a pair had the same address space.
    pub paired_address_space: bool,
    /// Load average before measuring began.
    pub load_before: Option<f64>,
    /// Load average at the end.
    pub load_after: Option<f64>,
}

/// Settings of a calibration.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// True with `--quick`.
    pub quick: bool,
    /// Seed of the random shifts.
    pub seed: u64,
    /// Probability of a false verdict before confirmation.
    pub alpha: f64,
    /// Probability of a false verdict in the confirmation.
    pub confirmation_alpha: f64,
    /// Time limit of a verdict's measurement, and again of its confirmation, in seconds.
    pub verdict_seconds: f64,
}

/// Results of a calibration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The machine and the time.
    pub circumstances: Circumstances,
    /// The requested settings.
    pub terms: Terms,
    /// Results by effect size, smallest first.
    pub levels: Vec<Level>,
    /// Wall time of the whole calibration, in seconds.
    pub seconds: f64,
    /// True if Ctrl-C stopped the calibration.
    pub interrupted: bool,
}
