//! Data types that the stages of a comparison share.
//!
//! No I/O, and no algorithms beyond conversions and orderings. Values that exist once per version are [`Sides`].

mod acceptance;
mod allowance;
mod bisection;
mod calibration;
mod cause;
pub mod checkup;
mod choice;
mod conclusion;
mod environment;
pub mod error;
mod explanation;
mod explanations;
mod failure;
pub mod format;
mod generated_workload;
mod growth;
pub mod guesses;
mod history;
mod hot_spots;
pub mod json_forms;
mod layout;
mod listing;
mod main_cause;
mod metric;
mod note;
mod outcome;
mod partition;
mod pooled_change;
mod possible;
mod profile;
mod ratchet;
mod reason;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod selection;
mod sides;
pub mod suggest;
mod test;
mod threshold;
mod uncovered_function;
mod undecided_finding;
mod unexplained_reason;
mod verdict;
mod warning;
mod workload;

pub use acceptance::{ACCEPT_TRAILER, Acceptance, AcceptedIn, Malformed};
pub use allowance::{Allowance, Coverage};
pub use bisection::{Bisection, Direction, FoundStep, FoundTest, Further, SourceChange, Unresolved, Unsearched};
pub use calibration::{
    Calibration, Cell, Circumstances, Compared, DecisionRule, Level, Processes, Share, Tally, Terms,
};
pub use cause::{Cause, ChangeKind, Changed, CodeChange};
pub use choice::{Engine, Explain, Generated, Ignored, Instructions, Lto, Placement, Strategy};
pub use conclusion::{Conclusion, Denied};
pub use environment::{Environment, LtoKind, Spent, Stages};
pub use explanation::{
    CallNode, Difference, Explanation, Function, Responsibility, ResponsibleFunction, is_end_of_path,
};
pub use explanations::{Explanations, TestExplained};
pub use failure::Failure;
pub use generated_workload::{
    CallFailure, GeneratedCall, GeneratedWorkload, Generation, ModulePlace, NotGenerated, SystemCall, WithoutWorkload,
};
pub use growth::{Exponent, Growth, GrowthFinding, GrowthUnseen, NotCounted, Scaling, UnseenBecause};
pub use history::{
    Anchor, Commit, Course, Entry, History, HistorySource, Joined, Point, Release, Releases, Skipped, Span, Step,
    StepFigures, StepOutcome, StepTest,
};
pub use hot_spots::{Forest, ForestNode, FunctionImpact, Impact, Ranked, Score, Spread, TestImpact};
pub use json_forms::variant_name;
pub use layout::{LayoutMatch, LostInputs, MeasuringLinker, NoLayout};
pub use listing::{ListSeconds, Listed, Listing};
pub use main_cause::{MainCause, MainCauses};
pub use metric::{
    Basis, CrossCheck, Metered, Metric, MetricVerdict, Metrics, NamedCount, NoCounter, NoVerdict, NotMetered,
    ProgramTimes, Readings, StartedProgram, Unit,
};
pub use note::{Between, FirstCallUnknown, FirstCallsBecause, ForkObstacle, Note};
pub use outcome::{GeneratedCalls, Measured, Outcome, Ratchet, Repeat, Run, VersionName};
pub use partition::{Part, Partition, PartitionKind, Sharding};
pub use pooled_change::{EnteredFunction, PooledChange, ProgramChange};
pub use possible::PossibleChange;
pub use profile::{Profile, ProfileNode, Profiles};
pub use ratchet::{AcceptedLoss, AcceptedVersion, NotCompared};
pub use reason::{NotCaptured, Reason, ReasonKind, TestCodeDifference, TestCodeItem};
pub use selection::{
    ChangedFunction, ChangedPart, Effect, Irrelevance, NoTests, NothingBecause, OtherInput, ReachedBy, SelectedBecause,
    Selection, Uncompared, Unlisted, UnmeasuredTarget, Untraceable, Why,
};
pub use sides::{FailedOn, Side, Sides};
pub use test::{GENERATED_MODULE, TargetId, TargetKind, TestId};
pub use threshold::{
    InvalidThreshold, OF_PLACES, OF_PLACES_NS, REACH_OF_CODE, REACH_OF_PLACES, REACH_WITHIN_CODE, Threshold, margin,
};
pub use uncovered_function::{LeftOutBy, Uncovered, UncoveredBecause};
pub use undecided_finding::UndecidedFinding;
pub use unexplained_reason::{BuiltWith, ExplanationNote, Unexplained, Unprobed, Unsteady};
pub use verdict::{Bound, Change, EffectClass, EffectSize, Mode, Sample, Verdict};
pub use warning::{
    AcceptanceUnused, Among, Machine, OwnRandomNumbers, Shards, ToolchainsUsed, Unfiltered, Unused, Warning,
};
pub use workload::{Capture, Harness, NoBench, NoDoctest, NotExtracted, Repeated, Start, Throughput, WorkUnit};
