//! `cargo perfunit calibrate`.

use super::arguments::{MessageFormat, terminal, text_options};
use crate::calibrate;
use clap::Args;
use perfunit_model::Calibration;
use perfunit_model::error::{ExitCode, Result};
use perfunit_project::config;
use perfunit_report::calibration::{self, Document};
use perfunit_system::term::{self, ColorChoice};
use std::time::Duration;

/// Arguments of `calibrate`.
#[derive(Debug, Args)]
#[command(after_long_help = "\
Examples:
  cargo perfunit calibrate             measure how often verdicts are right on this machine
  cargo perfunit calibrate --quick     get a rough result in about a minute
  cargo perfunit calibrate --compare   also evaluate other decision rules
  cargo perfunit calibrate --show      show the last result
")]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub struct CalibrateArguments {
    /// Get a rough result in about a minute, with at most 2 s per verdict.
    #[arg(long)]
    pub quick: bool,
    /// Also compare with other decision rules in the same time.
    ///
    /// Mann-Whitney, Welch's t, overlapping intervals, and means of sequential processes as in Peass.
    #[arg(long)]
    pub compare: bool,
    /// Show the last calibration of this machine without measuring.
    #[arg(long, conflicts_with_all = ["quick", "compare", "budget", "per_test_budget", "seed"])]
    pub show: bool,
    /// Approximate time for the run, including builds [default: 7m, 1m with --quick; twice as long with --compare].
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub budget: Option<Duration>,
    /// Time limit for measuring a verdict, and again for its confirmation [default: 10s as in `diff`, 2s with --quick].
    #[arg(long, value_name = "TIME", value_parser = config::duration)]
    pub per_test_budget: Option<Duration>,
    /// Seed of the random shifts of address spaces [default: random].
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Output format of the result on stdout.
    #[arg(long, alias = "format", value_enum, default_value_t, value_name = "FORMAT")]
    pub message_format: MessageFormat,
    /// Only print the result.
    #[arg(long, short)]
    pub quiet: bool,
    /// When to color the output.
    #[arg(long, value_enum, value_name = "WHEN", env = "CARGO_TERM_COLOR", default_value_t)]
    pub color: ColorChoice,
}

impl CalibrateArguments {
    /// Calibrates, or shows the last calibration.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(self.color, self.quiet);
        if self.show {
            self.print(&calibrate::load_calibration()?);
            return Ok(ExitCode::Success);
        }
        let calibration = calibrate::calibrate(&self.options(), terminal)?;
        self.print(&calibration);
        if calibration.interrupted {
            return Ok(ExitCode::Interrupted);
        }
        match calibrate::keep(calibration) {
            Ok(path) => terminal.status("Saved", &format!("this machine's profile in {}", path.display())),
            // The figures are already printed, so a failed save is only a warning.
            Err(error) => terminal.warning(&format!("the profile was not saved: {}", error.message())),
        }
        Ok(ExitCode::Success)
    }

    fn options(&self) -> calibrate::Options {
        let CalibrateArguments { quick, compare, budget, per_test_budget, seed, .. } = *self;
        // The default time of `diff` per verdict, or one that fits into a minute.
        let (whole, verdict) = if quick { (60, 2) } else { (7 * 60, 10) };
        calibrate::Options {
            quick,
            budget: budget.unwrap_or(Duration::from_secs(whole) * if compare { 2 } else { 1 }),
            verdict_budget: per_test_budget.unwrap_or(Duration::from_secs(verdict)),
            compare,
            // Short enough to type, and exact in every JSON reader.
            seed: seed.unwrap_or_else(|| fastrand::u32(..).into()),
        }
    }

    fn print(&self, calibration: &Calibration) {
        let document = Document::from(calibration);
        term::print(&match self.message_format {
            MessageFormat::Human => calibration::render(&document, &text_options(false)),
            MessageFormat::Json => calibration::json(&document),
        });
    }
}
