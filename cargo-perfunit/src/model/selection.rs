//! What selection did: which changes reach which targets, and why a test was selected or none was.

use super::{CodeChange, Function, NoBench, NotExtracted, OtherInput, Side, TargetId, Uncovered};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What selection did; `report::selecting` words it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection {
    /// Tests found in the built targets.
    pub found: usize,
    /// Targets of the workspace that hold tests.
    pub targets: usize,
    /// Targets that the change can reach.
    pub targets_reached: usize,
    /// Tests that can reach changed machine code, whether they execute it or not.
    pub reachable: usize,
    /// Tests taken: those that can reach changed machine code and were not seen to run without it.
    pub executed: usize,
    /// Tests left out before measuring, by kind of reason; with `executed` they add up to `found`.
    pub left_out: BTreeMap<String, usize>,
    /// Changed items and inputs, most telling first.
    pub changes: Vec<ChangedPart>,
    /// What became of each change, for when nothing was selected.
    pub effects: Vec<Effect>,
    /// Set when nothing was selected: why.
    pub nothing_because: Option<NothingBecause>,
    /// Changed functions that no test executes, by file and line.
    #[serde(default)]
    pub uncovered: Vec<Uncovered>,
    /// Functions of which a condition (`cfg`) leaves the change out of both builds, by file and line.
    #[serde(default)]
    pub not_compiled: Vec<Function>,
    /// Targets and kinds of test that are not measured at all.
    pub unmeasured_targets: Vec<UnmeasuredTarget>,
}

/// A part of the difference between the versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangedPart {
    Item(CodeChange),
    /// A file besides Rust code, from the root of the repository.
    File(String),
}

/// What became of a part of the difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The file cannot reach a test.
    Irrelevant {
        path: String,
        why: Irrelevance,
    },
    /// A setting, which `from` names, ignores the file.
    Ignored {
        path: String,
        from: String,
    },
    /// The file is in no package, and no code names it.
    Nowhere {
        path: String,
    },
    NoTarget(ChangedPart),
    /// It reaches targets, and none of their tests can have changed.
    NoTest {
        change: ChangedPart,
        because: NothingBecause,
    },
    /// The tests that can see it were left out for other reasons.
    LeftOut(ChangedPart),
}

/// Why a changed file cannot reach a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Irrelevance {
    /// Rust or TOML with the same meaning as before.
    OnlyCommentsOrFormatting,
    /// A manifest, in keys that only describe the package.
    OnlyPackageDescription,
    /// A lock file, in nothing but the packages of the workspace itself.
    OnlyLocalVersions,
    /// Text for people that no Rust file mentions.
    Documentation,
    /// Settings of tools around the code: CI, formatter, linter, editor, git.
    Tooling,
}

/// Why no test can have changed; `files` are those that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NothingBecause {
    /// The chosen packages have no targets with tests.
    NoTargets,
    /// The versions are identical.
    Identical,
    /// No target in scope depends on the code that differs.
    NoTargetDepends {
        files: usize,
    },
    /// The configuration ignores them, or no build reads them.
    Ignored {
        files: usize,
    },
    NotRead {
        files: usize,
    },
    /// In comments and formatting only.
    Comments {
        files: usize,
    },
    /// The same, and besides in files that no build reads.
    CommentsAndNotRead {
        files: usize,
    },
    /// The targets that the change can reach hold no tests.
    NoTests {
        targets: usize,
    },
    SameExecutables,
    SameCode,
    /// None of the tests that can reach the change executes it.
    NotExecuted {
        reachable: usize,
    },
}

/// Why a target is built.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReachedBy {
    /// All tests were asked for.
    Request,
    /// A changed item of its own code or of a library that it uses.
    Item(CodeChange),
    /// External packages in the lock file that it depends on. Empty: unknown which.
    LockFile {
        path: String,
        packages: Vec<String>,
    },
    /// A manifest differs in its version number only.
    Version {
        path: String,
    },
    BuildScript {
        path: String,
    },
    /// Another file: manifest, cargo's configuration, data, Rust code outside the module tree.
    File {
        path: String,
    },
}

/// Why a test was selected: what of the change is nearest to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelectedBecause {
    /// What reaches its target; names lead to no change, and machine code was not compared.
    Target(ReachedBy),
    /// Its machine code can reach this function, which differs.
    Code { function: String, target: ReachedBy },
    /// It can start, load or read what differs.
    Other { input: OtherInput, target: ReachedBy },
    /// It names a changed item, and this many more.
    Names { item: CodeChange, more: usize },
    /// It names the type of which this method of a trait changed.
    UsesType { name: String, method: String, item: CodeChange },
    /// It names the first of these items, which leads to a changed one.
    Through { item: CodeChange, between: Vec<String>, is_call: bool },
    /// A file of its package differs.
    DataFile,
}

/// A target, or a kind of test, that is not measured at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnmeasuredTarget {
    /// On request only.
    Doctests {
        package: String,
    },
    /// On request only.
    Benches {
        package: String,
    },
    Target {
        target: TargetId,
        why: NoTests,
    },
}

/// Why a target has no tests that could be measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoTests {
    LeftOut(NoBench),
    NotExtracted {
        why: NotExtracted,
        side: Side,
    },
    /// With these features.
    NotBuilt,
    /// Only one version has a harness of its own.
    OneVersionOnly,
    /// Its own harness does not list its tests.
    Unlisted {
        why: Unlisted,
        side: Side,
    },
    NoBenchmarks {
        why: Unlisted,
        side: Side,
    },
}

/// Why a harness of its own does not list its tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlisted {
    /// No line of the form `name: test` was printed.
    Nothing,
    /// It ended before any benchmark.
    NoBenchmark,
    /// With these features.
    NotCompiled,
    OtherForm {
        line: String,
    },
    TimedOut {
        arguments: String,
        seconds: u64,
    },
    /// As the system words the status.
    Failed {
        arguments: String,
        status: String,
    },
}
