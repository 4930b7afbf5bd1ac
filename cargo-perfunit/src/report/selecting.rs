//! What selection did, in words: which changes reach which tests, why none is selected, and what could not be compared.

use super::format::{count, some};
use crate::model::{
    ChangedPart, CodeChange, Effect, Irrelevance, NoTests, NothingBecause, OtherInput, ReachedBy, SelectedBecause,
    Uncompared, Unlisted, UnmeasuredTarget, Untraceable,
};
use std::fmt;
use std::io;

/// `changed LIMIT (src/lib.rs:3)`.
impl fmt::Display for CodeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { change, item, path, line } = self;
        write!(f, "{change} {item} ({path}:{line})")
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
