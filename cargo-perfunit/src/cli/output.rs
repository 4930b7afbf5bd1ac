//! What becomes of a run: verdicts are printed as they are known, and the whole is printed, published, written to files, and
//! decides the exit code.

use super::arguments::{ReportingArguments, text_options};
use super::exit_code::{self, Gate};
use super::github;
use super::report_files::{self, ReportFile};
use crate::config::{NoTests, Settings};
use crate::error::{ExitCode, Result};
use crate::model::Run;
use crate::report::live::{self, Line};
use crate::report::{self, Format, Rendering};
use crate::session::{self, Options};
use crate::system::term::{self, Terminal};

/// Compares two versions, and prints each verdict as soon as it is final.
pub fn diff(options: &Options, terminal: Terminal) -> Result<Run> {
    let glyphs = text_options(false).glyphs();
    session::diff(options, terminal, &|outcome| {
        let gates = outcome.gates.as_ref().unwrap_or(&options.measuring.gates);
        let Line { tone, word, text } = live::line(outcome, gates, glyphs);
        terminal.line(tone, word, &text);
    })
}

/// What to print and what to fail on.
#[derive(Debug, Clone, Default)]
pub struct RunOutput {
    /// The format on stdout.
    pub format: Format,
    /// What that leaves open.
    pub rendering: Rendering,
    /// Reports to write besides.
    pub files: Vec<ReportFile>,
    /// What to fail on.
    pub gate: Gate,
}

impl RunOutput {
    /// As typed and configured; files that certainly cannot be written are refused before anything is measured for them.
    pub fn new(
        format: Format,
        files: &[ReportFile],
        arguments: &ReportingArguments,
        verbose: u8,
        settings: &Settings,
    ) -> Result<Self> {
        report_files::check(files)?;
        let rendering = arguments.rendering(verbose, &settings.deny.value);
        let gate = Gate { fail_without_tests: settings.no_tests.value == NoTests::Fail, denied: rendering.denied };
        Ok(Self { format, rendering, files: files.to_vec(), gate })
    }

    /// Prints and publishes a run, and ends with its exit code.
    pub fn conclude(&self, run: &Run, terminal: Terminal) -> ExitCode {
        term::print(&report::render(run, self.format, &self.rendering));
        // The job of a shard need not publish what the merged run says again.
        if !run.is_shard() {
            github::publish(run, self.format, &self.rendering, terminal);
        }
        self.write(run)
    }

    /// Writes the reports; the exit code of the run.
    pub fn write(&self, run: &Run) -> ExitCode {
        let failed = report_files::write_all(run, &self.files, &self.rendering);
        exit_code::with_reports(exit_code::of_run(run, self.gate), failed)
    }
}
