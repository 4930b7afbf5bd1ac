//! Arguments as typed. Cargo's own flags are spelled and grouped as in cargo.

use super::values;
use crate::model::Metric;
use crate::term::ColorChoice;
use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// Which of my tests got slower? Performance regression testing without benchmarks.
#[derive(Debug, Parser)]
#[command(
    name = "cargo perfunit",
    bin_name = "cargo perfunit",
    version,
    propagate_version = true,
    max_term_width = 100
)]
#[command(
    after_help = "Exit codes: 0 no regression, 2 usage, 4 nothing to measure (--no-tests=fail), 70 a bug of ours, \
    100 regression, 101 build failed, 102 git or cargo metadata failed, 103 all selected tests fail on base, \
    105 inconclusive (--deny inconclusive), 130 interrupted"
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Compare the tests' performance between two versions.
    ///
    /// Base is the merge base of BASE and head; head is the working tree with its uncommitted changes.
    /// Without BASE: on a branch its upstream or the default branch; on the default branch HEAD if there are uncommitted
    /// changes, else the parent commit.
    #[command(visible_alias = "d")]
    Diff(Box<DiffArguments>),
    /// Say why tests of the last `diff` got slower or faster: which functions are to blame, with their calls.
    ///
    /// Without TEST: all that are slower or faster. What `diff` has found out already is shown as it is.
    Explain(Box<ExplainArguments>),
    /// List the tests that `diff` would measure, and why.
    List(Box<ListArguments>),
    /// Prove the error rates on this machine: compare artificial tests of which we know whether they differ.
    ///
    /// Prints F1, missed changes, false alarms and seconds per verdict by effect size, and keeps them as the machine's
    /// profile. Needs no project.
    Calibrate(CalibrateArguments),
    /// Remove everything that the tool keeps below the target folder.
    Clean(CleanArguments),
    /// Say what this machine allows, how quiet it is, and what to do about it.
    Doctor(DoctorArguments),
    /// Make a small example project with a two-commit history and run `diff` on it.
    Demo(DemoArguments),
}

/// Arguments of `diff`.
#[derive(Debug, Args)]
pub struct DiffArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub measuring: MeasuringArguments,

    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: MessageFormat,
    /// What to do when there is nothing to measure.
    #[arg(long, value_enum, default_value_t, value_name = "ACTION", help_heading = "Output")]
    pub no_tests: NoTests,
    /// Also fail (exit code 105) on tests with this verdict.
    #[arg(long, value_enum, value_name = "VERDICT", help_heading = "Output")]
    pub deny: Vec<Deny>,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// Tests of the last `diff`: whole names, or parts of them.
    #[arg(value_name = "TEST")]
    pub tests: Vec<String>,
    /// TESTs are whole names.
    #[arg(long)]
    pub exact: bool,
    /// Instead, the tests that a function matters to: `line`, `Parser::line`, `parser::Parser::line`.
    #[arg(long, value_name = "PATH", conflicts_with_all = ["hot", "flamegraph"])]
    pub function: Option<String>,
    /// Instead, the functions that take most of the tests' time, and all tests' calls in one tree.
    #[arg(long, conflicts_with = "flamegraph")]
    pub hot: bool,
    /// Also write where the time of one test goes, head against base: an .svg, or stacks for other tools.
    #[arg(long, value_name = "FILE")]
    pub flamegraph: Option<PathBuf>,
    /// What is counted; one that is named here explains anew what is explained already.
    #[arg(long, value_enum, value_name = "ENGINE")]
    pub engine: Option<ExplainEngine>,
    /// Which functions are timed; one that is named here explains anew what is explained already.
    #[arg(long, value_enum, value_name = "STRATEGY")]
    pub strategy: Option<ExplainStrategy>,
    /// Longest run, builds included.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub budget: Option<Duration>,
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
    /// Print the result only.
    #[arg(long, short)]
    pub quiet: bool,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    /// Every test found in the workspace, with how it was captured.
    #[arg(long)]
    pub all: bool,
    /// Explain each test (whose name contains TEST): what changed and the path to it, or which stage left it out.
    #[arg(long, value_name = "TEST", num_args = 0..=1, default_missing_value = "")]
    pub why: Option<String>,
    /// If no test is selected, say of each change why it selects none.
    #[arg(long)]
    pub explain_none: bool,
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
}

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct CalibrateArguments {
    /// A rough answer in about a minute, with at most 2 s for a verdict.
    #[arg(long)]
    pub quick: bool,
    /// Also let other rules decide, in as much time: Mann-Whitney, Welch's t, overlap of intervals, means of sequential
    /// processes as in Peass.
    #[arg(long)]
    pub compare: bool,
    /// Show the last calibration of this machine and measure nothing.
    #[arg(long, conflicts_with_all = ["quick", "compare", "budget", "per_test_budget", "seed"])]
    pub show: bool,
    /// About how long to take, builds included [default: 7m, 1m with --quick; twice that with --compare].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub budget: Option<Duration>,
    /// Longest measuring for a verdict, and again for its confirmation [default: as `diff`, 10s; 2s with --quick].
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub per_test_budget: Option<Duration>,
    /// Seed of the random shifts of address spaces [default: drawn].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Print the result only.
    #[arg(long, short)]
    pub quiet: bool,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// Arguments of `clean`.
#[derive(Debug, Args)]
pub struct CleanArguments {
    /// Also remove what is kept for all projects: the runtime and macros of each toolchain, the
    /// machine's calibration.
    #[arg(long)]
    pub cache: bool,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
}

/// Arguments of `doctor`.
#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Output format of the result on stdout.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

/// Arguments of `demo`.
#[derive(Debug, Args)]
pub struct DemoArguments {
    /// Folder to make the project in; must not exist or be empty [default: a new one in the temporary folder].
    pub folder: Option<PathBuf>,
}

/// Arguments of all subcommands that compare versions.
#[derive(Debug, Args)]
pub struct CommonArguments {
    /// Version to compare with: a revision, `BASE..HEAD` (exactly these two) or `BASE...HEAD` (from their merge base).
    pub base: Option<String>,
    /// Only tests whose name contains one of these.
    pub filter: Vec<String>,
    /// Version to test instead of the working tree.
    #[arg(long, value_name = "REV")]
    pub head: Option<String>,
    /// Filters are whole names.
    #[arg(long, help_heading = "Tests")]
    pub exact: bool,
    /// Leave out tests whose name contains this.
    #[arg(long, value_name = "FILTER", help_heading = "Tests")]
    pub skip: Vec<String>,
    /// All tests of the chosen packages, whether the change can reach them or not.
    #[arg(long, help_heading = "Tests")]
    pub all_tests: bool,
    /// Tests marked #[ignore].
    #[arg(long, value_enum, default_value_t, value_name = "WHICH", help_heading = "Tests")]
    pub run_ignored: RunIgnored,

    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub packages: PackageArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub cargo: CargoArguments,

    /// Say more: per test the p value, effect size, pairs and why it was selected.
    #[arg(long, short, action = ArgAction::Count, help_heading = "Output")]
    pub verbose: u8,
    /// Print the result only.
    #[arg(long, short, conflicts_with = "verbose", help_heading = "Output")]
    pub quiet: bool,
    /// Coloring.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t, help_heading = "Output")]
    pub color: ColorChoice,
}

/// Cargo's package and target selection.
#[derive(Debug, Args)]
#[command(next_help_heading = "Package and target selection")]
pub struct PackageArguments {
    /// Package to test.
    #[arg(long, short, value_name = "NAME")]
    pub package: Vec<String>,
    /// All packages in the workspace.
    #[arg(long)]
    pub workspace: bool,
    /// Exclude packages from --workspace.
    #[arg(long, value_name = "NAME", requires = "workspace")]
    pub exclude: Vec<String>,
    /// Only the unit tests of libraries.
    #[arg(long)]
    pub lib: bool,
    /// Only the unit tests of all binaries.
    #[arg(long)]
    pub bins: bool,
    /// Only the unit tests of this binary.
    #[arg(long, value_name = "NAME")]
    pub bin: Vec<String>,
    /// Only this integration test.
    #[arg(long, value_name = "NAME")]
    pub test: Vec<String>,
}

/// Cargo's build options.
#[derive(Debug, Args)]
#[command(next_help_heading = "Build")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of cargo's")]
pub struct CargoArguments {
    /// Features to activate, separated by spaces or commas.
    #[arg(long, short = 'F', value_name = "FEATURES")]
    pub features: Vec<String>,
    /// Activate all available features.
    #[arg(long)]
    pub all_features: bool,
    /// Do not activate the `default` feature.
    #[arg(long)]
    pub no_default_features: bool,
    /// Cargo profile to build both versions with.
    #[arg(long, value_name = "NAME", default_value = "bench")]
    pub cargo_profile: String,
    /// Directory for all generated artifacts.
    #[arg(long, value_name = "DIRECTORY")]
    pub target_dir: Option<PathBuf>,
    /// Path to Cargo.toml.
    #[arg(long, value_name = "PATH")]
    pub manifest_path: Option<PathBuf>,
    /// Number of parallel jobs.
    #[arg(long, short, value_name = "N")]
    pub jobs: Option<String>,
    /// Override a cargo configuration value.
    #[arg(long, value_name = "KEY=VALUE|PATH")]
    pub config: Vec<String>,
    /// Assert that Cargo.lock will remain unchanged.
    #[arg(long)]
    pub locked: bool,
    /// Run without accessing the network.
    #[arg(long)]
    pub offline: bool,
    /// Equivalent to both --locked and --offline.
    #[arg(long)]
    pub frozen: bool,
}

/// How to measure and decide.
#[derive(Debug, Args)]
#[command(next_help_heading = "Measuring")]
pub struct MeasuringArguments {
    /// Smallest change that counts as slower or faster, as `2%` or a fraction. First calls are judged from 5 % on, and
    /// where the place of the code cannot be controlled from 15 % on.
    #[arg(long, value_name = "CHANGE", default_value = "2%", value_parser = values::threshold)]
    pub threshold: f64,
    /// What decides whether a test got slower or faster, separated by commas. The others are measured and shown.
    #[arg(long, value_name = "METRICS", value_delimiter = ',', default_value = "time", value_parser = values::metric())]
    pub metric: Vec<Metric>,
    /// How instructions are counted: by the processor where it lets us, or in callgrind (slow, needs valgrind).
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    pub instructions: CountInstructions,
    /// Longest life of one measured process.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub timeout: Duration,
    /// Longest whole run, builds included; what did not fit is listed.
    #[arg(long, value_name = "TIME", value_parser = values::duration)]
    pub budget: Option<Duration>,
    /// Longest measuring of one test.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = values::duration)]
    pub per_test_budget: Duration,
    /// Find out which functions are to blame, on executables with probes.
    #[arg(long, value_enum, default_value_t, value_name = "WHEN")]
    pub explain: ExplainTests,
    /// What is counted to find out who is to blame.
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub engine: ExplainEngine,
    /// Which functions are timed to find out who is to blame.
    #[arg(long, value_enum, default_value_t, value_name = "STRATEGY")]
    pub strategy: ExplainStrategy,
    /// Seed of the random shifts of address spaces and of the random numbers that tests draw [default: drawn].
    #[arg(long, value_name = "N", hide = true)]
    pub seed: Option<u64>,
    /// Where the code of both versions lies: what did not change at the same places, or wherever the linker put it.
    #[arg(long, value_enum, default_value_t, value_name = "PLACEMENT", hide = true)]
    pub layout: Layout,
    /// Let each process draw random numbers of its own.
    #[arg(long, hide = true)]
    pub unequal_seeds: bool,
    /// Let the optimiser see the constants in test bodies, as in an ordinary build.
    #[arg(long, hide = true)]
    pub transparent_constants: bool,
    /// Let the loops of the workspace's code begin at cache lines.
    #[arg(long, hide = true)]
    pub aligned_loops: bool,
}

/// Of which tests to find out who is to blame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ExplainTests {
    /// Of the three that got slower by most.
    #[default]
    Auto,
    /// Of all slower and faster tests.
    Always,
    /// Of none.
    Never,
}

/// What to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ExplainEngine {
    /// Time, and instructions of those tests that time does not explain or that probes distort too much.
    #[default]
    Auto,
    /// Time, by a probe in each function.
    Probes,
    /// Instructions, also of functions that are inlined or too small for a probe (needs valgrind).
    Callgrind,
}

/// Which functions to time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum ExplainStrategy {
    /// By how much the test changed and how much it calls; more than one if the first does not find anybody.
    #[default]
    Auto,
    /// All at once.
    Complete,
    /// What the test calls, then what those call that changed, and so on.
    Levelwise,
    /// Those on the ways from the test to functions whose source changed.
    UntilSourceChange,
}

/// Where instructions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum CountInstructions {
    /// The processor's counter, where there is one.
    #[default]
    Auto,
    /// callgrind, in a process of each version.
    Callgrind,
    /// Not at all.
    Never,
}

/// Where the code of the measured executables lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Layout {
    /// What is the same in both versions at the same places.
    #[default]
    Matched,
    /// Wherever the linker put it.
    Natural,
}

/// Which ignored tests to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum RunIgnored {
    /// None.
    #[default]
    Default,
    /// Only those.
    Only,
    /// Those too.
    All,
}

/// Output formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum MessageFormat {
    /// A summary for people.
    #[default]
    Human,
    /// One versioned JSON document.
    Json,
}

/// What to do without tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum NoTests {
    /// Exit with 0.
    #[default]
    Pass,
    /// Exit with 4.
    Fail,
}

/// Verdicts that can be denied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Deny {
    /// Tests that could not be told.
    Inconclusive,
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
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn cargos_extra_word_is_dropped() {
        let typed = |line: &str| parse(line.split(' ').map(OsString::from));
        for line in ["cargo-perfunit perfunit diff main", "cargo-perfunit diff main"] {
            let Command::Diff(diff) = typed(line).command else { panic!("not diff") };
            assert_eq!(diff.common.base.as_deref(), Some("main"));
        }
    }
}
