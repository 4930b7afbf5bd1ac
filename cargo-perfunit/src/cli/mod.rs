//! The command line: what was typed comes in, the exit code goes out; results are printed on the way.
//!
//! Each subcommand has a file that says what can be typed, what runs and how it ends. What several of them take is in
//! `arguments`, what becomes of a finished run in `output`, and every exit code is decided in `exit_code`.

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

/// What to try first.
const EXAMPLES: &str = "\
Examples:
  cargo perfunit demo          an example project, to see what a result looks like
  cargo perfunit doctor        whether this machine can measure, and how well
  cargo perfunit diff          your work against the branch that it will be merged into
  cargo perfunit diff HEAD~1   what the last commit did
  cargo perfunit explain       which functions are responsible
";

/// Which of my tests got slower? Performance regression testing without benchmarks.
///
/// The unit tests of your project are the workloads: cargo-perfunit finds those that a change can reach, runs both
/// versions of them against each other, and judges the difference. Nothing is added to your project, and your tree is
/// not touched.
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
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// One line for the end of the help.
fn exit_codes() -> String {
    let codes = ExitCode::ALL.map(|code| format!("{} {}", code as u8, code.meaning()));
    format!("Exit codes: {}", codes.join(", "))
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare the tests' performance between two versions.
    ///
    /// Base is the merge base of BASE and head; head is the working tree with its uncommitted changes.
    /// Without BASE: on a branch its upstream or the default branch; on the default branch HEAD if there are uncommitted
    /// changes, else the parent commit.
    ///
    /// The tests that the change can reach are built in both versions and run against each other. Those that got slower
    /// or faster are reported with the change, its interval and the responsible functions.
    #[command(visible_alias = "d")]
    Diff(Box<DiffArguments>),
    /// Show which functions are responsible for what the last `diff` found.
    ///
    /// For each test that got slower or faster: the functions that take more or less time than before, with their calls.
    /// Without TEST: all that are slower or faster. What `diff` has explained already is shown again.
    Explain(Box<ExplainArguments>),
    /// List the tests that `diff` would measure, and why.
    ///
    /// Arguments are those of `diff`. Both versions are built, nothing is measured.
    List(Box<ListArguments>),
    /// Make up calls for changed functions that no test executes, so that `diff --generated` can compare these, too.
    ///
    /// Without FUNCTION: those that no test executes. Every call is tried in a cage, without files, network and other
    /// processes, on both versions; those that pass, and do the same each time, are kept for `diff --generated`. Your tree
    /// is not touched, unless `--write` names a file.
    Generate(Box<GenerateArguments>),
    /// Compare each commit of a range with the one before it.
    ///
    /// The youngest first, along first parents. Commits that do not build are skipped; what was found out is kept, so that
    /// an interrupted call goes on where it stopped. The courses of tests that moved are the products of their steps; tests
    /// that changed in several commits are compared directly over all of them, too.
    Log(Box<LogArguments>),
    /// Find the commit that made a test slower.
    ///
    /// Both ends are compared first. Then commits between them are compared until one is left, around those that do not
    /// build or in which the test fails.
    Bisect(Box<BisectArguments>),
    /// Accept the speed of a version, so that small losses since then are found, and accept losses on purpose.
    ///
    /// Both stand in `.config/perfunit-ratchet.toml`, which is to be committed.
    Ratchet(RatchetArguments),
    /// Report a saved run again: for people, for programs or for a pull request.
    ///
    /// Every `diff` saves its run below `target/perfunit/runs`: the last 20 of the last 30 days.
    Report(Box<ReportArguments>),
    /// Manage a `pre-push` hook of git that blocks pushes with tests that got slower.
    Hook(HookArguments),
    /// Write a ready job for continuous integration.
    Ci(CiArguments),
    /// Build both versions and pack what measuring needs, for `diff --use-archive` on other machines.
    ///
    /// Takes the versions, packages and build options of `diff`. The other machines need the same toolchain, the same
    /// paths and a clone with both versions, and build nothing.
    Archive(Box<ArchiveArguments>),
    /// Join the runs of all shards (`diff --partition`) into one.
    ///
    /// Each test keeps the verdict of its shard, decided at the error rate of the whole run; a shard that is missing, duplicated, damaged or of another run is an
    /// error. The exit code is that of `diff`.
    Merge(MergeArguments),
    /// Measure the error rates on this machine, with tests whose answer is known.
    ///
    /// Artificial tests that differ by a known amount, or not at all, are compared as `diff` compares tests.
    /// Prints F1, missed changes, false alarms and seconds per verdict by effect size, and keeps them as the machine's
    /// profile. Needs no project.
    Calibrate(CalibrateArguments),
    /// Show the settings in force, and where each comes from.
    ///
    /// The command line overrides variables of the environment (`PERFUNIT_THRESHOLD` for `threshold`), which override the
    /// chosen profile of `.config/perfunit.toml`, then its profile `default`, then the built-in values. Options of `diff`
    /// may be given to see their effect.
    ShowConfig(Box<ShowConfigArguments>),
    /// Remove everything that the tool keeps below the target folder.
    ///
    /// The next `diff` builds again. What other tools keep there stays.
    Clean(CleanArguments),
    /// Check what this machine allows and how quiet it is, and advise what to do about it.
    ///
    /// Takes about two seconds, needs no project and changes nothing.
    Doctor(DoctorArguments),
    /// Make a small example project with a two-commit history and run `diff` on it.
    ///
    /// The second commit makes one of three tests slower. The project stays there, for you to play with.
    Demo(DemoArguments),
    /// Print the script with which a shell completes our subcommands and options.
    ///
    /// It goes to standard output; where it belongs depends on the shell.
    Completions(CompletionsArguments),
    /// Write man pages.
    ///
    /// One for the tool and one for each subcommand, to be read with `man cargo-perfunit-diff` and the like.
    Man(ManArguments),
}

impl Arguments {
    /// Does what was asked for.
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

/// Parses the command line; `cargo perfunit X` and `cargo-perfunit X` are the same. Ends the process for `--help`,
/// `--version` and wrong usage (exit code 2).
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Arguments {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if arguments.get(1).is_some_and(|first| first == "perfunit") {
        arguments.remove(1);
    }
    Arguments::parse_from(arguments)
}

#[cfg(test)]
mod tests;
