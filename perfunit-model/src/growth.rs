//! Growth of functions' work with the length of their input, compared between base and head.

use super::format::{limit, one_line};
use super::{Failure, Function, Side, Sides, TargetId, TestId, Unexplained};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::{Display, Formatter, Result};

/// Results of counting the work of functions.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Functions with work that grows with a larger power of a length than on base, the largest ratio first.
    pub findings: Vec<GrowthFinding>,
    /// Functions that were compared at lengths over four octaves.
    pub compared: BTreeSet<Function>,
    /// Changed functions without a result.
    pub unseen: Vec<GrowthUnseen>,
    /// Tests without counters for their functions.
    pub not_counted: Vec<(TestId, NotCounted)>,
}

/// A function with work that grows with a larger power of a length than on base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthFinding {
    /// The function.
    #[serde(flatten)]
    pub function: Function,
    /// The argument with this length.
    pub argument: String,
    /// Exponent of the work as a function of the length, for each version.
    pub exponent: Sides<Exponent>,
    /// Exponent of the term that head's work has and base's does not.
    pub added: Exponent,
    /// The largest length that was seen in both versions.
    pub length: u64,
    /// Head's work at this length, as a multiple of base's.
    pub ratio: f64,
    /// Work of a call at this length, in basic blocks.
    pub work: Sides<f64>,
}

/// An exponent with its 99 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exponent {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

/// A changed function without a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthUnseen {
    /// The function.
    #[serde(flatten)]
    pub function: Function,
    /// The reason.
    pub because: UnseenBecause,
}

/// Reason why the growth of a function's work is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum UnseenBecause {
    /// The lengths do not span four octaves; describes the argument that comes nearest.
    NarrowLengths {
        /// The argument.
        argument: String,
        /// The smallest length that was seen in both versions.
        from: u64,
        /// The largest length that was seen in both versions.
        to: u64,
    },
    /// Head does more work, and a larger part of it at larger lengths, but no law explains it.
    Unclear {
        /// The argument.
        argument: String,
        /// The largest length that was seen in both versions.
        length: u64,
        /// Base's work at this length, in basic blocks.
        base: u64,
        /// Head's work at this length, in basic blocks.
        head: u64,
    },
    /// The function returns an iterator, so the work happens after it returned.
    Iterator,
    /// The function returns a future, so the work happens after it returned.
    Future,
    /// No counted test calls the function with an argument that has a length.
    NoLength,
    /// The function is not in base.
    New,
    /// The function's file does not compile with counters.
    NotInstrumented,
}

/// Reason why the functions of a test were not counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCounted {
    /// The target has its own test harness.
    OwnHarness,
    /// The test does not pass when counted.
    Fails {
        side: Side,
        how: Failure,
    },
    TimedOut {
        seconds: f64,
    },
    /// The builds with counters do not contain the test, or there was no time.
    Because(Unexplained),
    /// Counting ended with an error.
    Ended {
        why: String,
    },
}

impl Growth {
    /// Returns whether all tests were counted, and none called a function with lengths over four octaves.
    pub fn has_only_narrow_lengths(&self) -> bool {
        let is_narrow = |unseen: &GrowthUnseen| {
            matches!(unseen.because, UnseenBecause::NarrowLengths { .. } | UnseenBecause::NoLength)
        };
        self.not_counted.is_empty() && self.unseen.iter().all(is_narrow)
    }

    /// Adds the results of other tests. A function counts once.
    pub fn add(&mut self, more: Self) {
        self.findings.extend(more.findings);
        self.findings.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        let mut named = BTreeSet::new();
        self.findings.retain(|finding| named.insert(finding.function.clone()));
        self.compared.extend(more.compared);
        self.unseen.extend(more.unseen);
        // Other tests may show what some tests lack.
        self.unseen.retain(|unseen| !self.compared.contains(&unseen.function) && named.insert(unseen.function.clone()));
        self.not_counted.extend(more.not_counted);
    }
}

impl Display for UnseenBecause {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NarrowLengths { argument, from, to } => {
                let argument = one_line(argument);
                write!(
                    f,
                    "lengths of `{argument}` from {from} to {to} are too few or too close: six from 4 on are needed, the largest 16 \
                    times the smallest"
                )
            }
            Self::Unclear { argument, length, base, head } => {
                let argument = one_line(argument);
                write!(
                    f,
                    "{head} basic blocks instead of {base} where the length of `{argument}` is {length}, and a larger part at \
                    larger lengths, but by no clear law"
                )
            }
            Self::Iterator => f.write_str("returns an iterator, which does the work later"),
            Self::Future => f.write_str("returns a future, which does the work later"),
            Self::NoLength => f.write_str("no test calls it with an argument that has a length"),
            Self::New => f.write_str("not in base"),
            Self::NotInstrumented => f.write_str("its file does not compile with counters"),
        }
    }
}

impl Display for NotCounted {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::OwnHarness => f.write_str("it has its own test harness"),
            Self::Fails { side, how } => write!(f, "it fails on {side} when work is counted: {how}"),
            Self::TimedOut { seconds } => write!(f, "it timed out after {} when work is counted", limit(*seconds)),
            Self::Because(why) => why.fmt(f),
            Self::Ended { why } => write!(f, "counting ended with an error: {why}"),
        }
    }
}

/// Workloads that differ by a number in their names and take time that grows with a larger power of it than on base.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    pub target: TargetId,
    /// Their common name, with `*` in place of the number.
    pub name: String,
    /// Exponent of the time as a function of the number, for each version.
    pub exponent: Sides<Exponent>,
    /// The largest number.
    pub largest: u64,
    /// Head's time at the largest number, as a multiple of base's.
    pub ratio: f64,
    /// Time at the largest number, in nanoseconds.
    pub ns: Sides<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn a_function_is_unseen_if_no_tests_show_it() {
        let functions: Vec<Function> = samples::functions(3).into_iter().collect();
        let unseen = |n: usize| GrowthUnseen { function: functions[n].clone(), because: UnseenBecause::NoLength };
        let compared = |n: usize| BTreeSet::from([functions[n].clone()]);
        let mut all = Growth { compared: compared(0), unseen: vec![unseen(1), unseen(2)], ..Growth::default() };
        all.add(Growth { compared: compared(1), unseen: vec![unseen(0), unseen(2)], ..Growth::default() });
        assert_eq!(all.compared.len(), 2);
        assert_eq!(all.unseen, [unseen(2)]);
    }
}
