//! Warnings of a run, apart from the outcomes of its tests.

use super::{
    ACCEPT_TRAILER, Partition, Side, Sides, TargetId, TestId, Uncompared, Unexplained, Untraceable, format, suggest,
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result};
use std::path::PathBuf;

/// A warning. Each `why` is the message of an error or of another program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// A submodule's commit is missing in all local repositories.
    MissingSubmodule { path: PathBuf, commit: String },
    /// Files that are stored elsewhere and were not fetched.
    MissingLfsFiles { files: usize },
    /// Files that git would convert on checkout.
    Unfiltered(Unfiltered),
    /// Targets with tests in base without a counterpart in head, and vice versa.
    NoCounterpart { gone: Vec<TargetId>, new: Vec<TargetId> },
    /// The versions require different toolchains.
    Toolchains { asked: Sides<Option<String>>, used: ToolchainsUsed },
    /// The selected packages have no targets with tests.
    NoTargets,
    /// The filters exclude all targets.
    NoTargetLeft,
    /// Workspace members that the change can reach but cargo's package selection excludes.
    PackagesLeftOut { packages: Vec<String> },
    /// A data file with a rule in the configuration is compiled in.
    CompiledIn { path: String },
    /// Code of a target includes a changed source file as data, so that the input differs between the versions.
    SourceIsInput { target: TargetId, path: String },
    /// A filter or rule that matches no test.
    Unused(Unused),
    /// Tests were not traced to see which execute the change.
    NotTraced { why: Untraceable },
    /// Machine code could not be compared.
    NotCompared { target: TargetId, why: Uncompared },
    /// Crate roots that do not compile with our `#[test]`, and the first error.
    WithoutMacro { roots: Vec<String>, error: String },
    /// Tests that do not compile with our `#[test]`, by crate root, and the first error.
    CalledWhole { tests: BTreeMap<String, Vec<String>>, error: String },
    /// The tests do not compile with our test runner.
    WithoutRunner,
    /// Processes of a pair draw different random numbers.
    OwnRandomNumbers { targets: Vec<TargetId>, why: OwnRandomNumbers },
    /// Tests wrote into the tree: some of the files, and the number of others.
    WritesIntoTree { files: Vec<PathBuf>, more: usize },
    /// A preparing step changed files of a version that are in git: some of the files, and the number of others.
    StepChangesFiles { step: String, side: Side, files: Vec<PathBuf>, more: usize },
    /// The machine measures less precisely than possible.
    Machine(Machine),
    /// No test is explained.
    NothingExplained { why: Unexplained },
    /// Explaining ended with an error.
    NothingMoreExplained { why: String },
    /// Callgrind could not be used.
    NoInstructions { why: String },
    /// A requested profile is missing.
    NotExplained { test: TestId, why: Unexplained },
    /// Tests that need head's test code were not measured.
    NoSecondPairing { why: String },
    /// The run could not be written to the named folder.
    NotWritten { folder: PathBuf, why: String },
    /// The run could not be saved for `explain` and `report`.
    NotKept { merged: bool, why: String },
    /// Accepted losses relate to another version than the ratchet's.
    AcceptedForOther { accepted: String, ratchet: String },
    /// What accepts no slowdown, although it was meant to.
    Acceptance(AcceptanceUnused),
    /// A finding of merging shards.
    Shards(Shards),
}

/// Reason for using files as stored in the repository, without git's conversions on checkout.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfiltered {
    /// Git's configuration lacks this filter driver, so git does not convert the files either.
    NotConfigured { driver: String, files: usize },
    /// Git reported an error and continued with the stored content.
    Failed { why: String },
    /// The available git cannot convert files of arbitrary commits.
    NoGit { why: String },
}

/// Toolchains that are used if the versions require different ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToolchainsUsed {
    Own(Sides<String>),
    /// This one for both, because rustup is not installed.
    NoRustup(String),
    /// This one for both, because it was chosen by name.
    ByName(String),
    /// This one for both, because those of the sides are not installed.
    NotInstalled {
        used: String,
        sides: Vec<Side>,
    },
}

/// A filter or rule that matches no test, which is often a typing error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unused {
    /// No test matches a typed name, but some are similar.
    Name { name: String, exact: bool, near: Vec<String>, among: Among },
    /// A filterset matches no test; `from` is its place, unless it was typed.
    Filterset { text: String, from: Option<String>, among: Among },
    /// A rule of the configuration.
    Rule { text: String, from: String },
}

/// The tests that were searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Among {
    pub tests: usize,
    /// True if only targets that the change can reach were built.
    pub only_reached: bool,
}

/// Reason why processes of a pair draw different random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OwnRandomNumbers {
    LinkedStatically,
    /// The library that makes them equal cannot be loaded.
    NoLibrary,
}

/// Effects of a machine on measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// Address space randomization cannot be disabled.
    RandomAddresses,
    /// Processes cannot be pinned to a core.
    NoFixedCore,
    /// Some programs could not be moved to their own memory.
    Unmoved,
    OnlyOneCore,
    /// Other programs ran on the measuring core; `moves` counts the changes to a quieter one.
    SharedCore {
        percent: u32,
        moves: u32,
    },
    /// The host ran other machines on the measuring core.
    Steal {
        percent: u32,
    },
    /// The control group used up its CPU time.
    Throttled {
        times: u64,
    },
    Overheated {
        times: u64,
    },
}

/// Findings of merging shards.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shards {
    /// The shards ran on different processors; contains the shards of each.
    Processors(BTreeMap<String, Vec<String>>),
    Interrupted {
        shard: Partition,
        /// Number of tests that were not measured.
        left: usize,
    },
    /// Each shard left some tests to another.
    NobodysTests { tests: usize },
    /// The shards had different tests to divide.
    Disagree,
}

/// What accepts no slowdown, although it was meant to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AcceptanceUnused {
    /// A malformed trailer in the history.
    NotUnderstood { commit: String, why: String },
    /// Commits with a line that looks like a trailer and is none.
    Misplaced { commits: Vec<String> },
    /// Commits of the change that a shallow clone does not have.
    Cut,
    /// It is about no test of the run.
    OfNothing { name: String, place: String },
}

impl Warning {
    /// Adds warnings to others. Warnings about the machine that differ only in their figures become one.
    pub fn add(all: &mut Vec<Self>, more: impl IntoIterator<Item = Self>) {
        for warning in more {
            let joined = all.iter_mut().find_map(|known| match (&*known, &warning) {
                (Self::Machine(known_machine), Self::Machine(machine)) => {
                    Some((known_machine.joined(*machine)?, known))
                }
                _ => None,
            });
            match joined {
                Some((machine, known)) => *known = Self::Machine(machine),
                None => all.push(warning),
            }
        }
    }
}

impl Machine {
    /// Returns both effects as one, with the larger share and the sum of events; `None` if they are of different kinds.
    fn joined(self, other: Self) -> Option<Self> {
        Some(match (self, other) {
            (Self::SharedCore { percent, moves }, Self::SharedCore { percent: second, moves: more }) => {
                Self::SharedCore { percent: percent.max(second), moves: moves + more }
            }
            (Self::Steal { percent }, Self::Steal { percent: second }) => Self::Steal { percent: percent.max(second) },
            (Self::Throttled { times }, Self::Throttled { times: more }) => Self::Throttled { times: times + more },
            (Self::Overheated { times }, Self::Overheated { times: more }) => Self::Overheated { times: times + more },
            _ => return (self == other).then_some(self),
        })
    }
}

/// Maximum number of packages in the warning about excluded packages.
const NAMED_PACKAGES: usize = 5;

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::MissingSubmodule { path, commit } => write!(
                f,
                "submodule {} is left out: commit {commit} is missing (run `git submodule update --init`)",
                path.display()
            ),
            Self::MissingLfsFiles { files } => {
                write!(f, "{files} LFS files are missing and stay pointers (run `git lfs fetch`)")
            }
            Self::Unfiltered(why) => write!(f, "{}", describe_unfiltered(why)),
            Self::NoCounterpart { gone, new } => f.write_str(&no_counterpart(gone, new)),
            Self::Toolchains { asked, used } => f.write_str(&toolchains(asked, used)),
            Self::NoTargets => f.write_str("the chosen packages have no test targets"),
            Self::NoTargetLeft => f.write_str("the filters exclude all test targets"),
            Self::PackagesLeftOut { packages } => {
                let named = join(&packages[..packages.len().min(NAMED_PACKAGES)], ", ");
                let more = packages.len().saturating_sub(NAMED_PACKAGES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "the change can reach tests of {named}{more}, which are not selected; `--workspace` adds them"
                )
            }
            Self::CompiledIn { path } => write!(f, "{path} is compiled in, so the rule about its path is ignored"),
            Self::SourceIsInput { target, path } => {
                write!(
                    f,
                    "{target} includes {path} as data, and the file changed: its input differs between the versions"
                )
            }
            Self::Unused(unused) => unused.fmt(f),
            Self::NotTraced { why } => write!(f, "tests were not traced to see which execute the change: {why}"),
            Self::NotCompared { target, why } => write!(f, "all tests of {target} count as changed: {why}"),
            Self::WithoutMacro { roots, error } => write!(
                f,
                "the tests of {} do not compile with our #[test] and are measured as whole functions: {error}",
                format::some(roots.iter().cloned())
            ),
            Self::CalledWhole { tests, error } => f.write_str(&called_whole(tests, error)),
            Self::WithoutRunner => f.write_str(
                "the tests do not compile with our test runner; tests made by other macros are not measured",
            ),
            Self::OwnRandomNumbers { targets, why } => {
                let why = match why {
                    OwnRandomNumbers::LinkedStatically => "linked statically",
                    OwnRandomNumbers::NoLibrary => "the library that makes them equal cannot be loaded",
                };
                write!(f, "base and head draw different random numbers ({why}): {}", join(targets, ", "))
            }
            Self::WritesIntoTree { files, more } => {
                write!(f, "tests wrote into their package's folder (in our copy): {}", some_of(files, *more))
            }
            Self::StepChangesFiles { step, side, files, more } => {
                let files = some_of(files, *more);
                write!(f, "{step} changes files of {side} that are in git (in our copy): {files}")
            }
            Self::Machine(machine) => machine.fmt(f),
            Self::NothingExplained { why } => write!(f, "no test is explained: {why}"),
            Self::NothingMoreExplained { why } => write!(f, "no further test is explained: {why}"),
            Self::NoInstructions { why } => write!(f, "callgrind explains no further test: {why}"),
            Self::NotExplained { test, why } => write!(f, "{test}: {why}"),
            Self::NoSecondPairing { why } => write!(f, "no further test is measured with head's test code: {why}"),
            Self::NotWritten { folder, why } => {
                write!(f, "the run could not be written to {}: {why}", folder.display())
            }
            Self::NotKept { merged, why } => {
                let run = if *merged { "the merged run" } else { "this run" };
                write!(f, "{run} could not be saved for `explain` and `report`: {why}")
            }
            Self::AcceptedForOther { accepted, ratchet } => write!(
                f,
                "the accepted losses are against {accepted} and do not count against {ratchet} \
                 (`cargo perfunit ratchet show`)"
            ),
            Self::Acceptance(unused) => unused.fmt(f),
            Self::Shards(shards) => shards.fmt(f),
        }
    }
}

impl Display for AcceptanceUnused {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::NotUnderstood { commit, why } => {
                write!(f, "the {ACCEPT_TRAILER} trailer of commit {commit} accepts nothing: {why}")
            }
            Self::Misplaced { commits } => write!(
                f,
                "the {ACCEPT_TRAILER} line of commit {} accepts nothing: git reads trailers in the last paragraph of a \
                 message only",
                format::some(commits.iter().cloned())
            ),
            Self::Cut => write!(
                f,
                "the clone is shallow, so {ACCEPT_TRAILER} trailers of older commits of the change are not read: fetch \
                 them (in GitHub Actions `fetch-depth: 0` for actions/checkout)"
            ),
            Self::OfNothing { name, place } => write!(
                f,
                "`{}` is accepted to get slower ({}), and no test or responsible function has this name",
                format::one_line(name),
                format::one_line(place)
            ),
        }
    }
}

/// Names base's test targets without a counterpart in head, and head's without one in base.
fn no_counterpart(gone: &[impl Display], new: &[impl Display]) -> String {
    let gone = format!("head has no test target that matches base's {}", join(gone, ", "));
    let new = if new.is_empty() { String::new() } else { format!("; base has none for head's {}", join(new, ", ")) };
    format!("{gone}{new}: no package has its name or folder, and no target its name, root file or content")
}

/// Names tests that are called as whole functions, by crate root.
fn called_whole(tests: &BTreeMap<String, Vec<String>>, error: &str) -> String {
    let of_root = |(root, names): (&String, &Vec<String>)| format!("{} of {root}", join(names, ", "));
    let named = format::some(tests.iter().map(of_root));
    format!("{named} do not compile with our #[test] and are measured as whole functions: {error}")
}

/// Formats some files and the number of others.
fn some_of(files: &[PathBuf], more: usize) -> String {
    let named: Vec<_> = files.iter().map(|path| path.display()).collect();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", join(&named, ", "))
}

fn join(parts: &[impl Display], between: &str) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Formats the reason for using files as stored.
fn describe_unfiltered(why: &Unfiltered) -> String {
    let files = |files: &usize| if *files == 1 { "1 file is".to_owned() } else { format!("{files} files are") };
    match why {
        Unfiltered::NotConfigured { driver, files: number } => format!(
            "git's filter `{driver}` is not configured here: {} used as stored in the repository (`git config \
             filter.{driver}.smudge` sets its command)",
            files(number)
        ),
        Unfiltered::Failed { why } => {
            format!("git could not convert some files, which are used as stored in the repository: {why}")
        }
        Unfiltered::NoGit { why } => {
            format!("files are used as stored in the repository, without the conversions that git makes: {why}")
        }
    }
}

fn toolchains(asked: &Sides<Option<String>>, used: &ToolchainsUsed) -> String {
    let name = |side: Side| match asked.get(side) {
        Some(asked) => format!("{side} for {asked}"),
        None => format!("{side} for none"),
    };
    let asked = format!("the versions ask for different toolchains ({}, {})", name(Side::Base), name(Side::Head));
    match used {
        ToolchainsUsed::Own(Sides { base, head }) => {
            format!("{asked}: base is built with {base}, head with {head}, and every test counts as changed")
        }
        ToolchainsUsed::NoRustup(used) => {
            format!("{asked}; both are built with {used}, because rustup is not installed")
        }
        ToolchainsUsed::ByName(used) => format!("{asked}; both are built with {used}, which was chosen by name"),
        ToolchainsUsed::NotInstalled { used, sides } => format!(
            "{asked}, and that of {} is not installed (run `rustup toolchain install`); both are built with {used}",
            join(sides, " and ")
        ),
    }
}

impl Display for Unused {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let place = match self {
            Self::Name { among, .. } | Self::Filterset { among, .. } if among.only_reached => {
                " in the targets that the change can reach"
            }
            _ => "",
        };
        match self {
            Self::Name { name, exact, near, .. } => {
                let verb = if *exact { "are called" } else { "match" };
                let near: Vec<&str> = near.iter().map(String::as_str).collect();
                let hint = suggest::hint(&near).map_or_else(String::new, |hint| format!(": {hint}"));
                write!(f, "no tests{place} {verb} `{name}`{hint}")
            }
            Self::Filterset { text, from, among } => {
                let filter = match from {
                    None => format!("--filterset `{text}`"),
                    Some(from) => format!("default-filter `{text}` ({from})"),
                };
                match among.tests {
                    1 => write!(f, "{filter} does not match the only test{place}"),
                    tests => write!(f, "{filter} matches none of the {tests} tests{place}"),
                }
            }
            Self::Rule { text, from } => write!(f, "{from}: no test matches `{text}`"),
        }
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::RandomAddresses => f.write_str(
                "address space randomization cannot be disabled on this system; measuring takes longer for the same precision",
            ),
            Self::NoFixedCore => {
                f.write_str("processes cannot be pinned to one core on this system; intervals are wider")
            }
            Self::Unmoved => {
                f.write_str("some programs could not be moved to their own memory; their placement may account for 2 %")
            }
            Self::OnlyOneCore => f.write_str("only one core is available; measuring takes longer for the same precision"),
            Self::SharedCore { percent, moves } => {
                let although = match moves {
                    0 => String::new(),
                    1 => ", although we moved to a quieter one".to_owned(),
                    times => format!(", although we moved to a quieter one {times} times"),
                };
                write!(
                    f,
                    "other programs used the measuring core for {percent} % of the time{although}; measuring takes longer for the same precision (see `cargo perfunit doctor`)"
                )
            }
            Self::Steal { percent } => {
                write!(f, "the host gave {percent} % of the measuring core's time to other machines")
            }
            Self::Throttled { times } => write!(
                f,
                "the CPU limit of the control group paused measuring {times} times"
            ),
            Self::Overheated { times } => write!(f, "the measuring core was throttled by heat {times} times"),
        }
    }
}

impl Display for Shards {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::Processors(shards) => {
                let each: Vec<String> =
                    shards.iter().map(|(cpu, shards)| format!("{cpu} (shard {})", shards.join(", "))).collect();
                write!(
                    f,
                    "the shards ran on different processors, {}: both versions of a test ran on the same one, but times of \
                     different tests may not be comparable",
                    each.join(" and ")
                )
            }
            Self::Interrupted { shard, left } => {
                write!(f, "shard {shard} was interrupted: {left} of its tests were not measured")
            }
            Self::NobodysTests { tests } => {
                write!(f, "{tests} tests were not measured, because each shard left them to another")
            }
            Self::Disagree => f.write_str(
                "the shards disagree about the tests to divide: the machines compile differently, and each test \
                 has the result of its own shard",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_about_the_machine_that_differ_only_in_figures_are_one() {
        let shared = |percent, moves| Warning::Machine(Machine::SharedCore { percent, moves });
        let throttled = |times| Warning::Machine(Machine::Throttled { times });
        let mut all = vec![shared(52, 1), Warning::WithoutRunner, throttled(2)];
        Warning::add(
            &mut all,
            [Warning::WithoutRunner, shared(74, 2), throttled(3), Warning::Machine(Machine::Unmoved)],
        );
        let once = Warning::Machine(Machine::Unmoved);
        let expected = [shared(74, 3), Warning::WithoutRunner, throttled(5), Warning::WithoutRunner, once.clone()];
        assert_eq!(all, expected);
        Warning::add(&mut all, [once]);
        assert_eq!(all, expected);
    }
}
