//! What the user should know about a run, besides the outcomes of its tests.

use super::{Partition, Side, Sides, TargetId, TestId, Uncompared, Unexplained, Untraceable};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `report::warning` words it. A `why` is the message of an error, or of another program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// A submodule's commit is not in any repository here.
    MissingSubmodule { path: PathBuf, commit: String },
    /// Files that are kept elsewhere and were not fetched.
    MissingLfsFiles { files: usize },
    /// Files that git would convert on checkout.
    Unfiltered(Unfiltered),
    /// Base's targets with tests that head has nothing for, and head's that base has nothing for.
    NoCounterpart { gone: Vec<TargetId>, new: Vec<TargetId> },
    /// The versions ask for different toolchains.
    Toolchains { asked: Sides<Option<String>>, used: ToolchainsUsed },
    /// The filters take no test of any target.
    NoTargetLeft,
    /// Members of the workspace that the change can reach, and that cargo's selection of packages leaves out.
    PackagesLeftOut { packages: Vec<String> },
    /// A data file with a rule in the configuration is part of the code.
    CompiledIn { path: String },
    /// Code of a target includes a changed source file as data: what it works on is not the same in both versions.
    SourceIsInput { target: TargetId, path: String },
    /// A filter or rule that is about no test.
    Unused(Unused),
    /// It was not looked at which tests execute the change.
    NotTraced { why: Untraceable },
    /// Machine code could not be compared.
    NotCompared { target: TargetId, why: Uncompared },
    /// Crate roots that do not compile with our `#[test]`, and the first error.
    WithoutMacro { roots: Vec<String>, error: String },
    /// Tests that do not compile with our `#[test]`, by their crate roots, and the first error.
    CalledWhole { tests: BTreeMap<String, Vec<String>>, error: String },
    /// The tests do not compile with our test runner.
    WithoutRunner,
    /// Processes of a pair draw different random numbers.
    OwnRandomNumbers { targets: Vec<TargetId>, why: OwnRandomNumbers },
    /// Tests wrote into the tree: some of the files, and how many more.
    WritesIntoTree { files: Vec<PathBuf>, more: usize },
    /// The machine measures less well than it could.
    Machine(Machine),
    /// Nothing is explained.
    NothingExplained { why: Unexplained },
    /// Explaining ended with an error.
    NothingMoreExplained { why: String },
    /// Explaining in time ended with an error.
    ExplainingEnded { why: String },
    /// Callgrind could not be asked.
    NoInstructions { why: String },
    /// A profile that was asked for is not there.
    NotExplained { test: TestId, why: Unexplained },
    /// Tests that need head's test code were not measured with it.
    NoSecondPairing { why: String },
    /// The run could not be written to the folder that was named.
    NotWritten { folder: PathBuf, why: String },
    /// The run could not be kept for `explain` and `report`.
    NotKept { merged: bool, why: String },
    /// Accepted losses are against another version than the ratchet's.
    AcceptedForOther { accepted: String, ratchet: String },
    /// What merging shards showed.
    Shards(Shards),
}

/// Why files are used as the repository stores them, without the conversions that git makes on checkout.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfiltered {
    /// Git's configuration has no such filter driver, so git does not convert them either.
    NotConfigured { driver: String, files: usize },
    /// Git reported an error and went on with the stored content.
    Failed { why: String },
    /// There is no git that can convert files of any commit.
    NoGit { why: String },
}

/// What the versions are built with if they ask for different toolchains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolchainsUsed {
    Own(Sides<String>),
    /// Both with this one: rustup is not there to find others.
    NoRustup(String),
    /// Both with this one: it was chosen by name.
    ByName(String),
    /// Both with this one: those of the sides are not installed.
    NotInstalled {
        used: String,
        sides: Vec<Side>,
    },
}

/// A filter or rule that is about no test: a typing error more often than not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unused {
    /// No test has a name that was typed; some have one that is near.
    Name { name: String, exact: bool, near: Vec<String>, among: Among },
    /// A filterset takes no test; `from` is where it is set, unless it was typed.
    Filterset { text: String, from: Option<String>, among: Among },
    /// A rule of the configuration.
    Rule { text: String, from: String },
}

/// The tests among which none was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Among {
    pub tests: usize,
    /// Only the targets that the change can reach were built.
    pub only_reached: bool,
}

/// Why processes of a pair draw different random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnRandomNumbers {
    LinkedStatically,
    /// The library that equals them cannot be loaded.
    NoLibrary,
}

/// What a machine does to measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// Address space randomisation cannot be switched off.
    RandomAddresses,
    /// Processes cannot be bound to a core.
    NoFixedCore,
    /// Some programs could not be moved to memory of their own.
    Unmoved,
    OnlyOneCore,
    /// Other programs ran on the measuring core; `moves` is how often a quieter one was found.
    SharedCore {
        percent: u32,
        moves: u32,
    },
    /// The host ran other machines on the measuring core.
    Steal {
        percent: u32,
    },
    /// The control group used up its processor time.
    Throttled {
        times: u64,
    },
    Overheated {
        times: u64,
    },
}

/// What merging shards showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shards {
    /// They ran on different processors: the shards of each.
    Processors(BTreeMap<String, Vec<String>>),
    Interrupted {
        shard: Partition,
        /// Tests that it did not measure.
        left: usize,
    },
    /// Each of them left some tests to another one.
    NobodysTests { tests: usize },
    /// They saw different tests to share out.
    Disagree,
}
