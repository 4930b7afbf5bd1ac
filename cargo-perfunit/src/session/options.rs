//! What the user asked for, resolved: no strings with units, no choices left open.

use crate::build;
use crate::config::Rules;
use crate::git::Request;
use crate::measure::{Instructions, Placement, Terms};
use crate::model::{DEFAULT_THRESHOLD, Engine, Metric, Partition, Strategy, TargetKind};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// A comparison to make.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Options {
    /// Where the user stands.
    pub folder: PathBuf,
    pub manifest: Option<PathBuf>,
    pub target_dir: Option<PathBuf>,
    pub request: Request,
    /// Which packages and targets.
    pub scope: Scope,
    pub filter: Filter,
    /// What the configuration says of some tests and files.
    pub rules: Rules,
    /// Measure this shard only.
    #[serde(default)]
    pub partition: Option<Partition>,
    /// Take the builds from this archive.
    #[serde(skip)]
    pub archive: Option<PathBuf>,
    /// Files and folders of results that the command names, absolute: where they lie in the project they are no change of it.
    #[serde(default)]
    pub results: Vec<PathBuf>,
    /// A folder that gets the record of the run too.
    #[serde(skip)]
    pub output: Option<PathBuf>,
    /// Take all tests in scope, whether the change reaches them or not.
    pub all_tests: bool,
    /// Cargo's options.
    pub build: build::Options,
    /// How to measure and decide.
    pub measuring: Measuring,
    /// How to find out who is to blame.
    pub explaining: Explaining,
}

impl Options {
    /// As without any option.
    pub fn new(folder: PathBuf, request: Request) -> Self {
        let build = build::Options { profile: "bench".to_owned(), arguments: Vec::new() };
        Self { folder, request, build, ..Self::default() }
    }
}

/// How to find out which functions are to blame.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Explaining {
    pub explain: Explain,
    /// What is counted; chosen for each test if absent.
    pub engine: Option<Engine>,
    /// By which functions are timed; chosen for each test if absent.
    pub strategy: Option<Strategy>,
    #[serde(skip)]
    pub goal: Goal,
}

/// What probes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Goal {
    /// Who is to blame for a difference.
    #[default]
    Blame,
    /// Where the time goes, whether it differs or not.
    Profile,
}

/// For which tests to find out who is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Explain {
    Never,
    /// For the slower ones with the largest differences.
    #[default]
    Auto,
    /// For all that are slower or faster.
    Always,
}

/// Cargo's package and target selection.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Scope {
    /// `-p`; empty for cargo's default.
    pub packages: Vec<String>,
    pub workspace: bool,
    pub exclude: Vec<String>,
    /// The kinds and names that were asked for; empty for all.
    pub targets: Vec<(TargetKind, Option<String>)>,
}

impl Scope {
    /// True if nothing of the workspace was left out.
    pub fn is_everything(&self) -> bool {
        self.workspace && self.exclude.is_empty() && self.targets.is_empty()
    }
}

/// Which ignored tests to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Ignored {
    #[default]
    Skip,
    Only,
    Include,
}

/// Test names to take.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Filter {
    /// Take tests that contain one of these; all if empty.
    pub names: Vec<String>,
    /// Of those, tests that one of these filtersets takes; all if empty.
    pub expressions: Vec<String>,
    /// The names must be equal, not contained.
    pub exact: bool,
    /// Leave out tests that contain one of these.
    pub skip: Vec<String>,
    pub ignored: Ignored,
}

impl Filter {
    /// True if the name passes.
    pub fn takes(&self, name: &str) -> bool {
        let is = |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        (self.names.is_empty() || self.names.iter().any(is)) && !self.skip.iter().any(is)
    }
}

/// How to measure and decide.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measuring {
    /// Gate, as a fraction of base.
    pub threshold: f64,
    /// Probability of a false verdict per test before confirmation.
    pub alpha: f64,
    /// Longest life of one measured process.
    pub timeout: Duration,
    pub budget: Option<Duration>,
    /// Longest measuring of one test.
    pub per_test_budget: Duration,
    /// Seed of the random shifts and of what tests draw.
    pub seed: u64,
    /// Tests that other runs measure, with which this one shares its error rate.
    #[serde(default)]
    pub others: usize,
    /// Whether layouts are matched.
    pub placement: Placement,
    /// The metrics that decide the verdicts, each once.
    pub gates: Vec<Metric>,
    /// Where instructions come from.
    pub instructions: Instructions,
}

impl Measuring {
    /// The terms of a test of which nothing else is said.
    pub fn terms(&self) -> Terms {
        Terms {
            threshold: self.threshold,
            per_test_budget: self.per_test_budget,
            timeout: self.timeout,
            gates: self.gates.clone(),
            threshold_from: None,
            gates_from: None,
        }
    }
}

impl Default for Measuring {
    /// As without any option, but for the seed, which is then drawn.
    fn default() -> Self {
        Self {
            threshold: DEFAULT_THRESHOLD,
            alpha: 0.01,
            timeout: Duration::from_secs(10),
            budget: None,
            per_test_budget: Duration::from_secs(10),
            seed: 0,
            others: 0,
            placement: Placement::default(),
            gates: vec![Metric::Time],
            instructions: Instructions::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_substrings_or_whole_names() {
        let filter = |exact| Filter {
            names: vec!["a::b".to_owned()],
            exact,
            skip: vec!["slow".to_owned()],
            ..Filter::default()
        };
        assert!(filter(false).takes("x::a::bc"));
        assert!(!filter(false).takes("a::b_slow"));
        assert!(filter(true).takes("a::b") && !filter(true).takes("a::bc"));
        assert!(Filter::default().takes("anything"));
    }
}
