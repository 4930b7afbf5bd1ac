//! Why metrics have no figure or no verdict, and whether they go with time, in words.

use crate::model::{CrossCheck, Metric, NoCounter, NoVerdict, NotMetered};
use std::fmt;

impl fmt::Display for NotMetered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnAllocator => f.write_str("own allocator: not counted"),
            Self::Static => f.write_str("linked statically: not counted"),
            Self::NotLoaded => f.write_str("the library that counts cannot be loaded"),
            Self::NoCounter(why) => write!(f, "no counter ({why}; --instructions callgrind does without)"),
            Self::NotCounted => f.write_str("this kernel does not count it"),
            Self::StartsProcesses => f.write_str("the test starts processes, which are not counted"),
            Self::WholeProcess => f.write_str("not counted for whole processes: their start would count as well"),
            Self::SwitchedOff => f.write_str("not asked for"),
            Self::TooLong => f.write_str("further calls would take too much of the test's budget (--per-test-budget)"),
            Self::BudgetUsedUp => f.write_str("the run's --budget was used up"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Failed(how) => write!(f, "the process that should count failed: {how}"),
            Self::TimedOut { seconds } => write!(f, "the process that should count did not end within {seconds} s"),
            Self::NoCounts => f.write_str("callgrind did not write its counts"),
            Self::OfAcceptedLoss => {
                f.write_str("it may be that of the loss that the ratchet accepts: not counted for what came on top")
            }
            Self::ReadNothing => f.write_str("the process that should count read nothing"),
        }
    }
}

impl fmt::Display for NoCounter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Refused => "refused by kernel.perf_event_paranoid or the container",
            Self::NoUnit => "the processor or its virtual machine has no PMU",
            Self::Failed { why } => why,
        })
    }
}

impl fmt::Display for NoVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooNoisy => {
                f.write_str("too noisy to tell within the test's budget, or no more than moved code can fake")
            }
            Self::Varies => f.write_str("it differs from call to call"),
            Self::NotLookedAt => f.write_str("it was not looked at"),
            Self::NotMetered(why) => why.fmt(f),
        }
    }
}

impl fmt::Display for CrossCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspect => f.write_str(
                "suspect: allocations and instructions are the same; \
                 what is left are caches, branches, waiting, and the place of code and data",
            ),
            Self::WorkAlone(metrics) => {
                let named: Vec<String> = metrics.iter().map(Metric::to_string).collect();
                write!(f, "warning: more {}, although its time is about the same", named.join(" and "))
            }
        }
    }
}
