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
  cargo perfunit diff                      the working tree against upstream or default branch
  cargo perfunit diff main                 the working tree against where it left `main`
  cargo perfunit diff HEAD~1               the last commit, and what is not committed yet
  cargo perfunit diff v1.2.0..v1.3.0       two versions against each other
  cargo perfunit diff main parser::        only tests whose name contains `parser::`
  cargo perfunit diff main -E 'package(core) & test(/^long/)'
                                           tests that match this filterset, in nextest's language
  cargo perfunit diff main -p core --lib   only the unit tests of one library
  cargo perfunit diff main --budget 60s    as many tests as fit, the likeliest first
  cargo perfunit diff main --ratchet v1.2.0
                                           small losses since a release, too
  cargo perfunit diff main --growth        functions that became quadratic, on small inputs
  cargo perfunit diff main --metric time,allocations
                                           more allocations are a regression, too

Exit codes: 0 no regression, 100 at least one test got slower; the others are in docs/exit-codes.md.
docs/method.md describes how it measures, docs/limits.md what it cannot do.
")]
pub struct DiffArguments {
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub common: CommonArguments,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub measuring: MeasuringArguments,

    /// Older version to compare with as well, or `none`, so that small losses that add up are found [default: none].
    ///
    /// Each test that the changes since then can reach is compared with both versions, and fails the run if it is slower
    /// than either. `cargo perfunit ratchet set` keeps the version in the project.
    #[arg(long, value_name = "REV", value_parser = Revision::read, help_heading = "Measuring")]
    pub ratchet: Option<Revision>,
    /// Also compare calls that the tool makes up, for changed functions that no test executes [default: never].
    ///
    /// They run in a cage: without files, network and other processes. What they find does not fail the run, unless
    /// `--deny generated` says so. `cargo perfunit generate` shows them.
    #[arg(long, value_enum, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "uncovered", help_heading = "Tests")]
    pub generated: Option<Generated>,
    /// Count how the work of functions grows with the length of their input, in another build of both versions.
    ///
    /// A function whose work grows with a larger power than before is a finding beside the verdicts: it is slow on inputs
    /// larger than those of the tests.
    #[arg(long, help_heading = "Measuring")]
    pub growth: bool,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT", help_heading = "Output")]
    pub message_format: Format,
    /// Also write a report to a file; may be given several times.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = ReportFile::<Format>::parse, help_heading = "Output")]
    pub report: Vec<ReportFile>,
    /// What to do when there is nothing to measure [default: pass].
    #[arg(long, value_enum, value_name = "ACTION", help_heading = "Output")]
    pub no_tests: Option<NoTests>,
    /// Measure what `archive` has built elsewhere; nothing is built here.
    #[arg(long, value_name = "FILE", help_heading = "Build", hide_short_help = true)]
    pub use_archive: Option<PathBuf>,
    /// Write the run to DIR/run.json too, for `merge` and `report` elsewhere.
    #[arg(long, value_name = "DIR", help_heading = "Output", hide_short_help = true)]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub reporting: ReportingArguments,
}

/// What to compare, and what becomes of the run.
pub struct DiffRequest {
    pub options: Options,
    pub output: RunOutput,
}

impl DiffArguments {
    /// Compares and prints.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = self.common.terminal();
        let DiffRequest { options, output: reporting } = self.resolve()?;
        let budget = options.measuring.budget;
        if let Some(whole) = budget {
            // Builds know of no end.
            interrupt::stop_after(whole + output::GRACE);
        }
        let run = output::diff(&options, terminal);
        let run = run.map_err(|error| match budget.filter(|_| interrupt::by_clock()) {
            Some(whole) => output::out_of_time(whole, output::BY_BUILDING),
            None => error,
        })?;
        Ok(reporting.conclude(&run, terminal))
    }

    /// What was typed, with the environment and the configuration.
    pub fn resolve(&self) -> Result<DiffRequest> {
        let typed = &self.measuring;
        let layer = typed.layer().or(self.reporting.layer(self.no_tests)).or(self.layer());
        let resolved = self.common.resolved(layer)?;
        let settings = &resolved.settings;
        if settings.deny.value.contains(&Deny::Growth) && !settings.growth.value {
            return Err(Error::usage("growth is denied, and not asked for")
                .hint("add `--growth`, or `growth = true` to the configuration"));
        }
        if settings.deny.value.contains(&Deny::Generated) && settings.generated.value == Generated::Never {
            return Err(Error::usage("generated calls are denied, and not asked for")
                .hint("add `--generated`, or `generated = \"uncovered\"` to the configuration"));
        }
        let output = RunOutput::new(self.message_format, &self.report, &self.reporting, self.common.verbose, settings)?;
        let options = Options {
            archive: self.use_archive.clone(),
            output: self.output.clone(),
            ratchet: ratchet_request(&settings.ratchet, resolved.accepted.as_ref()),
            results: self.results()?,
            generated: settings.generated.value,
            growth: settings.growth.value,
            ..typed.options(&self.common, &resolved)?
        };
        Ok(DiffRequest { options, output })
    }

    fn layer(&self) -> Layer {
        Layer {
            ratchet: self.ratchet.clone().map(Sourced::typed),
            generated: self.generated.map(Sourced::typed),
            growth: self.growth.then(|| Sourced::typed(true)),
            ..Layer::default()
        }
    }

    /// What it reads and writes besides the project.
    fn results(&self) -> Result<Vec<PathBuf>> {
        let folder = folder()?;
        let named = self.use_archive.iter().chain(&self.output).chain(self.report.iter().map(|report| &report.path));
        Ok(named.map(|path| folder.join(path)).collect())
    }
}
