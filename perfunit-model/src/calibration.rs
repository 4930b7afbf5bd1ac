//! The result of `calibrate`: how often the verdicts of this machine are right, and how long they take.

use super::Change;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// So many out of so many.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    pub count: usize,
    /// Out of how many.
    pub of: usize,
}

impl Share {
    /// One more, which counts or does not.
    pub fn add(&mut self, counts: bool) {
        self.count += usize::from(counts);
        self.of += 1;
    }

    #[must_use]
    pub fn and(self, other: Share) -> Share {
        Share { count: self.count + other.count, of: self.of + other.of }
    }
}

/// The verdicts on one pair of tests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    pub experiments: usize,
    /// Of these, those that claim that head is slower, by whatever amount.
    pub slower: usize,
    /// Those that claim that it is faster.
    pub faster: usize,
    /// Those that say neither that it changed nor that it did not.
    pub inconclusive: usize,
    /// Pairs of processes behind all of them, confirmation included.
    pub pairs: usize,
    /// Wall time of these.
    pub seconds: f64,
}

impl Tally {
    /// Verdicts with the right answer, given that head really is slower. Those in the wrong direction are no find.
    pub fn found(&self) -> Share {
        Share { count: self.slower, of: self.experiments }
    }

    /// Verdicts with a change, given that there is none.
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

/// One kind of work at one effect size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The kind of work: the name of the artificial test.
    pub workload: String,
    /// What all recorded pairs together say about the change.
    pub change: Option<Change>,
    /// The same where head does as many operations: what is left of a difference is the machine's.
    pub equal_change: Option<Change>,
    /// Verdicts where head does more operations.
    pub changed: Tally,
    /// Verdicts by the same rule where it does as many.
    pub equal: Tally,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Level {
    /// Operations of base's tests.
    pub base_operations: u32,
    /// Operations of head's tests.
    pub operations: u32,
    /// The threshold of the rule that was used.
    pub threshold: f64,
    /// Each kind of work.
    pub cells: Vec<Cell>,
    /// What other rules say about the same pairs of tests; empty unless that was asked for.
    pub compared: Vec<Compared>,
}

impl Level {
    /// The difference in operations, as a fraction of base's.
    pub fn effect(&self) -> f64 {
        f64::from(self.operations) / f64::from(self.base_operations) - 1.0
    }
}

/// What one rule makes of all kinds of work at one effect size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compared {
    pub rule: DecisionRule,
    /// The processes that it looked at.
    pub processes: Processes,
    /// Changed tests that it found.
    pub found: Share,
    /// Equal tests that it called changed.
    pub false_alarms: Share,
}

/// A rule that says whether two tests differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DecisionRule {
    /// That of `diff`.
    Ours,
    MannWhitney,
    WelchT,
    /// Confidence intervals that do not overlap.
    IntervalOverlap,
    /// Means that differ by half the effect.
    PlainMean,
}

/// How the processes were run whose times a rule looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Processes {
    /// In lockstep; the time of a process is the 10 % quantile of its batches.
    Lockstep,
    /// One after the other, as in Peass; the time of a process is the mean of its batches.
    Sequential,
}

/// The machine, and the moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Circumstances {
    /// Day and time, UTC.
    pub date: String,
    /// Version of the tool.
    pub tool: String,
    /// First line of `rustc -vV`.
    pub rustc: String,
    /// CPU model.
    pub cpu: String,
    /// Release of the kernel.
    pub kernel: String,
    /// The core that ran the measured processes.
    pub core: usize,
    /// Whether both processes of a pair had the same address space.
    pub paired_address_space: bool,
    /// Load average before measuring began.
    pub load_before: Option<f64>,
    /// Load average at the end.
    pub load_after: Option<f64>,
}

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// Whether it had to be quick.
    pub quick: bool,
    /// Seed of the random shifts.
    pub seed: u64,
    /// Probability of a false verdict before confirmation.
    pub alpha: f64,
    /// The same of the confirmation.
    pub confirmation_alpha: f64,
    /// Longest measuring for a verdict, and again for its confirmation, s.
    pub verdict_seconds: f64,
}

/// Everything that was found out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// The machine, and the moment.
    pub circumstances: Circumstances,
    /// What was asked for.
    pub terms: Terms,
    /// By effect size, smallest first.
    pub levels: Vec<Level>,
    /// Wall time of all of it.
    pub seconds: f64,
    /// True if Ctrl-C cut it short.
    pub interrupted: bool,
}
