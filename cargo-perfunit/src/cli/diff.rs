//! `cargo perfunit diff`.

use super::arguments::{CommonArguments, MeasuringArguments, ReportingArguments, folder};
use super::output::{self, ReportFile, RunOutput};
use clap::Args;
use perfunit_model::Generated;
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_project::config::{Deny, Layer, NoTests, Revision, Sourced, Value as _, ratchet_request};
use perfunit_report::Format;
use perfunit_session::Options;
use perfunit_system::interrupt;
use std::path::PathBuf;

/// Arguments of `diff`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit diff                      compare the working tree with where its branch started
  cargo perfunit diff main                 compare the working tree with its merge base with `main`
  cargo perfunit diff HEAD~1               compare the last commit and uncommitted changes with its parent
  cargo perfunit diff v1.2.0..v1.3.0       compare two versions
  cargo perfunit diff main parser::        only measure tests with `parser::` in their name
  cargo perfunit diff main -E 'package(core) & test(/^long/)'
                                           only measure tests that match a filterset
  cargo perfunit diff main -p core --lib   only measure the unit tests of one library
  cargo perfunit diff main --budget 60s    measure as many tests as fit into a minute
  cargo perfunit diff main --ratchet v1.2.0
                                           also detect small losses since a release
  cargo perfunit diff main --growth        detect functions that became quadratic
  cargo perfunit diff main --metric time,allocations
                                           also treat more allocations as a regression

Exit codes: 0 no regression, 100 at least one test got slower. See docs/exit-codes.md for all of them.
See docs/method.md for how it measures, and docs/limits.md for its limits.
")]
pub struct DiffArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub measuring: MeasuringArguments,

    /// Also compare with this older version, or `none`, to detect small losses that add up [default: none].
    ///
    /// Each test that changes since then can reach is compared with both versions, and fails the run if it is slower
    /// than either. `cargo perfunit ratchet set` stores the version in the project.
    #[arg(long, value_name = "REV", value_parser = Revision::read, help_heading = "Measuring")]
    pub ratchet: Option<Revision>,
    /// Also compare generated calls of changed functions that no test executes [default: never].
    ///
    /// Generated calls run in a sandbox without files, network and other processes. Slower calls do not fail the run
    /// without `--deny generated`. `cargo perfunit generate` shows the calls.
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "uncovered", help_heading = "Tests")]
    pub generated: Option<Generated>,
    /// Count how the work of functions grows with the length of their input, in an additional build of both versions.
    ///
    /// Functions with work that grows with a larger power than on base are reported: they are slow for inputs larger
    /// than those of the tests.
    #[arg(long, help_heading = "Measuring")]
    pub growth: bool,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: Format,
    /// Also write a report to a file; can be repeated.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = ReportFile::<Format>::parse, help_heading = "Output")]
    pub report: Vec<ReportFile>,
    /// What to do if there is nothing to measure [default: pass].
    #[arg(long, value_enum, value_name = "ACTION", help_heading = "Output")]
    pub no_tests: Option<NoTests>,
    /// Measure the builds of an archive from `archive`, without building.
    #[arg(long, value_name = "FILE", help_heading = "Build", hide_short_help = true)]
    pub use_archive: Option<PathBuf>,
    /// Also write the run to DIR/run.json, for `merge` and `report` elsewhere.
    #[arg(long, value_name = "DIR", help_heading = "Output", hide_short_help = true)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub reporting: ReportingArguments,
}

/// Hint for a comparison that building left no budget for.
const CONTINUE: &str = "repeat the command to continue, or first build without a budget: `cargo perfunit list` with the same versions and options";

/// A comparison and the use of its result.
pub struct DiffRequest {
    pub options: Options,
    pub output: RunOutput,
}

impl DiffArguments {
    /// Compares the versions and prints the result.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        let DiffRequest { options, output: reporting } = self.resolve()?;
        let budget = options.measuring.budget;
        if let Some(whole) = budget {
            // Builds do not check the budget.
            interrupt::stop_after(whole + output::GRACE);
        }
        let run = output::diff(&options, terminal);
        let run = run.map_err(|error| match budget.filter(|_| interrupt::by_clock()) {
            Some(whole) => output::out_of_time(whole, output::BY_BUILDING).hint(CONTINUE),
            None => error,
        })?;
        Ok(reporting.conclude(&run, terminal))
    }

    /// Resolves the typed options with the environment and the configuration.
    pub fn resolve(&self) -> Result<DiffRequest> {
        let typed = &self.measuring;
        let layer = typed.layer().or(self.reporting.layer(self.no_tests)).or(self.layer());
        let resolved = self.common.resolve(layer)?;
        let settings = &resolved.settings;
        if settings.deny.value.contains(&Deny::Growth) && !settings.growth.value {
            return Err(Error::usage("`--deny growth` requires `--growth`")
                .hint("add `--growth`, or `growth = true` to the configuration"));
        }
        if settings.deny.value.contains(&Deny::Generated) && settings.generated.value == Generated::Never {
            return Err(Error::usage("`--deny generated` requires `--generated`")
                .hint("add `--generated`, or `generated = \"uncovered\"` to the configuration"));
        }
        let output = RunOutput::new(self.message_format, &self.report, &self.reporting, self.common.verbose, settings)?;
        let options = Options {
            archive: self.use_archive.clone(),
            output: self.output.clone(),
            ratchet: ratchet_request(&settings.ratchet, resolved.accepted.as_ref())?,
            results: self.results()?,
            generated: settings.generated.value,
            growth: settings.growth.value,
            ..typed.options(&self.common, &resolved)?
        };
        Ok(DiffRequest { options, output })
    }

    fn layer(&self) -> Layer {
        Layer {
            ratchet: self.ratchet.clone().map(Sourced::from_command_line),
            generated: self.generated.map(Sourced::from_command_line),
            growth: self.growth.then(|| Sourced::from_command_line(true)),
            ..Layer::default()
        }
    }

    /// Returns the files that the command reads and writes outside the project.
    fn results(&self) -> Result<Vec<PathBuf>> {
        let folder = folder()?;
        let named = self.use_archive.iter().chain(&self.output).chain(self.report.iter().map(|report| &report.path));
        Ok(named.map(|path| folder.join(path)).collect())
    }
}
