//! The vocabulary: plain data that the stages hand to each other.
//!
//! No I/O, no algorithms beyond conversions and orderings. Everything that exists once per version is a [`Sides`].

pub mod as_list;
mod bisection;
mod bound;
mod calibration;
mod cause;
mod change;
pub mod checkup;
mod choice;
mod conclusion;
mod environment;
pub mod error;
mod explanation;
mod explanations;
mod failure;
mod float;
pub mod format;
mod generated;
mod growth;
pub mod guesses;
mod history;
mod hot_spots;
mod layout;
mod listing;
mod metric;
mod note;
mod outcome;
mod partition;
mod profile;
mod ratchet;
mod reason;
mod repeat;
mod sample;
#[cfg(any(test, feature = "samples"))]
pub mod samples;
mod scaling;
mod selection;
mod sides;
pub mod suggest;
mod test;
mod threshold;
mod throughput;
mod uncovered;
mod undecided;
mod unexplained;
mod unsteady;
mod variant;
mod verdict;
mod warning;
mod workload;

pub use bisection::{Bisection, Direction, FoundStep, FoundTest, Further, SourceChange, Unresolved, Unsearched};
pub use bound::Bound;
pub use calibration::{
    Calibration, Cell, Circumstances, Compared, DecisionRule, Level, Processes, Share, Tally, Terms,
};
pub use cause::{Cause, ChangeKind, Changed, CodeChange};
pub use change::{Change, EffectClass, EffectSize};
pub use choice::{Engine, Explain, Generated, Ignored, Instructions, Placement, Strategy};
pub use conclusion::{Conclusion, Denied};
pub use environment::{Environment, Stages};
pub use explanation::{CallNode, Difference, Explanation, Function, Responsibility, ResponsibleFunction};
pub use explanations::{Explanations, TestExplained};
pub use failure::Failure;
pub use generated::{
    CallFailure, GeneratedCall, GeneratedWorkload, Generation, ModulePlace, NotGenerated, SystemCall, WithoutWorkload,
};
pub use growth::{Exponent, Growth, GrowthFinding, GrowthUnseen, NotCounted, UnseenBecause};
pub use history::{
    Anchor, Commit, Course, Entry, History, Joined, Point, Release, Releases, Skipped, Span, Step, StepFigures,
    StepOutcome, StepTest,
};
pub use hot_spots::{Forest, ForestNode, FunctionImpact, Impact, Ranked, Score, Spread, TestImpact};
pub use layout::{LayoutMatch, LostInputs, MeasuringLinker, NoLayout};
pub use listing::{ListSeconds, Listed, Listing};
pub use metric::{
    Basis, CrossCheck, Metered, Metric, MetricVerdict, Metrics, NoCounter, NoVerdict, NotMetered, Readings, Unit,
};
pub use note::{Between, FirstCallUnknown, FirstCallsBecause, ForkObstacle, Note};
pub use outcome::{GeneratedCalls, Measured, Outcome, Ratchet, Run, VersionName};
pub use partition::{Part, Partition, PartitionKind, Sharding};
pub use profile::{Profile, ProfileNode, Profiles};
pub use ratchet::{AcceptedLoss, AcceptedVersion, NotCompared};
pub use reason::{NotCaptured, Reason, ReasonKind, TestCodeDifference, TestCodeItem, failed_on};
pub use repeat::Repeat;
pub use sample::Sample;
pub use scaling::Scaling;
pub use selection::{
    ChangedFunction, ChangedPart, Effect, Irrelevance, NoTests, NothingBecause, OtherInput, ReachedBy, SelectedBecause,
    Selection, Uncompared, Unlisted, UnmeasuredTarget, Untraceable, Why,
};
pub use sides::{FailedOn, Side, Sides};
pub use test::{GENERATED_MODULE, TargetId, TargetKind, TestId};
pub use threshold::{
    InvalidThreshold, OF_PLACES, OF_PLACES_NS, REACH_OF_CODE, REACH_OF_PLACES, REACH_WITHIN_CODE, Threshold, margin,
};
pub use throughput::{Throughput, WorkUnit};
pub use uncovered::{Uncovered, UncoveredBecause};
pub use undecided::Undecided;
pub use unexplained::{BuiltWith, ExplanationNote, Unexplained, Unprobed};
pub use unsteady::Unsteady;
pub use variant::variant_name;
pub use verdict::{Mode, Verdict};
pub use warning::{Among, Machine, OwnRandomNumbers, Shards, ToolchainsUsed, Unfiltered, Unused, Warning};
pub use workload::{Capture, Harness, NoBench, NoDoctest, NotExtracted, Repeated, Start};
