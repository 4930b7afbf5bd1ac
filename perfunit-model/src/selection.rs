//! Result of selection: the targets that changes reach, and the reasons for selecting tests or none.

use super::format::{count, some};
use super::{CodeChange, Function, LeftOutBy, LostInputs, NoBench, NotExtracted, Side, TargetId, Uncovered};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

/// Summary of the selection.
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
    /// Selected tests: those that can reach changed machine code, except tests that were seen to run without executing
    /// it.
    pub executed: usize,
    /// Tests dropped before measuring, by kind of reason; with `executed` they add up to `found`.
    pub left_out: BTreeMap<String, usize>,
    /// Changed items and inputs, the most telling first.
    pub changes: Vec<ChangedPart>,
    /// The item that changed, if nothing else differs that could affect a test.
    #[serde(default)]
    pub only_change: Option<CodeChange>,
    /// The effect of each change, in case nothing was selected.
    pub effects: Vec<Effect>,
    /// The reason if nothing was selected.
    pub nothing_because: Option<NothingBecause>,
    /// Changed functions that no test executes, by file and line.
    #[serde(default)]
    pub uncovered: Vec<Uncovered>,
    /// Functions with changes that a condition (`cfg`) excludes from both builds, by file and line.
    #[serde(default)]
    pub not_compiled: Vec<Function>,
    /// Conditions that exclude these functions; empty if unknown for any of them.
    #[serde(default)]
    pub left_out_by: BTreeSet<LeftOutBy>,
    /// Targets and kinds of tests that are not measured.
    pub unmeasured_targets: Vec<UnmeasuredTarget>,
}

/// A part of the difference between the versions.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangedPart {
    Item(CodeChange),
    /// A file other than Rust code, relative to the repository's root.
    File(String),
}

/// Effect of a part of the difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// The file cannot affect a test.
    Irrelevant {
        path: String,
        why: Irrelevance,
    },
    /// The setting named by `from` ignores the file.
    Ignored {
        path: String,
        from: String,
    },
    /// The file is not in a package, and no code names it.
    Nowhere {
        path: String,
    },
    NoTarget(ChangedPart),
    /// The change reaches targets, but none of their tests can have changed.
    NoTest {
        change: ChangedPart,
        because: NothingBecause,
    },
    /// The tests that can see the change were excluded for other reasons.
    LeftOut(ChangedPart),
}

/// Reason why a changed file cannot affect a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Irrelevance {
    /// Rust or TOML with the same meaning as before.
    OnlyCommentsOrFormatting,
    /// A manifest with changes only in keys that describe the package.
    OnlyPackageDescription,
    /// A lock file with changes only in packages of the workspace itself.
    OnlyLocalVersions,
    /// Documentation that no Rust file mentions.
    Documentation,
    /// Settings of development tools: CI, formatter, linter, editor, git.
    Tooling,
}

/// Reason why no test can have changed; `files` is the number of files that differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NothingBecause {
    /// The versions are identical.
    Identical,
    /// No selected target depends on the changed code.
    NoTargetDepends {
        files: usize,
    },
    /// The configuration ignores the changed files, or no build reads them.
    Ignored {
        files: usize,
    },
    NotRead {
        files: usize,
    },
    /// Only comments and formatting differ.
    Comments {
        files: usize,
    },
    /// Only comments, formatting and files that no build reads differ.
    CommentsAndNotRead {
        files: usize,
    },
    /// Manifests and lock files differ only in what affects no build.
    Manifests {
        files: usize,
    },
    /// Manifests differ only in what affects no build, and other files are irrelevant, too.
    NoEffect {
        files: usize,
    },
    /// The targets that the change can reach have no tests.
    NoTests {
        targets: usize,
    },
    SameExecutables,
    SameCode,
    /// No test that can reach the change executes it.
    NotExecuted {
        reachable: usize,
    },
}

/// Reason for building a target.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReachedBy {
    /// All tests were requested.
    Request,
    /// A changed item in its own code or in a library that it uses.
    Item(CodeChange),
    /// External packages in the lock file that it depends on; empty if unknown.
    LockFile {
        path: String,
        packages: Vec<String>,
    },
    /// A manifest that differs only in its version number.
    Version {
        path: String,
    },
    BuildScript {
        path: String,
    },
    /// Another file: a manifest, cargo's configuration, data, or Rust code outside the module tree.
    File {
        path: String,
    },
}

/// Reason for selecting a test: the most direct link to the change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SelectedBecause {
    /// The change that reaches the test's target. No names lead to a change, and machine code was not compared.
    Target(ReachedBy),
    /// The test's machine code can reach this changed function. `target` is the likeliest of the changes that reach the test's
    /// target; there are this many more.
    Code {
        function: String,
        target: ReachedBy,
        #[serde(default)]
        more: usize,
    },
    /// The test can start, load or read this changed input.
    Other { input: OtherInput, target: ReachedBy },
    /// The test names a changed item and this many more.
    Names { item: CodeChange, more: usize },
    /// The test names the type whose method of a trait changed.
    UsesType { name: String, method: String, item: CodeChange },
    /// The test names the first of these items, which leads to a changed one.
    Through { item: CodeChange, between: Vec<String>, is_call: bool },
    /// A run of the test executed this function of a program that it starts, with the item if the function itself
    /// changed.
    InProgram { program: String, function: String, item: Option<CodeChange> },
    /// Runs of the test do not show whether it executes changed code, for this reason.
    Unwatched { why: String },
}

/// A target, or a kind of test, that is not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnmeasuredTarget {
    /// Doc tests, which are measured on request.
    Doctests {
        package: String,
    },
    /// Benchmarks, which are measured on request.
    Benches {
        package: String,
    },
    Target {
        target: TargetId,
        why: NoTests,
    },
}

/// Reason why a target has no measurable tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoTests {
    LeftOut(NoBench),
    NotExtracted {
        why: NotExtracted,
        side: Side,
    },
    /// The target is not built with these features.
    NotBuilt,
    /// Only one version of the target has its own harness.
    OneVersionOnly,
    /// The target's own harness does not list its tests.
    Unlisted {
        why: Unlisted,
        side: Side,
    },
    NoBenchmarks {
        why: Unlisted,
        side: Side,
    },
}

/// Reason why a target's own harness does not list its tests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unlisted {
    /// It printed no line of the form `name: test`.
    Nothing,
    /// It exited before any benchmark.
    NoBenchmark,
    /// No benchmark is compiled with these features.
    NotCompiled,
    OtherForm {
        line: String,
    },
    TimedOut {
        arguments: String,
        seconds: u64,
    },
    /// Status in the system's words.
    Failed {
        arguments: String,
        status: String,
    },
}

/// Differences of a test's machine code.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Why {
    /// Demangled functions from the test to the nearest changed one, which is the last.
    pub path: Vec<String>,
    /// Functions at which the versions first diverge: the test runs the same instructions until it reaches one of them.
    pub changed: Vec<ChangedFunction>,
    /// Other changed inputs that the test can start, load or read, if its own code is unchanged.
    #[serde(default)]
    pub others: Vec<OtherInput>,
}

impl Why {
    /// Returns true if two tests can begin to differ at exactly the same places.
    pub fn is_alike(&self, other: &Self) -> bool {
        self.changed == other.changed && self.others == other.others
    }
}

/// Inputs that tests can start, load or read apart from their own executable.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum OtherInput {
    /// A binary of the workspace, identified by its `main`.
    Binary { name: String },
    /// A shared library of the project.
    Library { name: String },
    /// A variable that cargo sets.
    Variable { name: String },
    /// A file that a build script wrote to `OUT_DIR`.
    OutDirFile { path: String },
}

/// A function with changed machine code or data.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ChangedFunction {
    /// Demangled name.
    pub name: String,
    /// The changed data that it uses, such as a constant or a table, if its own code is unchanged.
    pub data: Option<String>,
}

/// Reason why tests cannot be traced on this system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Untraceable {
    OtherProcessor,
    OtherSystem,
    /// Forbidden by seccomp or by `kernel.yama.ptrace_scope`.
    Refused,
    /// Failed with this system error.
    Failed(i32),
    /// The budget left no time for this many tests.
    OutOfTime {
        tests: usize,
    },
}

/// Reason why the machine code of a target was not compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Uncompared {
    /// The versions are built with different toolchains.
    Toolchains,
    /// The inputs of its link are unknown.
    UnknownInputs,
    /// Some inputs of its link may be unknown.
    IncompleteInputs {
        why: LostInputs,
    },
    /// A linker option renames symbols.
    RenamedSymbols {
        option: String,
    },
    /// The first options that differ.
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

impl NothingBecause {
    /// Returns the reason if this many files differ, all of them irrelevant for one of these reasons.
    pub fn irrelevant(files: usize, reasons: &[Irrelevance]) -> Self {
        let has = |kinds: &[Irrelevance]| reasons.iter().any(|reason| kinds.contains(reason));
        let comments = has(&[Irrelevance::OnlyCommentsOrFormatting]);
        let manifests = has(&[Irrelevance::OnlyPackageDescription, Irrelevance::OnlyLocalVersions]);
        let unread = has(&[Irrelevance::Documentation, Irrelevance::Tooling]);
        match (comments, manifests, unread) {
            (true, false, false) => Self::Comments { files },
            (true, false, true) => Self::CommentsAndNotRead { files },
            (false, false, _) => Self::NotRead { files },
            (false, true, false) => Self::Manifests { files },
            (_, true, _) => Self::NoEffect { files },
        }
    }
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
            Self::Nowhere { path } => write!(f, "{path}: not in a package of the workspace, and not named by code"),
            Self::NoTarget(change) => write!(f, "{change}: no selected test target depends on it"),
            Self::NoTest { change, because } => write!(f, "{change}: {because}"),
            Self::LeftOut(change) => write!(f, "{change}: the tests that can see it were excluded for other reasons"),
        }
    }
}

impl fmt::Display for Irrelevance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OnlyCommentsOrFormatting => "only comments, documentation or formatting differ",
            Self::OnlyPackageDescription => "only settings of the package that affect no build differ",
            Self::OnlyLocalVersions => "only versions of the workspace's own packages differ",
            Self::Documentation => "documentation that no Rust file mentions",
            Self::Tooling => "settings of development tools",
        })
    }
}

impl fmt::Display for NothingBecause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Identical => f.write_str("the two versions are identical"),
            Self::NoTargetDepends { files } => {
                write!(f, "no selected test target depends on the changed code ({})", count(files, "file"))
            }
            Self::Ignored { files } => {
                write!(
                    f,
                    "only files that the configuration ignores or that no build reads differ ({})",
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
                write!(f, "only comments, formatting and files that no build reads differ ({})", count(files, "file"))
            }
            Self::Manifests { files } => {
                write!(f, "only settings of manifests that affect no build differ ({})", count(files, "file"))
            }
            Self::NoEffect { files } => write!(
                f,
                "only comments, documentation and settings that affect no build differ ({})",
                count(files, "file")
            ),
            Self::NoTests { targets: 1 } => f.write_str("the only target that the change can reach has no tests"),
            Self::NoTests { targets } => write!(f, "the {targets} targets that the change can reach have no tests"),
            Self::SameExecutables => f.write_str("the test executables of both versions are identical"),
            Self::SameCode => f.write_str("no test can reach changed machine code"),
            Self::NotExecuted { reachable } => {
                write!(f, "none of the {reachable} tests that can reach changed machine code executes it")
            }
        }
    }
}

impl fmt::Display for ReachedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request => f.write_str("all tests were requested (--all-tests)"),
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
            Self::Code { function, target, more } => {
                write!(f, "can reach changed machine code, {function} ({target}")?;
                if *more > 0 { write!(f, " and {more} more)") } else { f.write_str(")") }
            }
            Self::Other { input, target } => write!(f, "can reach changed input, {input} ({target})"),
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
            Self::InProgram { program, item: Some(item), .. } => {
                write!(f, "executes {item} in {program}, which it starts")
            }
            Self::InProgram { program, function, item: None } => {
                write!(f, "executes changed machine code, {function} in {program}, which it starts")
            }
            Self::Unwatched { why } => write!(f, "may execute changed code; tracing cannot tell: {why}"),
        }
    }
}

/// Maximum number of items shown of a path.
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
            Self::OneVersionOnly => f.write_str("has its own test harness (harness = false), but only in one version"),
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
            Self::NoBenchmark => f.write_str("it exits before any benchmark"),
            Self::NotCompiled => f.write_str("none is compiled with these features"),
            Self::OtherForm { line } => {
                write!(f, "`--list` printed `{line}`, which is not of the form `name: test`")
            }
            Self::TimedOut { arguments, seconds } => write!(f, "`{arguments}` timed out after {seconds} s"),
            Self::Failed { arguments, status } => write!(f, "`{arguments}` ended with {status}"),
        }
    }
}

impl fmt::Display for Untraceable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherProcessor => f.write_str("tracing tests is not supported on this processor"),
            Self::OtherSystem => write!(f, "tracing tests is not supported on {}", std::env::consts::OS),
            Self::Refused => {
                f.write_str("the system does not allow tracing processes (seccomp, or kernel.yama.ptrace_scope)")
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
            Self::UnknownInputs => f.write_str("the inputs of its link are unknown"),
            Self::RenamedSymbols { option } => write!(f, "the linker renames symbols: {option}"),
            Self::LinkerOptions { differ } => write!(f, "the linker's options differ: {}", differ.join(" and ")),
            Self::LinkerEnvironment => f.write_str("the linker's environment differs"),
            Self::LinkerScripts => f.write_str("the linker scripts differ"),
            Self::IncompleteInputs { why } => why.fmt(f),
            Self::Unreadable { why } => f.write_str(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn irrelevant_files_are_described_by_what_differs_in_them() {
        use Irrelevance::{
            Documentation, OnlyCommentsOrFormatting, OnlyLocalVersions, OnlyPackageDescription, Tooling,
        };
        let check = |reasons: &[Irrelevance], expected: &str| {
            let because = NothingBecause::irrelevant(reasons.len(), reasons);
            assert_eq!(because.to_string(), format!("only {expected} differ ({})", count(reasons.len(), "file")));
        };
        check(&[OnlyPackageDescription], "settings of manifests that affect no build");
        check(&[OnlyPackageDescription, OnlyLocalVersions], "settings of manifests that affect no build");
        check(&[Documentation, Tooling], "documentation and files that no build reads");
        check(&[OnlyCommentsOrFormatting], "comments, documentation comments and formatting");
        let unread = "comments, formatting and files that no build reads";
        check(&[OnlyCommentsOrFormatting, Documentation], unread);
        check(&[OnlyCommentsOrFormatting, Tooling], unread);
        let all = "comments, documentation and settings that affect no build";
        check(&[OnlyPackageDescription, Documentation], all);
        check(&[OnlyCommentsOrFormatting, OnlyPackageDescription], all);
    }
}
