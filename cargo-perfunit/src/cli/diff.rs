//! `cargo perfunit diff`.

use super::MessageFormat;
use super::comparing::{CommonArguments, options, terminal};
use super::measuring::MeasuringArguments;
use crate::commands::{self, DiffOutput};
use crate::error::{ExitCode, Result};
use crate::pipeline::Options;
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
    pub message_format: MessageFormat,
    /// What to do when there is nothing to measure.
    #[arg(long, value_enum, default_value_t, value_name = "ACTION", help_heading = "Output")]
    pub no_tests: NoTests,
    /// Also fail (exit code 105) on tests with this verdict.
    #[arg(long, value_enum, value_name = "VERDICT", help_heading = "Output")]
    pub deny: Vec<Deny>,
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
        let output = DiffOutput {
            json: self.message_format == MessageFormat::Json,
            verbose: self.common.verbose > 0,
            fail_without_tests: self.no_tests == NoTests::Fail,
            deny_inconclusive: !self.deny.is_empty(),
        };
        commands::diff(&self.options()?, output, terminal)
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
