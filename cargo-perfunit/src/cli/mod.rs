//! The command line: parses arguments, prints results and returns the exit code.
//!
//! Each subcommand has a file with its arguments, its actions and its exit code. `arguments` has what several of them
//! share, `output` the use of a finished run, and `exit_code` all exit codes.

mod archive;
mod arguments;
mod bisect;
mod calibrate;
mod ci;
mod clean;
mod completions;
mod demo;
mod diff;
mod doctor;
mod exit_code;
mod explain;
mod generate;
mod hook;
mod list;
mod log;
mod man;
mod merge;
mod output;
mod ratchet;
mod report;
mod show_config;

pub use exit_code::of_process as exit_code;
pub use man::{ENVIRONMENT, FILES};

use archive::ArchiveArguments;
use bisect::BisectArguments;
use calibrate::CalibrateArguments;
use ci::CiArguments;
use clap::{CommandFactory as _, Parser, Subcommand};
use clean::CleanArguments;
use completions::CompletionsArguments;
use demo::DemoArguments;
use diff::DiffArguments;
use doctor::DoctorArguments;
use explain::ExplainArguments;
use generate::GenerateArguments;
use hook::HookArguments;
use list::ListArguments;
use log::LogArguments;
use man::ManArguments;
use merge::MergeArguments;
use perfunit_model::error::{ExitCode, Result};
use ratchet::RatchetArguments;
use report::ReportArguments;
use show_config::ShowConfigArguments;
use std::ffi::OsString;

/// First examples to try.
const EXAMPLES: &str = "\
Examples:
  cargo perfunit demo          run an example project to see a result
  cargo perfunit doctor        check how well this machine can measure
  cargo perfunit diff          compare your work with the branch that it started from
  cargo perfunit diff HEAD~1   compare the last commit with its parent
  cargo perfunit explain       show the responsible functions
";

/// Performance regression testing without benchmarks: your unit tests are the workloads.
///
/// cargo-perfunit finds the unit tests that a change can reach, runs both versions of them against each other, and
/// decides which got slower or faster. It adds nothing to your project and does not touch your tree.
#[derive(Debug, Parser)]
#[command(
    name = "cargo perfunit",
    bin_name = "cargo perfunit",
    version,
    propagate_version = true,
    max_term_width = 100,
    after_help = exit_codes(),
    after_long_help = format!("{EXAMPLES}\n{}", exit_codes())
)]
pub struct Arguments {
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// Returns the exit codes in one line for the end of the help.
fn exit_codes() -> String {
    let codes = ExitCode::ALL.map(|code| format!("{} {}", code as u8, code.meaning()));
    format!("Exit codes: {}", codes.join(", "))
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare the performance of tests between two versions.
    ///
    /// Base is the merge base of BASE and head; head is the working tree with its uncommitted changes. On a branch, BASE
    /// is by default the upstream if that is another branch, else the default branch. On the default branch it is HEAD
    /// if there are uncommitted changes, else the parent commit.
    ///
    /// Tests that the change can reach are built in both versions and run against each other. Slower and faster tests
    /// are reported with the change, its confidence interval and the responsible functions.
    #[command(visible_alias = "d")]
    Diff(Box<DiffArguments>),
    /// Explain which functions made tests of the last `diff` slower or faster.
    ///
    /// Shows, for each slower or faster test, the functions that take more or less time than before, with their calls.
    /// Without TEST, explains all slower and faster tests, and others with more work; if there are none, the test that is
    /// most probably slower. Explanations of `diff` are shown again.
    Explain(Box<ExplainArguments>),
    /// List the tests that `diff` would measure, with the reasons.
    ///
    /// Takes the arguments of `diff`. Builds both versions, but measures nothing.
    List(Box<ListArguments>),
    /// Generate workloads for changed functions without test coverage, for `diff --generated`.
    ///
    /// Without FUNCTION, generates calls of changed functions that no test executes. Each call is tried in a sandbox,
    /// without files, network and other processes, on both versions; calls that pass and do the same work each time are
    /// kept for `diff --generated`. Your tree is not touched unless `--write` names a file.
    Generate(Box<GenerateArguments>),
    /// Compare each commit of a range with the previous one.
    ///
    /// Compares the most recent commit first, along first parents. Commits that do not build are skipped. Results are
    /// stored, so that an interrupted command continues where it stopped. The course of a test over the range is the
    /// product of its steps; tests that changed in several commits are also compared directly over all of them.
    Log(Box<LogArguments>),
    /// Find the commit that made a test slower.
    ///
    /// Compares both ends first, then commits in between until one is left. Skips commits that do not build or in which
    /// the test fails.
    Bisect(Box<BisectArguments>),
    /// Pin a baseline to catch gradual regressions, and accept losses on purpose.
    ///
    /// Both are stored in `.config/perfunit-ratchet.toml`; commit this file.
    Ratchet(RatchetArguments),
    /// Print a saved run again, for people, programs or a pull request.
    ///
    /// Every `diff` saves its run below `target/perfunit/runs`: the last 20 runs of the last 30 days.
    Report(Box<ReportArguments>),
    /// Manage a git `pre-push` hook that blocks pushes if a test got slower.
    Hook(HookArguments),
    /// Write a job for continuous integration.
    Ci(CiArguments),
    /// Build both versions and pack them for `diff --use-archive` on other machines.
    ///
    /// Takes the versions, packages and build options of `diff`. The other machines need the same toolchain, the same
    /// paths and a clone with both versions; they build nothing.
    Archive(Box<ArchiveArguments>),
    /// Merge the runs of all shards (`diff --partition`) into one.
    ///
    /// Each test keeps the verdict of its shard, which was decided at the error rate of the whole run. Missing,
    /// duplicate or damaged shards, and shards of different runs, are errors. The exit code is that of `diff`.
    Merge(MergeArguments),
    /// Measure the error rates of verdicts on this machine.
    ///
    /// Compares artificial tests that differ by a known amount, or not at all. Prints F1, missed changes, false alarms
    /// and seconds per verdict by effect size, and saves them as the machine's profile. Needs no project.
    Calibrate(CalibrateArguments),
    /// Show the effective settings and the source of each.
    ///
    /// The command line overrides environment variables (`PERFUNIT_THRESHOLD` for `threshold`), which override the
    /// selected profile of `.config/perfunit.toml`, then its profile `default`, then the built-in values. Accepts
    /// the options of `diff` for measuring, to show their effect.
    ShowConfig(Box<ShowConfigArguments>),
    /// Remove everything that cargo-perfunit stores below the target folder.
    ///
    /// The next `diff` builds everything again. Other files in the target folder stay.
    Clean(CleanArguments),
    /// Check what this machine allows and how quiet it is, with advice.
    ///
    /// Takes about two seconds, needs no project and changes nothing.
    Doctor(DoctorArguments),
    /// Create a small example project with two commits and run `diff` on it.
    ///
    /// The second commit makes one of three tests slower. The project is kept for you to try things out.
    Demo(DemoArguments),
    /// Print a shell completion script.
    ///
    /// Prints to standard output; the place for the script depends on the shell.
    Completions(CompletionsArguments),
    /// Write man pages.
    ///
    /// One page for the tool and one for each subcommand, such as `man cargo-perfunit-diff`.
    Man(ManArguments),
}

impl Arguments {
    /// Runs the subcommand.
    pub fn run(&self) -> Result<ExitCode> {
        match &self.command {
            Command::Diff(arguments) => arguments.run(),
            Command::Explain(arguments) => arguments.run(),
            Command::List(arguments) => arguments.run(),
            Command::Generate(arguments) => arguments.run(),
            Command::Log(arguments) => arguments.run(),
            Command::Bisect(arguments) => arguments.run(),
            Command::Archive(arguments) => arguments.run(),
            Command::Merge(arguments) => arguments.run(),
            Command::Ratchet(arguments) => arguments.run(),
            Command::Report(arguments) => arguments.run(),
            Command::Hook(arguments) => arguments.run(),
            Command::Ci(arguments) => arguments.run(),
            Command::Calibrate(arguments) => arguments.run(),
            Command::ShowConfig(arguments) => arguments.run(),
            Command::Clean(arguments) => arguments.run(),
            Command::Doctor(arguments) => arguments.run(),
            Command::Demo(arguments) => arguments.run(),
            Command::Completions(arguments) => Ok(arguments.run(Self::command())),
            Command::Man(arguments) => arguments.run(Self::command()),
        }
    }
}

/// Parses the command line; `cargo perfunit X` and `cargo-perfunit X` are equivalent. Exits for `--help`, `--version`
/// and invalid arguments (exit code 2).
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Arguments {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == "perfunit") {
        arguments.remove(1);
    }
    Arguments::parse_from(arguments)
}

#[cfg(test)]
mod tests;
