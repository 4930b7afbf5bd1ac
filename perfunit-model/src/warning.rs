//! What the user should know about a run, besides the outcomes of its tests.

use super::{Partition, Side, Sides, TargetId, TestId, Uncompared, Unexplained, Untraceable, format, suggest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter, Result};
use std::path::PathBuf;

/// A `why` is the message of an error, or of another program.
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

/// Packages named in the warning about those left out.
const NAMED_PACKAGES: usize = 5;

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::MissingSubmodule { path, commit } => write!(
                f,
                "submodule {} is left out: commit {commit} is not here (`git submodule update --init` fetches it)",
                path.display()
            ),
            Self::MissingLfsFiles { files } => {
                write!(f, "{files} LFS files are not here and stay pointers (`git lfs fetch` brings them)")
            }
            Self::Unfiltered(why) => write!(f, "{}", unfiltered(why)),
            Self::NoCounterpart { gone, new } => f.write_str(&no_counterpart(gone, new)),
            Self::Toolchains { asked, used } => f.write_str(&toolchains(asked, used)),
            Self::NoTargetLeft => f.write_str("the filters leave no test target to look at"),
            Self::PackagesLeftOut { packages } => {
                let named = joined(&packages[..packages.len().min(NAMED_PACKAGES)], ", ");
                let more = packages.len().saturating_sub(NAMED_PACKAGES);
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                write!(
                    f,
                    "the change can reach tests of {named}{more}, which are not selected: `--workspace` adds them"
                )
            }
            Self::CompiledIn { path } => {
                write!(f, "{path} is compiled in: it counts in spite of the rule about its path")
            }
            Self::SourceIsInput { target, path } => {
                write!(
                    f,
                    "{target} includes {path} as data, which changed: what it works on differs between the versions"
                )
            }
            Self::Unused(unused) => unused.fmt(f),
            Self::NotTraced { why } => write!(f, "which tests execute the change was not looked at: {why}"),
            Self::NotCompared { target, why } => write!(f, "all tests of {target} count as changed: {why}"),
            Self::WithoutMacro { roots, error } => write!(
                f,
                "the tests of {} do not compile with our #[test], and are measured as whole functions: {error}",
                format::some(roots.iter().cloned())
            ),
            Self::CalledWhole { tests, error } => f.write_str(&called_whole(tests, error)),
            Self::WithoutRunner => f.write_str(
                "the tests do not compile with our test runner; tests made by other macros are not measured",
            ),
            Self::OwnRandomNumbers { targets, why } => {
                let why = match why {
                    OwnRandomNumbers::LinkedStatically => "linked statically",
                    OwnRandomNumbers::NoLibrary => "the library that equals them cannot be loaded",
                };
                write!(f, "base and head draw random numbers of their own ({why}): {}", joined(targets, ", "))
            }
            Self::WritesIntoTree { files, more } => {
                let named: Vec<_> = files.iter().map(|path| path.display()).collect();
                let more = if *more > 0 { format!(" and {more} more") } else { String::new() };
                let named = joined(&named, ", ");
                write!(f, "tests wrote into their package's folder (in our copy of it): {named}{more}")
            }
            Self::Machine(machine) => machine.fmt(f),
            Self::NothingExplained { why } => write!(f, "nothing is explained: {why}"),
            Self::NothingMoreExplained { why } => write!(f, "nothing more is explained: {why}"),
            Self::ExplainingEnded { why } => write!(f, "no more tests are explained: {why}"),
            Self::NoInstructions { why } => write!(f, "callgrind does not explain more: {why}"),
            Self::NotExplained { test, why } => write!(f, "{test}: {why}"),
            Self::NoSecondPairing { why } => write!(f, "nothing more is measured with head's test code: {why}"),
            Self::NotWritten { folder, why } => write!(f, "the run is not in {}: {why}", folder.display()),
            Self::NotKept { merged, why } => {
                let run = if *merged { "the merged run" } else { "this run" };
                write!(f, "`explain` and `report` will not know {run}: {why}")
            }
            Self::AcceptedForOther { accepted, ratchet } => write!(
                f,
                "the accepted losses are against {accepted} and do not count against {ratchet} \
                 (`cargo perfunit ratchet show`)"
            ),
            Self::Shards(shards) => shards.fmt(f),
        }
    }
}

/// Names base's test targets that are gone, and head's that base has nothing for.
fn no_counterpart(gone: &[impl Display], new: &[impl Display]) -> String {
    let gone = format!("head has no test target that matches base's {}", joined(gone, ", "));
    let new = if new.is_empty() { String::new() } else { format!("; base has none for head's {}", joined(new, ", ")) };
    format!("{gone}{new}: no package has its name or folder, and no target its name, root file or content")
}

/// Names tests that are called whole, by their crate roots.
fn called_whole(tests: &BTreeMap<String, Vec<String>>, error: &str) -> String {
    let of_root = |(root, names): (&String, &Vec<String>)| format!("{} of {root}", joined(names, ", "));
    let named = format::some(tests.iter().map(of_root));
    format!("{named} cannot be compiled with our #[test], and are measured as whole functions: {error}")
}

fn joined(parts: &[impl Display], between: &str) -> String {
    parts.iter().map(ToString::to_string).collect::<Vec<_>>().join(between)
}

/// Words why files are used as they are stored.
fn unfiltered(why: &Unfiltered) -> String {
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
            format!("{asked}; both are built with {used}: rustup is not there to find them")
        }
        ToolchainsUsed::ByName(used) => format!("{asked}; both are built with {used}: that one was chosen by name"),
        ToolchainsUsed::NotInstalled { used, sides } => format!(
            "{asked}, and that of {} is not installed (`rustup toolchain install` does it): both are built with {used}",
            joined(sides, " and ")
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
                let what = if *exact { format!("is called `{name}`") } else { format!("has `{name}` in its name") };
                let near: Vec<&str> = near.iter().map(String::as_str).collect();
                let hint = suggest::hint(&near).map_or_else(String::new, |hint| format!(": {hint}"));
                write!(f, "no test found{place} {what}{hint}")
            }
            Self::Filterset { text, from, among } => {
                let filter = match from {
                    None => format!("--filterset `{text}`"),
                    Some(from) => format!("default-filter `{text}` ({from})"),
                };
                write!(f, "{filter} matches none of the {} tests found{place}", among.tests)
            }
            Self::Rule { text, from } => write!(f, "{from}: no test matches `{text}`"),
        }
    }
}

impl Display for Machine {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Self::RandomAddresses => f.write_str(
                "this system does not let us switch off address space randomisation: the same certainty takes longer",
            ),
            Self::NoFixedCore => {
                f.write_str("this system does not let us keep both versions on one core: intervals are wider")
            }
            Self::Unmoved => {
                f.write_str("some programs could not be moved to memory of their own: where they lie may count for 2 %")
            }
            Self::OnlyOneCore => f.write_str("there is only one core to use: the same certainty takes longer"),
            Self::SharedCore { percent, moves } => {
                let although = match moves {
                    0 => String::new(),
                    1 => ", although we moved to a quieter one".to_owned(),
                    times => format!(", although we moved to a quieter one {times} times"),
                };
                write!(
                    f,
                    "other programs had the measuring core for {percent} % of the time{although}: the same certainty takes longer (`cargo perfunit doctor`)"
                )
            }
            Self::Steal { percent } => {
                write!(f, "the host gave {percent} % of the measuring core's time to other machines")
            }
            Self::Throttled { times } => write!(
                f,
                "our control group used up its processor time {times} times and had to wait (CPU limit of a container)"
            ),
            Self::Overheated { times } => write!(f, "the measuring core was slowed down for its heat {times} times"),
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
                    "the shards ran on different processors, {}: both versions of a test ran on one, but the times of two \
                     tests may be of two",
                    each.join(" and ")
                )
            }
            Self::Interrupted { shard, left } => {
                write!(f, "shard {shard} was interrupted: {left} of its tests are not measured")
            }
            Self::NobodysTests { tests } => {
                write!(f, "{tests} tests were left by each shard to another one and are not measured")
            }
            Self::Disagree => f.write_str(
                "the shards do not agree about the tests to share out: the machines compile differently, and each test \
                 is as its own shard saw it",
            ),
        }
    }
}
