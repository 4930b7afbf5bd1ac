//! What is remarkable about the way in which a test was measured, besides its verdict.

use super::{AcceptedLoss, Change, Failure, Metric, Reason, Side, Sides, TestCodeDifference, Threshold, format};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A remark on a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Note {
    /// With equal random numbers base and head get into each other's way, so each draws its own.
    OwnRandomNumbers,
    /// First calls are compared, each in a forked child; or, if something keeps it from forking, in a process of its own.
    FirstCalls { because: FirstCallsBecause, obstacle: Option<ForkObstacle> },
    /// Beside its later calls, its first call changed, too.
    FirstCallToo { ns: Sides<f64>, change: Change },
    /// Its first call changed, and its later calls did not, or got faster while it got slower.
    FirstCallDecides {
        /// Time of later calls.
        later_ns: Sides<f64>,
    },
    /// Its first calls were not compared apart from its later ones.
    FirstCallUnknown { because: FirstCallUnknown },
    /// A change of its first call did not show again on fresh pairs and layouts.
    FirstCallTakenBack,
    /// Fresh pairs and layouts left open whether its first call changed.
    FirstCallNotConfirmed,
    /// Its first call seemed to change, and fresh pairs failed.
    FirstCallNotMeasuredAgain { why: Reason },
    /// Much of its process is start and harness.
    MostlyStart {
        /// As a fraction of the process's time on base.
        share: f64,
    },
    /// It is so short that smaller differences are not judged.
    LeastDifference { ns: f64 },
    /// It starts processes, whose code layout is not controlled, so that smaller changes are not judged.
    StartsProcesses { threshold: f64 },
    /// It does as much as its time allows, so both versions were given a clock that they read equally often.
    RunsByClock,
    /// Its runs do not all do the same.
    UnequalWork {
        between: Between,
        /// Whether base and head were given equal random numbers.
        equal_seeds: bool,
    },
    /// Pairs that were left out.
    FailedPairs {
        failed: usize,
        /// Of how many.
        pairs: usize,
        /// Why the first of them failed.
        why: Reason,
    },
    /// Changed code has no common place in both versions, so the test was judged over several layouts.
    Layouts { layouts: usize },
    /// It passes only in the executables that the project's linker made, which have no matched layouts.
    AsBuilt,
    /// It seemed slower or faster until fresh pairs and layouts showed less.
    TakenBack,
    /// It does not pass with the data files of the other version.
    DataFiles {
        /// Whose data files it was measured with.
        of: Side,
    },
    /// Its harness lists several tests of its name, and runs all of them when one is asked for.
    SharedName {
        /// How many.
        tests: Sides<usize>,
    },
    /// It is judged by a threshold of its own.
    OwnThreshold {
        threshold: Threshold,
        /// Where that is set.
        from: String,
    },
    /// It is judged by what goes beyond a loss that was accepted.
    AcceptedLoss(AcceptedLoss),
    /// A loss was accepted that was measured in another way, so it does not count.
    AcceptedOtherwise(AcceptedLoss),
    /// It is judged by metrics of its own.
    OwnMetrics {
        metrics: Vec<Metric>,
        /// Where that is set.
        from: String,
    },
    /// Its own code changed, so one version's was measured on both.
    TestCode {
        /// Whose.
        of: Side,
        difference: TestCodeDifference,
    },
}

/// Why the first calls of a test are compared and not its later ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FirstCallsBecause {
    /// A later call in the same process does not end.
    LaterCallHangs,
    LaterCallFails {
        how: Failure,
    },
    /// Base and head do not run side by side.
    NotSideBySide,
    /// Later calls hold no work.
    OnlyFirstHoldsWork,
}

/// What keeps first calls from being made in forked children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForkObstacle {
    /// The process has threads that a child would lack.
    Threads,
    /// The process may not fork.
    Forbidden,
    /// A child does not end.
    Hangs,
    /// The test fails in children.
    Fails,
    /// Too few calls fit a pair.
    TooLong,
}

/// Why the first calls of a test were not compared apart from its later ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FirstCallUnknown {
    /// The run's budget was used up before.
    BudgetUsedUp,
    NotForked {
        obstacle: ForkObstacle,
    },
    /// One pair of them differs, and more could not be measured.
    OnePairDiffers {
        why: Reason,
    },
}

/// Between what the work of a test differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// Calls in one process.
    Calls,
    /// Processes; the calls in one do the same.
    Processes,
}

const AS_BUILT: &str = "it fails when it is linked with matched layouts, so it was measured as the project's linker made it: \
                        code layout not controlled";
const STARTS_PROCESSES: &str = "it starts processes, whose code layout is not controlled: changes of";
const RUNS_BY_CLOCK: &str = "it runs until a time has passed: both versions get a clock that advances with each reading, \
                             and so do the same work";

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::OwnRandomNumbers => {
                f.write_str("base and head get into each other's way with equal random numbers: each draws its own")
            }
            Note::FirstCalls { because, obstacle: None } => {
                write!(f, "{because}: first calls are compared, each in a forked child")
            }
            Note::FirstCalls { because, obstacle: Some(obstacle) } => {
                write!(f, "{because}, and {obstacle}: first calls are compared, each in a process of its own")
            }
            Note::FirstCallToo { ns, change } => {
                let (low, high) = (100.0 * change.low, 100.0 * change.high);
                write!(f, "its first call changed apart: {} [{low:+.1} %, {high:+.1} %]", microseconds(ns))
            }
            Note::FirstCallDecides { later_ns } => {
                write!(f, "its first call changed like this; later calls: {}", microseconds(later_ns))
            }
            Note::FirstCallUnknown { because } => write!(f, "its first calls were not compared apart: {because}"),
            Note::FirstCallTakenBack => {
                f.write_str("a change of its first call was seen and did not show again on fresh pairs and layouts")
            }
            Note::FirstCallNotConfirmed => {
                f.write_str("a change of its first call was seen and could not be confirmed on fresh pairs and layouts")
            }
            Note::FirstCallNotMeasuredAgain { why } => {
                write!(f, "a change of its first call was seen and could not be measured again: {why}")
            }
            Note::MostlyStart { share } => {
                write!(f, "about {:.0} % of its process are start and harness", 100.0 * share)
            }
            Note::AsBuilt => f.write_str(AS_BUILT),
            Note::LeastDifference { ns } => write!(f, "judged from {ns} ns on, a few cycles of the processor"),
            Note::StartsProcesses { threshold } => {
                write!(f, "{STARTS_PROCESSES} at least {:.0} % count", 100.0 * threshold)
            }
            Note::RunsByClock => f.write_str(RUNS_BY_CLOCK),
            Note::UnequalWork { between, equal_seeds } => {
                let between = match between {
                    Between::Calls => "call to call",
                    Between::Processes => "process to process",
                };
                let in_spite = if *equal_seeds { ", even with equal random numbers" } else { "" };
                write!(f, "its work differs from {between}{in_spite}")
            }
            Note::FailedPairs { failed, pairs, why } => {
                let verb = if *failed == 1 { "was" } else { "were" };
                let why = why.to_string();
                let why = why.lines().next().unwrap_or_default();
                write!(f, "{failed} of {pairs} pairs failed and {verb} left out: {why}")
            }
            Note::Layouts { layouts } => {
                write!(f, "changed code has no common place in both versions: judged over {layouts} layouts")
            }
            Note::TakenBack => {
                f.write_str("a larger change was seen first and did not show again on fresh pairs and layouts")
            }
            Note::DataFiles { of } => {
                write!(f, "measured with {of}'s data files: it does not pass with {}'s", of.other())
            }
            Note::SharedName { tests: Sides { base, head } } if base == head => {
                write!(f, "{base} tests have this name: they run together and are measured as one")
            }
            Note::SharedName { tests: Sides { base, head } } => {
                write!(f, "{base} on base and {head} on head have this name: they run together and are measured as one")
            }
            Note::OwnThreshold { threshold, from } => {
                write!(f, "judged from {} on, by {from}", format::threshold(*threshold))
            }
            Note::AcceptedLoss(accepted) => write!(f, "judged by what goes beyond {accepted}"),
            Note::AcceptedOtherwise(accepted) => {
                write!(f, "{accepted}, which does not count: it was measured in another way then")
            }
            Note::OwnMetrics { metrics, from } => {
                let metrics: Vec<String> = metrics.iter().map(ToString::to_string).collect();
                write!(f, "judged by {}, by {from}", metrics.join(", "))
            }
            Note::TestCode { of, difference } => write!(f, "{of}'s test code on both versions: {difference}"),
        }
    }
}

/// `1.000 us -> 2.000 us`.
fn microseconds(ns: &Sides<f64>) -> String {
    format!("{:.3} us -> {:.3} us", ns.base / 1e3, ns.head / 1e3)
}

impl fmt::Display for FirstCallsBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::NotSideBySide => return f.write_str("base and head do not run side by side"),
            Self::OnlyFirstHoldsWork => return f.write_str("only its first call holds work"),
            Self::LaterCallHangs => "a later call does not end",
            Self::LaterCallFails { how: how @ (Failure::Exited { .. } | Failure::Signal { .. }) } => {
                &format!("a later call ends the process: {how}")
            }
            Self::LaterCallFails { how: Failure::PassesOnce } => "a later call fails",
            Self::LaterCallFails { how } => &format!("a later call fails: {how}"),
        };
        write!(f, "not repeatable in one process ({why})")
    }
}

impl fmt::Display for FirstCallUnknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BudgetUsedUp => write!(f, "{}", Reason::BudgetUsedUp),
            Self::NotForked { obstacle } => write!(f, "{obstacle}"),
            Self::OnePairDiffers { why } => {
                write!(f, "one pair of them differs, and more could not be measured: {why}")
            }
        }
    }
}

impl fmt::Display for ForkObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Threads => "its process has threads that a forked child would lack",
            Self::Forbidden => "its process may not fork",
            Self::Hangs => "a forked child does not end",
            Self::Fails => "it fails in forked children",
            Self::TooLong => "its calls are too long to make several in a pair",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FailedOn, Side};

    #[track_caller]
    fn check(note: &Note, expected: &str) {
        assert_eq!(note.to_string(), expected);
    }

    #[test]
    fn failed_pairs_are_counted_with_the_first_cause() {
        let failed = |failed, detail: &str| {
            let why = Reason::Fails { side: FailedOn::Head, how: Failure::Said(detail.to_owned()), intermittent: true };
            Note::FailedPairs { failed, pairs: 8 + failed, why }
        };
        let one = "1 of 9 pairs failed and was left out: fails on head, not always: it is full";
        check(&failed(1, "it is full\nnote: run with ..."), one);
        let two = "2 of 10 pairs failed and were left out: fails on head, not always: it is full";
        check(&failed(2, "it is full"), two);
    }

    #[test]
    fn first_calls_come_with_their_cause_and_what_kept_them_from_forking() {
        let because = FirstCallsBecause::LaterCallFails { how: Failure::Said("taken".to_owned()) };
        let forked = "not repeatable in one process (a later call fails: taken): first calls are compared, each in a forked child";
        check(&Note::FirstCalls { because, obstacle: None }, forked);
        let because = FirstCallsBecause::NotSideBySide;
        let fresh = "base and head do not run side by side, and its process may not fork: first calls are compared, each in a process of its own";
        check(&Note::FirstCalls { because, obstacle: Some(ForkObstacle::Forbidden) }, fresh);
    }

    #[test]
    fn first_calls_that_are_not_known_come_with_the_cause() {
        let unknown = |because| Note::FirstCallUnknown { because };
        let budget = "its first calls were not compared apart: the run's --budget was used up";
        check(&unknown(FirstCallUnknown::BudgetUsedUp), budget);
        let forbidden = "its first calls were not compared apart: its process may not fork";
        check(&unknown(FirstCallUnknown::NotForked { obstacle: ForkObstacle::Forbidden }), forbidden);
        let why =
            Reason::Fails { side: FailedOn::Head, how: Failure::Said("it is full".to_owned()), intermittent: false };
        let again = "a change of its first call was seen and could not be measured again: fails on head: it is full";
        check(&Note::FirstCallNotMeasuredAgain { why }, again);
    }

    #[test]
    fn figures_have_their_units() {
        let later_ns = Sides { base: 1500.0, head: 1510.0 };
        check(
            &Note::FirstCallDecides { later_ns },
            "its first call changed like this; later calls: 1.500 us -> 1.510 us",
        );
        let shared = |base, head| Note::SharedName { tests: Sides { base, head } };
        check(&shared(2, 2), "2 tests have this name: they run together and are measured as one");
        check(&shared(1, 2), "1 on base and 2 on head have this name: they run together and are measured as one");
        check(&Note::LeastDifference { ns: 1.0 }, "judged from 1 ns on, a few cycles of the processor");
        check(&Note::DataFiles { of: Side::Head }, "measured with head's data files: it does not pass with base's");
    }
}
