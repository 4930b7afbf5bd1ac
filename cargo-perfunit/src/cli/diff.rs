//! `cargo perfunit diff`.

use super::comparing::{CommonArguments, options, terminal};
use super::measuring::MeasuringArguments;
use super::report::{TellingArguments, report_file};
use crate::commands::{self, DiffOutput, Gate, ReportFile, Resolved};
use crate::error::{ExitCode, Result};
use crate::pipeline::Options;
use crate::report::Format;
use clap::{Args, ValueEnum};

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
    pub message_format: Format,
    /// Also write a report to a file; may be given several times.
    #[arg(long, value_name = "FORMAT=FILE", value_parser = report_file, help_heading = "Output")]
    pub report: Vec<ReportFile>,
    /// What to do when there is nothing to measure.
    #[arg(long, value_enum, default_value_t, value_name = "ACTION", help_heading = "Output")]
    pub no_tests: NoTests,
    #[command(flatten)]
    #[allow(missing_docs, reason = "flattened into the help text")]
    pub telling: TellingArguments,
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

impl DiffArguments {
    /// Compares and prints.
    pub fn run(&self) -> Result<ExitCode> {
        let terminal = terminal(&self.common);
        let Resolved { options, output } = self.resolve()?;
        commands::diff(&options, &output, terminal)
    }

    /// What is to be done.
    pub fn resolve(&self) -> Result<Resolved> {
        let output = DiffOutput {
            format: self.message_format,
            rendering: self.telling.rendering(self.common.verbose),
            files: self.report.clone(),
            gate: Gate {
                fail_without_tests: self.no_tests == NoTests::Fail,
                inconclusive: self.telling.inconclusive(),
            },
        };
        Ok(Resolved { options: self.options()?, output })
    }

    fn options(&self) -> Result<Options> {
        let typed = &self.measuring;
        Ok(Options {
            opaque_constants: !typed.transparent_constants,
            aligned_loops: typed.aligned_loops,
            explaining: typed.explaining(),
            ..options(&self.common, typed.measuring())?
        })
    }
}
