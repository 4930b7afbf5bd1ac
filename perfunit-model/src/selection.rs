//! What selection did: which changes reach which targets, and why a test was selected or none was.

use super::format::{count, some};
use super::{CodeChange, Function, LeftOutBy, LostInputs, NoBench, NotExtracted, Side, TargetId, Uncovered};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

/// What selection did.
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
    /// What leaves them out; empty if that is not known of each.
    #[serde(default)]
    pub left_out_by: BTreeSet<LeftOutBy>,
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
    /// A run of it came to this function of a program that it starts; the item if the change is in the function itself.
    InProgram { program: String, function: String, item: Option<CodeChange> },
    /// Its runs do not tell whether it executes changed code, for this reason.
    Unwatched { why: String },
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

/// What of a test's machine code differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Functions from the test to the nearest changed one, demangled; the nearest changed one is the last.
    pub path: Vec<String>,
    /// Where the two versions can first part: the test runs the same instructions until it comes to one of these.
    pub changed: Vec<ChangedFunction>,
    /// What else it can start, load or read that differs, if its own code is the same.
    #[serde(default)]
    pub others: Vec<OtherInput>,
}

impl Why {
    /// Whether two tests can begin to differ at exactly the same places.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.changed == other.changed && self.others == other.others
    }
}

/// What tests can start, load or read besides their own executable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OtherInput {
    /// A binary of the workspace, by what its `main` leads to.
    Binary { name: String },
    /// A shared library of the project.
    Library { name: String },
    /// A variable that cargo sets.
    Variable { name: String },
    /// A file that a build script left in `OUT_DIR`.
    OutDirFile { path: String },
}

/// A function whose machine code, or whose data, differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFunction {
    /// Demangled name.
    pub name: String,
    /// What it uses that differs, if it is not its own code: a constant, a table.
    pub data: Option<String>,
}

/// Why tests cannot be traced on this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Untraceable {
    OtherProcessor,
    OtherSystem,
    /// By seccomp, or by `kernel.yama.ptrace_scope`.
    Refused,
    /// With this error of the system.
    Failed(i32),
    /// The budget left no time for so many tests.
    OutOfTime {
        tests: usize,
    },
}

/// Why the machine code of a target's versions was not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uncompared {
    /// The versions are built with different ones.
    Toolchains,
    /// It is not known what it was linked from.
    UnknownInputs,
    /// Something that it was linked from may not be known.
    IncompleteInputs {
        why: LostInputs,
    },
    /// An option has the linker take one symbol for another.
    RenamedSymbols {
        option: String,
    },
    /// The first ones that differ.
    LinkerOptions {
        differ: Vec<String>,
    },
    LinkerEnvironment,
    LinkerScripts,
    /// An input cannot be read.
    Unreadable {
        why: String,
    },
}

impl fmt::Display for ChangedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Item(item) => item.fmt(f),
            Self::File(path) => write!(f, "changed {path}"),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Irrelevant { path, why } => write!(f, "{path}: {why}"),
            Self::Ignored { path, from } => write!(f, "{path}: ignored ({from})"),
            Self::Nowhere { path } => write!(f, "{path}: in no package of the workspace, and no code names it"),
            Self::NoTarget(change) => write!(f, "{change}: no test target in scope depends on it"),
            Self::NoTest { change, because } => write!(f, "{change}: {because}"),
            Self::LeftOut(change) => write!(f, "{change}: the tests that can see it were left out for other reasons"),
        }
    }
}

impl fmt::Display for Irrelevance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnlyCommentsOrFormatting => "only comments, documentation or formatting differ",
            Self::OnlyPackageDescription => "only the package's description differs",
            Self::OnlyLocalVersions => "only versions of the workspace's own packages differ",
            Self::Documentation => "documentation that no Rust file mentions",
            Self::Tooling => "settings of tools around the code",
        })
    }
}

impl fmt::Display for NothingBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NoTargets => f.write_str("the chosen packages have no test targets"),
            Self::Identical => f.write_str("the two versions are identical"),
            Self::NoTargetDepends { files } => {
                write!(f, "the change ({}) is in code that no test target in scope depends on", count(files, "file"))
            }
            Self::Ignored { files } => {
                write!(
                    f,
                    "only files differ that the configuration ignores or that no build reads ({})",
                    count(files, "file")
                )
            }
            Self::NotRead { files } => {
                write!(f, "only documentation and files that no build reads differ ({})", count(files, "file"))
            }
            Self::Comments { files } => {
                write!(f, "only comments, documentation comments and formatting differ ({})", count(files, "file"))
            }
            Self::CommentsAndNotRead { files } => {
                write!(f, "only comments, documentation and formatting differ ({})", count(files, "file"))
            }
            Self::NoTests { targets: 1 } => f.write_str("the only target that the change can reach holds no tests"),
            Self::NoTests { targets } => write!(f, "the {targets} targets that the change can reach hold no tests"),
            Self::SameExecutables => f.write_str("the test executables of both versions are the same"),
            Self::SameCode => f.write_str("no test can reach machine code that differs"),
            Self::NotExecuted { reachable } => {
                write!(f, "of {reachable} tests that can reach machine code that differs none executes it")
            }
        }
    }
}

impl fmt::Display for ReachedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("all tests were asked for (--all-tests)"),
            Self::Item(item) => item.fmt(f),
            Self::LockFile { path, packages } if packages.is_empty() => write!(f, "{path} changed"),
            Self::LockFile { path, packages } => write!(f, "{path}: {} changed", some(packages.iter().cloned())),
            Self::Version { path } => write!(f, "{path}: version changed"),
            Self::BuildScript { path } => write!(f, "build script {path} changed"),
            Self::File { path } => write!(f, "{path} changed"),
        }
    }
}

impl fmt::Display for OtherInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Binary { name } => write!(f, "main of the binary {name}"),
            Self::Library { name } => write!(f, "the library {name}"),
            Self::Variable { name } => write!(f, "the variable {name}"),
            Self::OutDirFile { path } => write!(f, "{path} in OUT_DIR"),
        }
    }
}

impl fmt::Display for SelectedBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Target(reached_by) => reached_by.fmt(f),
            Self::Code { function, target } => {
                write!(f, "can reach machine code that differs, {function} ({target})")
            }
            Self::Other { input, target } => write!(f, "can come upon what differs, {input} ({target})"),
            Self::Names { item, more: 0 } => write!(f, "names {item}"),
            Self::Names { item, more } => write!(f, "names {item} and {more} more"),
            Self::UsesType { name, method, item: CodeChange { change, path, line, .. } } => {
                write!(f, "uses {name}, of which {method} {change} ({path}:{line})")
            }
            Self::Through { item, between, is_call } => {
                let verb = if *is_call { "calls" } else { "uses" };
                let shown = between.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
                let dots = if between.len() > SHOWN { ", .." } else { "" };
                write!(f, "{verb} {item} through {shown}{dots}")
            }
            Self::DataFile => f.write_str("a file of its package differs"),
            Self::InProgram { program, item: Some(item), .. } => {
                write!(f, "executes {item} in {program}, which it starts")
            }
            Self::InProgram { program, function, item: None } => {
                write!(f, "executes machine code that differs, {function} in {program}, which it starts")
            }
            Self::Unwatched { why } => write!(f, "may execute changed code, its runs do not tell: {why}"),
        }
    }
}

/// Items of a path that are shown.
const SHOWN: usize = 3;

impl fmt::Display for UnmeasuredTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Doctests { package } => write!(f, "doc tests of {package}: measured on request (--doc)"),
            Self::Benches { package } => write!(f, "benchmarks of {package}: measured on request (--benches)"),
            Self::Target { target, why } => write!(f, "{target}: {why}"),
        }
    }
}

impl fmt::Display for NoTests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeftOut(why) => why.fmt(f),
            Self::NotExtracted { why, side } => write!(f, "{why} (on {side})"),
            Self::NotBuilt => f.write_str("not built with these features"),
            Self::OneVersionOnly => {
                f.write_str("has its own test harness (harness = false), but in one of the versions only")
            }
            Self::Unlisted { why, side } => {
                write!(
                    f,
                    "has its own test harness (harness = false), which does not list its tests: {why} (on {side})"
                )
            }
            Self::NoBenchmarks { why, side } => write!(f, "does not list its benchmarks: {why} (on {side})"),
        }
    }
}

impl fmt::Display for Unlisted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("`--list` printed no line of the form `name: test`"),
            Self::NoBenchmark => f.write_str("it ends before any of them"),
            Self::NotCompiled => f.write_str("none is compiled with these features"),
            Self::OtherForm { line } => {
                write!(f, "`--list` printed `{line}`, which is not of the form `name: test`")
            }
            Self::TimedOut { arguments, seconds } => write!(f, "`{arguments}` did not end within {seconds} s"),
            Self::Failed { arguments, status } => write!(f, "`{arguments}` ended with {status}"),
        }
    }
}

impl fmt::Display for Untraceable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherProcessor => f.write_str("tests are not traced on this processor"),
            Self::OtherSystem => write!(f, "tests are not traced on {}", std::env::consts::OS),
            Self::Refused => {
                f.write_str("the system does not let us trace processes (seccomp, or kernel.yama.ptrace_scope)")
            }
            Self::OutOfTime { tests } => write!(f, "the budget left no time for {}", count(*tests, "test")),
            Self::Failed(error) => {
                write!(f, "processes cannot be traced: {}", io::Error::from_raw_os_error(*error))
            }
        }
    }
}

impl fmt::Display for Uncompared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Toolchains => f.write_str("the versions are built with different toolchains"),
            Self::UnknownInputs => f.write_str("it is not known what it was linked from"),
            Self::RenamedSymbols { option } => write!(f, "the linker takes one symbol for another: {option}"),
            Self::LinkerOptions { differ } => write!(f, "the linker's options differ: {}", differ.join(" and ")),
            Self::LinkerEnvironment => f.write_str("the linker's environment differs"),
            Self::LinkerScripts => f.write_str("the linker scripts differ"),
            Self::IncompleteInputs { why } => why.fmt(f),
            Self::Unreadable { why } => f.write_str(why),
        }
    }
}
