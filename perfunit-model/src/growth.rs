//! How the work of functions grows with the length of their input, on head compared with base.

use super::format::{limit, one_line};
use super::{Failure, Function, Side, Sides, TargetId, TestId, Unexplained};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::{Display, Formatter, Result};

/// What counting the work of functions showed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Growth {
    /// Functions whose work grows with a larger power of a length than before, the largest ratio first.
    pub findings: Vec<GrowthFinding>,
    /// Functions that were compared at lengths over four octaves.
    pub compared: BTreeSet<Function>,
    /// Changed functions of which nothing can be said.
    pub unseen: Vec<GrowthUnseen>,
    /// Tests whose functions were not counted.
    pub not_counted: Vec<(TestId, NotCounted)>,
}

/// A function whose work grows with a larger power of a length than before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthFinding {
    /// Which function.
    #[serde(flatten)]
    pub function: Function,
    /// The argument whose length it is.
    pub argument: String,
    /// Exponent of the work, as a function of the length, of each version.
    pub exponent: Sides<Exponent>,
    /// Exponent of the term that head's work has and base's has not.
    pub added: Exponent,
    /// The largest length at which both versions were seen.
    pub length: u64,
    /// Head's work there, in base's.
    pub ratio: f64,
    /// Work of a call there, basic blocks.
    pub work: Sides<f64>,
}

/// An exponent with the ends of its interval, of 99 %.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Exponent {
    pub estimate: f64,
    pub low: f64,
    pub high: f64,
}

/// A changed function of which nothing can be said.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrowthUnseen {
    /// Which function.
    #[serde(flatten)]
    pub function: Function,
    /// Why.
    pub because: UnseenBecause,
}

/// Why nothing can be said of the growth of a function's work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum UnseenBecause {
    /// Its lengths do not spread over four octaves; those of the argument that comes nearest.
    NarrowLengths {
        /// The argument.
        argument: String,
        /// The smallest length at which both versions were seen.
        from: u64,
        /// The largest one.
        to: u64,
    },
    /// It returns an iterator: the work is done after it has returned.
    Iterator,
    /// It returns a future: the work is done after it has returned.
    Future,
    /// No counted test calls it with an argument that has a length.
    NoLength,
    /// Base has no such function.
    New,
    /// Its file does not compile with counters.
    NotInstrumented,
}

/// Why the functions that a test calls were not counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NotCounted {
    /// Its harness is its own.
    OwnHarness,
    /// It does not pass when it is counted.
    Fails {
        side: Side,
        how: Failure,
    },
    TimedOut {
        seconds: f64,
    },
    /// The builds with counters do not have it, or there was no time for it.
    Because(Unexplained),
    /// Counting ended with an error.
    Ended {
        why: String,
    },
}

impl Growth {
    /// Adds what was seen of other tests. A function counts once.
    pub fn add(&mut self, more: Self) {
        self.findings.extend(more.findings);
        self.findings.sort_by(|a, b| b.ratio.total_cmp(&a.ratio));
        let mut named = BTreeSet::new();
        self.findings.retain(|finding| named.insert(finding.function.clone()));
        self.compared.extend(more.compared);
        self.unseen.extend(more.unseen);
        // What some tests lack, others may show.
        self.unseen.retain(|unseen| !self.compared.contains(&unseen.function) && named.insert(unseen.function.clone()));
        self.not_counted.extend(more.not_counted);
    }
}

impl Display for UnseenBecause {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NarrowLengths { argument, from, to } => {
                let argument = one_line(argument);
                write!(f, "lengths of `{argument}` from {from} to {to} do not spread over four octaves from 4 on")
            }
            Self::Iterator => f.write_str("it returns an iterator, which does the work later"),
            Self::Future => f.write_str("it returns a future, which does the work later"),
            Self::NoLength => f.write_str("no test calls it with an argument that has a length"),
            Self::New => f.write_str("base has no such function"),
            Self::NotInstrumented => f.write_str("its file does not compile with counters"),
        }
    }
}

impl Display for NotCounted {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::OwnHarness => f.write_str("its harness is its own"),
            Self::Fails { side, how } => write!(f, "it fails on {side} when work is counted: {how}"),
            Self::TimedOut { seconds } => write!(f, "it did not end within {} when work is counted", limit(*seconds)),
            Self::Because(why) => why.fmt(f),
            Self::Ended { why } => write!(f, "counting ended with an error: {why}"),
        }
    }
}

/// Workloads that differ by a number in their names, and whose time grows with a larger power of it than before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    pub target: TargetId,
    /// Their common name, with `*` in the place of the number.
    pub name: String,
    /// Exponent of the time, as a function of the number, of each version.
    pub exponent: Sides<Exponent>,
    /// The largest number.
    pub largest: u64,
    /// Head's time there, in base's.
    pub ratio: f64,
    /// Time there, in nanoseconds.
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
