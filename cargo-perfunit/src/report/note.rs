//! Remarks on tests, in words.

use super::format;
use crate::model::{
    Between, CodeChange, Failure, FirstCallUnknown, FirstCallsBecause, ForkObstacle, Note, Reason, Sides,
    TestCodeDifference, TestCodeItem,
};
use std::fmt;

const AS_BUILT: &str = "it fails when it is linked with matched layouts, so it was measured as the project's linker made it: \
                        code layout not controlled";
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

impl fmt::Display for TestCodeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, CodeChange { item, path, line, .. }) = match self {
            Self::Function(name) => return f.write_str(name),
            Self::Doctest(name) => return write!(f, "doc test {name}"),
            Self::Macro(change) => ("macro", change),
            Self::MacroCall(change) => ("call of", change),
            Self::Helper(change) => ("helper", change),
        };
        write!(f, "{what} {item} ({path}:{line})")
    }
}

impl fmt::Display for TestCodeDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GoneInHead => f.write_str("it is gone in head"),
            Self::NewInHead => f.write_str("it is new in head"),
            Self::Changed { item } => write!(f, "its own code changed: {item}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{FailedOn, Side};

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
