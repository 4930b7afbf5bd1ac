//! The vocabulary: plain data that the stages hand to each other.
//!
//! No I/O, no algorithms beyond conversions and orderings. Everything that exists once per version is a [`Sides`].

pub mod as_list;
mod bound;
mod calibration;
mod cause;
mod change;
mod explanation;
mod explanations;
mod float;
mod layout;
mod listing;
mod metric;
mod outcome;
mod partition;
mod profile;
mod sample;
mod sides;
mod test;
mod unexplained;
mod verdict;
mod warning;
mod why;

pub use bound::Bound;
pub use calibration::{Calibration, Cell, Circumstances, Compared, Level, Processes, Share, Tally, Terms};
pub use cause::{Cause, Changed};
pub use change::{Change, EffectClass, EffectSize};
pub use explanation::{Blame, Blamed, CallNode, Difference, Engine, Explanation, Function, Strategy};
pub use explanations::{Explanations, TestExplained};
pub use layout::LayoutMatch;
pub use listing::{ListSeconds, Listed, Listing};
pub use metric::{Basis, CrossCheck, Metered, Metric, MetricVerdict, Metrics, NotMetered, Readings, Unit};
pub use outcome::{Environment, Measured, Outcome, Run, Selection, Stages, VersionName};
pub use partition::{Part, Partition, PartitionKind, Sharding};
pub use profile::{Profile, ProfileNode};
pub use sample::Sample;
pub use sides::{Side, Sides};
pub use test::{Capture, TargetId, TargetKind, TestId};
pub use unexplained::{BuiltWith, Unexplained};
pub use verdict::{DEFAULT_THRESHOLD, Mode, Reason, Verdict};
pub use warning::{Among, Machine, OwnRandomNumbers, Shards, ToolchainsUsed, Unused, Warning};
pub use why::{ChangedFunction, Why};
