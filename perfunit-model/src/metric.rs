//! What is compared of a test: its time, and what else its runs cost.

use super::{Change, Failure, Sides, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A cost of running a test; more of it is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Metric {
    /// Wall time of one run.
    Time,
    /// Time for which threads of the process ran, for one run.
    CpuTime,
    /// Time of the programs of the workspace that one run starts, each from its start to its end.
    ProgramTime,
    /// Wall time of the first call in a fresh process.
    Cold,
    /// Blocks asked for in one run.
    Allocations,
    /// Bytes asked for in one run.
    AllocatedBytes,
    /// Most bytes alive at a time in one run, beyond those alive before.
    PeakHeap,
    /// Most memory in use by the process.
    PeakRss,
    /// Page faults of one run.
    PageFaults,
    /// Times that a thread gave up its core to wait, in one run.
    ContextSwitches,
    /// Bytes read in one run.
    ReadBytes,
    /// Bytes written in one run.
    WrittenBytes,
    /// System calls of one run, of all threads and of the processes that it starts.
    SystemCalls,
    /// Instructions executed in one run, outside of the kernel.
    Instructions,
}

/// What a metric is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Bytes,
    Count,
}

impl Metric {
    /// All of them, in the order of reports.
    pub const ALL: [Metric; 14] = [
        Metric::Time,
        Metric::CpuTime,
        Metric::ProgramTime,
        Metric::Cold,
        Metric::Allocations,
        Metric::AllocatedBytes,
        Metric::PeakHeap,
        Metric::PeakRss,
        Metric::PageFaults,
        Metric::ContextSwitches,
        Metric::ReadBytes,
        Metric::WrittenBytes,
        Metric::SystemCalls,
        Metric::Instructions,
    ];

    /// The name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Time => "time",
            Metric::CpuTime => "cpu-time",
            Metric::ProgramTime => "program-time",
            Metric::Cold => "cold",
            Metric::Allocations => "allocations",
            Metric::AllocatedBytes => "allocated-bytes",
            Metric::PeakHeap => "peak-heap",
            Metric::PeakRss => "peak-rss",
            Metric::PageFaults => "page-faults",
            Metric::ContextSwitches => "context-switches",
            Metric::ReadBytes => "read-bytes",
            Metric::WrittenBytes => "written-bytes",
            Metric::SystemCalls => "syscalls",
            Metric::Instructions => "instructions",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// What it is counted in.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Time | Metric::CpuTime | Metric::ProgramTime | Metric::Cold => Unit::Nanoseconds,
            Metric::AllocatedBytes | Metric::PeakHeap | Metric::PeakRss | Metric::ReadBytes | Metric::WrittenBytes => {
                Unit::Bytes
            }
            Metric::Allocations
            | Metric::PageFaults
            | Metric::ContextSwitches
            | Metric::SystemCalls
            | Metric::Instructions => Unit::Count,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Metric::Time => "time",
            Metric::CpuTime => "CPU time",
            Metric::ProgramTime => "time of started programs",
            Metric::Cold => "first call",
            Metric::Allocations => "allocations",
            Metric::AllocatedBytes => "bytes allocated",
            Metric::PeakHeap => "peak heap",
            Metric::PeakRss => "peak memory",
            Metric::PageFaults => "page faults",
            Metric::ContextSwitches => "context switches",
            Metric::ReadBytes => "bytes read",
            Metric::WrittenBytes => "bytes written",
            Metric::SystemCalls => "system calls",
            Metric::Instructions => "instructions",
        })
    }
}

/// The answer for one metric of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricVerdict {
    /// Head costs more, at or beyond the metric's threshold.
    More,
    /// Head costs less, at or beyond the metric's threshold.
    Less,
    /// It differs by less than the threshold.
    ChangedBelowThreshold,
    /// No difference; of an estimate, none as large as the threshold.
    Same,
    /// Estimated, but the interval is too wide to tell.
    Inconclusive,
    /// Counted, but it differs from call to call.
    Varies,
}

impl MetricVerdict {
    /// Whether it says that the metric is another one, by as much as counts.
    pub fn is_change(self) -> bool {
        matches!(self, Self::More | Self::Less)
    }
}

impl From<Verdict> for MetricVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Slower => Self::More,
            Verdict::Faster => Self::Less,
            Verdict::ChangedBelowThreshold => Self::ChangedBelowThreshold,
            Verdict::Same => Self::Same,
            Verdict::Inconclusive | Verdict::NotMeasured => Self::Inconclusive,
        }
    }
}

/// What was read on a side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub value: f64,
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub low: f64,
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub high: f64,
}

/// What readings are of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Basis {
    Pairs(usize),
    /// So many later calls, each.
    Calls(usize),
    /// First calls of so many processes.
    FirstCalls(usize),
}

/// One metric of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metered {
    pub verdict: MetricVerdict,
    /// In the metric's unit.
    pub readings: Sides<Readings>,
    /// Head against base. What was counted has no interval: both ends are the estimate. `None` if base has none of it.
    pub change: Option<Change>,
    /// The smallest change that counts, as a fraction of base.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub threshold: f64,
    pub basis: Basis,
    /// The programs whose times these are, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<StartedProgram>,
    /// Counts by name that differ between the versions, the largest difference first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NamedCount>,
}

/// A part of what is counted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedCount {
    pub name: String,
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub counts: Sides<f64>,
}

/// A program of the workspace that a test starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartedProgram {
    pub name: String,
    /// Starts in one run of the test.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub starts: Sides<f64>,
    /// The times of these starts; `None` if only one version starts the program or a process that the tool does not see
    /// waited for its end.
    pub times: Option<ProgramTimes>,
}

/// Times of a program, each from its start to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramTimes {
    pub wall: Metered,
    /// Includes the processes that the program waited for.
    pub cpu: Metered,
    /// Whether the program hardly waits, so that its CPU time tells the same as its wall time and is less noisy.
    pub by_cpu: bool,
}

impl ProgramTimes {
    /// Returns the time that decides.
    pub fn deciding(&self) -> &Metered {
        if self.by_cpu { &self.cpu } else { &self.wall }
    }
}

/// Why there is no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotMetered {
    /// Rust allocates by an allocator of the program's own.
    OwnAllocator,
    /// Linked statically: nothing can be loaded before its allocator.
    Static,
    /// The library that counts is not there or was not loaded.
    NotLoaded,
    /// No counter of instructions.
    NoCounter(NoCounter),
    /// The kernel does not count it.
    NotCounted,
    /// The test starts processes, and those are not counted.
    StartsProcesses,
    /// The system does not let the tool trace processes.
    NotTraced,
    /// The end of a program that the test starts was not seen.
    EndNotSeen,
    /// Of a whole process: what its harness and its start cost would count as well.
    WholeProcess,
    SwitchedOff,
    /// The calls that it takes would need too much of the test's budget.
    TooLong,
    /// The run's time is over.
    BudgetUsedUp,
    Interrupted,
    /// The process that should count failed.
    Failed(Failure),
    /// It did not end.
    TimedOut {
        seconds: u64,
    },
    /// callgrind did not write its counts.
    NoCounts,
    /// It read nothing.
    ReadNothing,
    /// Part of what differs is accepted, and its share is not known.
    OfAcceptedLoss,
}

/// Why instructions cannot be counted by the processor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NoCounter {
    /// The kernel or the container refuses it.
    Refused,
    /// The processor, or its virtual machine, has no unit that counts.
    NoUnit,
    /// Opening one failed.
    Failed { why: String },
}

/// Why a metric gives no verdict although it decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoVerdict {
    TooNoisy,
    /// It differs from call to call.
    Varies,
    NotLookedAt,
    NotMetered(NotMetered),
}

impl NotMetered {
    /// The kind as one word, the same as in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::OwnAllocator => "own-allocator",
            Self::Static => "static",
            Self::NotLoaded => "not-loaded",
            Self::NoCounter(_) => "no-counter",
            Self::NotCounted => "not-counted",
            Self::StartsProcesses => "starts-processes",
            Self::NotTraced => "not-traced",
            Self::EndNotSeen => "end-not-seen",
            Self::WholeProcess => "whole-process",
            Self::SwitchedOff => "switched-off",
            Self::TooLong => "too-long",
            Self::BudgetUsedUp => "budget-used-up",
            Self::Interrupted => "interrupted",
            Self::OfAcceptedLoss => "of-accepted-loss",
            Self::Failed(_) | Self::TimedOut { .. } | Self::NoCounts | Self::ReadNothing => "failed",
        }
    }
}

/// What is known of a test's metrics.
pub type Metrics = BTreeMap<Metric, Result<Metered, NotMetered>>;

/// Time and work that do not go together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrossCheck {
    /// Time changed, and neither allocations nor instructions did.
    Suspect,
    /// These changed, and time did not.
    WorkAlone(Vec<Metric>),
}

impl CrossCheck {
    /// The kind as one word, the same as in JSON.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Suspect => "suspect",
            Self::WorkAlone(_) => "work-alone",
        }
    }
}

impl fmt::Display for NotMetered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnAllocator => f.write_str("own allocator: not counted"),
            Self::Static => f.write_str("linked statically: not counted"),
            Self::NotLoaded => f.write_str("the library that counts cannot be loaded"),
            Self::NoCounter(why) => write!(f, "no counter ({why}; --instructions callgrind does without)"),
            Self::NotCounted => f.write_str("this kernel does not count it"),
            Self::StartsProcesses => f.write_str("the test starts processes, which are not counted"),
            Self::NotTraced => f.write_str("the system does not let the tool trace processes (ptrace)"),
            Self::EndNotSeen => {
                f.write_str("no process that the tool sees waits for the end of a program that the test starts")
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_found_by_their_names() {
        assert!(Metric::ALL.into_iter().all(|metric| Metric::named(metric.name()) == Some(metric)));
        assert_eq!(Metric::named("CPU time"), None);
    }
}
