//! Notes on how a test was measured, in addition to its verdict.

use super::format::Glyphs;
use super::{AcceptedLoss, Change, Failure, Metric, Reason, Side, Sides, TestCodeDifference, Threshold, format};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A note on a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Note {
    /// Base and head conflict with equal random numbers, so each draws its own.
    OwnRandomNumbers,
    /// First calls are compared, each in a forked child, or in its own process if forking is not possible.
    FirstCalls { because: FirstCallsBecause, obstacle: Option<ForkObstacle> },
    /// The first call changed in addition to later calls.
    FirstCallToo { ns: Sides<f64>, change: Change },
    /// The first call changed, while later calls did not change or got faster.
    FirstCallDecides {
        /// Time of later calls, in ns.
        later_ns: Sides<f64>,
    },
    /// First calls were not compared separately.
    FirstCallUnknown { because: FirstCallUnknown },
    /// A change of the first call was not reproduced by fresh pairs and layouts.
    FirstCallTakenBack,
    /// Fresh pairs and layouts left open whether the first call changed.
    FirstCallNotConfirmed,
    /// The first call seemed to change, but fresh pairs failed.
    FirstCallNotMeasuredAgain { why: Reason },
    /// Startup and harness take much of the process time.
    MostlyStart {
        /// Fraction of the process's time on base.
        share: f64,
    },
    /// The test is so short that smaller differences are not judged.
    LeastDifference { ns: f64 },
    /// The test starts processes, whose code layout is not controlled, so smaller changes are not judged.
    StartsProcesses { threshold: f64 },
    /// The test runs for a fixed time, so both versions use a clock that advances equally with each reading.
    RunsByClock,
    /// Both versions ran at the same time, because the machine was busy.
    AtOnce,
    /// Runs of the test do different work.
    UnequalWork {
        between: Between,
        /// True if base and head had equal random numbers.
        equal_seeds: bool,
    },
    /// Pairs that were left out.
    FailedPairs {
        failed: usize,
        /// Total number of pairs.
        pairs: usize,
        /// The reason for the first failure.
        why: Reason,
    },
    /// Changed code cannot be placed at the same addresses, so the test was judged over several layouts.
    Layouts { layouts: usize },
    /// The test passes only in the project's own executables, without matched layouts.
    AsBuilt,
    /// The test seemed slower or faster until fresh pairs and layouts showed less.
    TakenBack,
    /// The test does not pass with the data files of the other version.
    DataFiles {
        /// The version with the data files that were used.
        of: Side,
    },
    /// The harness lists several tests with this name, and runs all of them when one is requested.
    SharedName {
        /// Number of tests with the name.
        tests: Sides<usize>,
    },
    /// The test has its own threshold.
    OwnThreshold {
        threshold: Threshold,
        /// Source of the setting.
        from: String,
    },
    /// The test is judged by the change beyond an accepted loss.
    AcceptedLoss(AcceptedLoss),
    /// An accepted loss was measured in another way and is not applied.
    AcceptedOtherwise(AcceptedLoss),
    /// The test has its own deciding metrics.
    OwnMetrics {
        metrics: Vec<Metric>,
        /// Source of the setting.
        from: String,
    },
    /// The test's own code changed, so that one version's was measured on both sides.
    TestCode {
        /// The version with the measured test code.
        of: Side,
        difference: TestCodeDifference,
    },
}

/// Reason for comparing first calls instead of later ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FirstCallsBecause {
    /// A later call in the same process hangs.
    LaterCallHangs,
    LaterCallFails {
        how: Failure,
    },
    /// Base and head cannot run side by side.
    NotSideBySide,
    /// Later calls do no work.
    OnlyFirstHoldsWork,
}

/// Reason why first calls cannot run in forked children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ForkObstacle {
    /// The process has threads, which a child lacks.
    Threads,
    /// The process may not fork.
    Forbidden,
    /// A child hangs.
    Hangs,
    /// The test fails in children.
    Fails,
    /// Too few calls fit into a pair.
    TooLong,
}

/// Reason why first calls were not compared separately.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FirstCallUnknown {
    /// The run's budget was used up.
    BudgetUsedUp,
    NotForked {
        obstacle: ForkObstacle,
    },
    /// One pair differs, and no more could be measured.
    OnePairDiffers {
        why: Reason,
    },
}

/// Kind of units between which a test's work differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Between {
    /// Calls in one process.
    Calls,
    /// Processes; calls within a process do the same work.
    Processes,
}

const AS_BUILT: &str = "it fails when linked with matched layouts, so the project's own executable was measured: \
                        code layout not controlled";
const FIRST_CALL_TAKEN_BACK: &str = "a change of its first call was not reproduced by fresh pairs and layouts";
const FIRST_CALL_NOT_CONFIRMED: &str = "a change of its first call could not be confirmed by fresh pairs and layouts";
const STARTS_PROCESSES: &str = "it starts processes, whose code layout is not controlled: changes of";
const RUNS_BY_CLOCK: &str = "it runs for a fixed time: both versions get a clock that advances with each reading, so that they \
                             do the same work";
const AT_ONCE: &str =
    "both versions ran at once, because the machine is busy: its times are up to a quarter longer than alone";

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, Glyphs::Ascii)
    }
}

impl Note {
    /// Returns the text of the note, with the characters that a terminal can show.
    pub fn text(&self, glyphs: Glyphs) -> String {
        let mut text = String::new();
        // A string takes all.
        let _ = self.write(&mut text, glyphs);
        text
    }

    fn write(&self, f: &mut impl fmt::Write, glyphs: Glyphs) -> fmt::Result {
        match self {
            Note::OwnRandomNumbers => {
                f.write_str("base and head conflict when they draw equal random numbers, so each draws its own")
            }
            Note::FirstCalls { because, obstacle: None } => {
                write!(f, "{because}: compared by first calls, each in a forked child")
            }
            Note::FirstCalls { because, obstacle: Some(obstacle) } => {
                write!(f, "{because}, and {obstacle}: compared by first calls, each in its own process")
            }
            Note::FirstCallToo { ns, change } => {
                write!(f, "its first call changed, too: {} {}", times(ns, glyphs), format::interval(*change))
            }
            Note::FirstCallDecides { later_ns } => {
                write!(f, "these are figures of its first call; later calls: {}", times(later_ns, glyphs))
            }
            Note::FirstCallUnknown { because } => write!(f, "its first calls were not compared separately: {because}"),
            Note::FirstCallTakenBack => f.write_str(FIRST_CALL_TAKEN_BACK),
            Note::FirstCallNotConfirmed => f.write_str(FIRST_CALL_NOT_CONFIRMED),
            Note::FirstCallNotMeasuredAgain { why } => {
                write!(f, "a change of its first call could not be measured again: {why}")
            }
            Note::MostlyStart { share } => {
                write!(f, "about {:.0} % of its process time is startup and harness", 100.0 * share)
            }
            Note::AsBuilt => f.write_str(AS_BUILT),
            Note::LeastDifference { ns } => write!(f, "changes below {ns} ns, a few processor cycles, do not count"),
            Note::StartsProcesses { threshold } => {
                write!(f, "{STARTS_PROCESSES} at least {:.0} % count", 100.0 * threshold)
            }
            Note::RunsByClock => f.write_str(RUNS_BY_CLOCK),
            Note::AtOnce => f.write_str(AT_ONCE),
            Note::UnequalWork { between, equal_seeds } => {
                let between = match between {
                    Between::Calls => "call to call",
                    Between::Processes => "process to process",
                };
                let in_spite = if *equal_seeds { ", despite equal random numbers" } else { "" };
                write!(f, "its work differs from {between}{in_spite}")
            }
            Note::FailedPairs { failed, pairs, why } => {
                let verb = if *failed == 1 { "was" } else { "were" };
                let why = why.to_string();
                let why = why.lines().next().unwrap_or_default();
                write!(f, "{failed} of {pairs} pairs failed and {verb} left out: {why}")
            }
            Note::Layouts { layouts } => {
                write!(f, "changed code cannot be placed at the same addresses: judged over {layouts} layouts")
            }
            Note::TakenBack => f.write_str("a larger change was not reproduced by fresh pairs and layouts"),
            Note::DataFiles { of } => {
                write!(f, "measured with {of}'s data files, because it fails with {}'s", of.other())
            }
            Note::SharedName { tests: Sides { base, head } } if base == head => {
                write!(f, "{base} tests have this name: they run together and are measured as one test")
            }
            Note::SharedName { tests: Sides { base, head } } => {
                write!(
                    f,
                    "{base} on base and {head} on head have this name: they run together and are measured as one test"
                )
            }
            Note::OwnThreshold { threshold, from } => {
                write!(f, "threshold {}, by {from}", format::threshold(*threshold))
            }
            Note::AcceptedLoss(accepted) => write!(f, "judged by the change beyond {accepted}"),
            Note::AcceptedOtherwise(accepted) => {
                write!(f, "{accepted}; not applied, because it was measured in another way")
            }
            Note::OwnMetrics { metrics, from } => {
                let metrics: Vec<String> = metrics.iter().map(ToString::to_string).collect();
                write!(f, "judged by {}, by {from}", metrics.join(", "))
            }
            Note::TestCode { of, difference } => write!(f, "{of}'s test code on both versions: {difference}"),
        }
    }
}

/// Formats `1.00 us -> 2.00 us`.
fn times(ns: &Sides<f64>, glyphs: Glyphs) -> String {
    let Sides { base, head } = ns.map(|ns| format::duration(ns, glyphs));
    format!("{base} {} {head}", glyphs.arrow())
}

impl fmt::Display for FirstCallsBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::NotSideBySide => return f.write_str("base and head cannot run side by side"),
            Self::OnlyFirstHoldsWork => return f.write_str("only its first call does work"),
            Self::LaterCallHangs => "a later call hangs",
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
                write!(f, "one pair differs, and no more could be measured: {why}")
            }
        }
    }
}

impl fmt::Display for ForkObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Threads => "its process has threads, which a forked child lacks",
            Self::Forbidden => "its process may not fork",
            Self::Hangs => "a forked child hangs",
            Self::Fails => "it fails in forked children",
            Self::TooLong => "its calls are too long for several per pair",
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
        let forked = "not repeatable in one process (a later call fails: taken): compared by first calls, each in a forked child";
        check(&Note::FirstCalls { because, obstacle: None }, forked);
        let because = FirstCallsBecause::NotSideBySide;
        let fresh = "base and head cannot run side by side, and its process may not fork: compared by first calls, each in its own process";
        check(&Note::FirstCalls { because, obstacle: Some(ForkObstacle::Forbidden) }, fresh);
    }

    #[test]
    fn first_calls_that_are_not_known_come_with_the_cause() {
        let unknown = |because| Note::FirstCallUnknown { because };
        let budget = "its first calls were not compared separately: the run's --budget was used up";
        check(&unknown(FirstCallUnknown::BudgetUsedUp), budget);
        let forbidden = "its first calls were not compared separately: its process may not fork";
        check(&unknown(FirstCallUnknown::NotForked { obstacle: ForkObstacle::Forbidden }), forbidden);
        let why =
            Reason::Fails { side: FailedOn::Head, how: Failure::Said("it is full".to_owned()), intermittent: false };
        let again = "a change of its first call could not be measured again: fails on head: it is full";
        check(&Note::FirstCallNotMeasuredAgain { why }, again);
    }

    #[test]
    fn figures_have_their_units() {
        let later_ns = Sides { base: 1500.0, head: 1510.0 };
        check(
            &Note::FirstCallDecides { later_ns },
            "these are figures of its first call; later calls: 1.50 us -> 1.51 us",
        );
        let shared = |base, head| Note::SharedName { tests: Sides { base, head } };
        check(&shared(2, 2), "2 tests have this name: they run together and are measured as one test");
        check(&shared(1, 2), "1 on base and 2 on head have this name: they run together and are measured as one test");
        check(&Note::LeastDifference { ns: 1.0 }, "changes below 1 ns, a few processor cycles, do not count");
        check(&Note::DataFiles { of: Side::Head }, "measured with head's data files, because it fails with base's");
    }
}
