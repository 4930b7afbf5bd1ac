//! Metrics of a test: its time and other costs of a run.

use super::{Change, Failure, Sides, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// A cost of running a test; more is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Metric {
    /// Wall time of one run.
    Time,
    /// Time during which threads of the process ran, per run.
    CpuTime,
    /// Time of the workspace programs that one run starts, each from start to exit.
    ProgramTime,
    /// Wall time of the first call in a fresh process.
    Cold,
    /// Number of allocated blocks per run.
    Allocations,
    /// Allocated bytes per run.
    AllocatedBytes,
    /// Maximum of live bytes during a run, beyond those alive before.
    PeakHeap,
    /// Maximum memory use of the process.
    PeakRss,
    /// Page faults per run.
    PageFaults,
    /// Voluntary context switches per run.
    ContextSwitches,
    /// Bytes read per run.
    ReadBytes,
    /// Bytes written per run.
    WrittenBytes,
    /// System calls per run, of all threads and started processes.
    SystemCalls,
    /// Instructions executed in user mode per run.
    Instructions,
}

/// Unit of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Nanoseconds,
    Bytes,
    Count,
}

impl Metric {
    /// All metrics, in the order of reports.
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

    /// Returns the name on the command line and in JSON.
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

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// Returns the metric's unit.
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

/// Verdict on one metric of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum MetricVerdict {
    /// Head costs more, by at least the metric's threshold.
    More,
    /// Head costs less, by at least the metric's threshold.
    Less,
    /// The metric differs by less than the threshold.
    ChangedBelowThreshold,
    /// No difference; for an estimate, none as large as the threshold.
    Same,
    /// The interval of the estimate is too wide for a verdict.
    Inconclusive,
    /// The count varies from call to call.
    Varies,
}

impl MetricVerdict {
    /// Returns true if the metric changed by at least the threshold.
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

/// Readings on one side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub value: f64,
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub low: f64,
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub high: f64,
}

/// Kind of readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Basis {
    Pairs(usize),
    /// One reading from each of this many later calls.
    Calls(usize),
    /// First calls of this many processes.
    FirstCalls(usize),
}

/// One metric of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Metered {
    pub verdict: MetricVerdict,
    /// Readings in the metric's unit.
    pub readings: Sides<Readings>,
    /// Change of head against base; `None` if base's value is zero. Counts have no interval: both ends equal the
    /// estimate.
    pub change: Option<Change>,
    /// The smallest change that counts, as a fraction of base.
    #[serde(deserialize_with = "super::json_forms::float::one")]
    pub threshold: f64,
    pub basis: Basis,
    /// The programs with their times, for metrics that sum programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<StartedProgram>,
    /// Counts by name that differ between the versions, the largest difference first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<NamedCount>,
}

/// A count by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NamedCount {
    pub name: String,
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub counts: Sides<f64>,
}

/// A workspace program that a test starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartedProgram {
    pub name: String,
    /// Starts in one run of the test.
    #[serde(deserialize_with = "super::json_forms::float::sides")]
    pub starts: Sides<f64>,
    /// Times of these starts; `None` if only one version starts the program, or if a process outside the tool's view
    /// waited for it.
    pub times: Option<ProgramTimes>,
}

/// Times of a program, from start to exit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProgramTimes {
    pub wall: Metered,
    /// CPU time, including processes that the program waited for.
    pub cpu: Metered,
    /// True if the program hardly waits, so that its CPU time is equivalent to its wall time and less noisy.
    pub by_cpu: bool,
}

impl ProgramTimes {
    /// Returns the deciding time.
    pub fn deciding(&self) -> &Metered {
        if self.by_cpu { &self.cpu } else { &self.wall }
    }
}

/// Reason for missing figures.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum NotMetered {
    /// Rust's allocations use an allocator of the program.
    OwnAllocator,
    /// The program is linked statically, so that no library can be loaded before its allocator.
    Static,
    /// The counting library is missing or was not loaded.
    NotLoaded,
    /// Instructions cannot be counted by the processor.
    NoCounter(NoCounter),
    /// The kernel does not count it.
    NotCounted,
    /// The test starts processes, which are not counted.
    StartsProcesses,
    /// The system does not allow tracing processes.
    NotTraced,
    /// The end of a program that the test starts was not observed.
    EndNotSeen,
    /// Whole processes are not counted, because the harness and process start would be included.
    WholeProcess,
    SwitchedOff,
    /// The necessary calls would take too much of the test's budget.
    TooLong,
    /// The run's budget was used up.
    BudgetUsedUp,
    Interrupted,
    /// The counting process failed.
    Failed(Failure),
    /// The counting process timed out.
    TimedOut {
        seconds: u64,
    },
    /// callgrind did not write its counts.
    NoCounts,
    /// The counting process read nothing.
    ReadNothing,
    /// Part of the difference is an accepted loss of unknown share.
    OfAcceptedLoss,
}

/// Reason why the processor cannot count instructions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum NoCounter {
    /// The kernel or the container forbids it.
    Refused,
    /// The processor or its virtual machine has no counting unit.
    NoUnit,
    /// Opening a counter failed.
    Failed { why: String },
}

/// Reason why a deciding metric has no verdict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoVerdict {
    TooNoisy,
    /// The count varies from call to call.
    Varies,
    NotLookedAt,
    NotMetered(NotMetered),
}

impl NotMetered {
    /// Returns the kind as one word, the same as in JSON.
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

/// Results of a test's metrics.
pub type Metrics = BTreeMap<Metric, Result<Metered, NotMetered>>;

/// Contradiction between time and work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CrossCheck {
    /// Time changed, but neither allocations nor instructions did.
    Suspect,
    /// These metrics changed, but time did not.
    WorkAlone(Vec<Metric>),
}

impl CrossCheck {
    /// Returns the kind as one word, the same as in JSON.
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
            Self::OwnAllocator => f.write_str("not counted: the program has its own allocator"),
            Self::Static => f.write_str("not counted: linked statically"),
            Self::NotLoaded => f.write_str("the counting library cannot be loaded"),
            Self::NoCounter(why) => write!(f, "no counter ({why}; `--instructions callgrind` needs none)"),
            Self::NotCounted => f.write_str("this kernel does not count it"),
            Self::StartsProcesses => f.write_str("the test starts processes, which are not counted"),
            Self::NotTraced => f.write_str("the system does not allow tracing processes (ptrace)"),
            Self::EndNotSeen => f.write_str("the end of a program that the test starts was not observed"),
            Self::WholeProcess => {
                f.write_str("not counted for whole processes, because process start would be included")
            }
            Self::SwitchedOff => f.write_str("not requested"),
            Self::TooLong => f.write_str("more calls would exceed the test's budget (--per-test-budget)"),
            Self::BudgetUsedUp => f.write_str("the run's --budget was used up"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Failed(how) => write!(f, "the counting process failed: {how}"),
            Self::TimedOut { seconds } => write!(f, "the counting process timed out after {seconds} s"),
            Self::NoCounts => f.write_str("callgrind did not write its counts"),
            Self::OfAcceptedLoss => f.write_str("not compared, because the accepted loss may account for it"),
            Self::ReadNothing => f.write_str("the counting process read nothing"),
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
            Self::TooNoisy => f.write_str("too noisy for the test's budget, or within code-alignment noise"),
            Self::Varies => f.write_str("it varies from call to call"),
            Self::NotLookedAt => f.write_str("it was not measured"),
            Self::NotMetered(why) => why.fmt(f),
        }
    }
}

impl fmt::Display for CrossCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Suspect => f.write_str(
                "suspect: allocations and instructions are unchanged; \
                 possible causes are caches, branches, waiting, and code placement",
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
        assert!(Metric::ALL.into_iter().all(|metric| Metric::from_name(metric.name()) == Some(metric)));
        assert_eq!(Metric::from_name("CPU time"), None);
    }
}
