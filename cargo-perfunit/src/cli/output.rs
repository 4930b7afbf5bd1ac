//! What becomes of a run: verdicts are printed as they are known, and the whole is printed, published, written to files, and
//! decides the exit code.

use super::arguments::{ReportingArguments, text_options};
use super::exit_code;
use super::github;
use super::report_files::{self, ReportFile};
use perfunit_model::error::{Error, ExitCode, Result};
use perfunit_model::format;
use perfunit_model::{Conclusion, Run};
use perfunit_project::config::{NoTests, Settings};
use perfunit_report as report;
use perfunit_report::live::{self, Line};
use perfunit_report::{Format, Rendering};
use perfunit_session as session;
use perfunit_session::Options;
use perfunit_system::interrupt;
use perfunit_system::term::{self, Terminal};
use std::time::Duration;

/// Compares two versions, and prints each verdict as soon as it is final.
pub fn diff(options: &Options, terminal: Terminal) -> Result<Run> {
    let glyphs = text_options(false).glyphs();
    session::diff(options, terminal, &|outcome| {
        let gates = outcome.gates.as_ref().unwrap_or(&options.measuring.gates);
        let Line { tone, word, text } = live::line(outcome, gates, glyphs);
        terminal.line(tone, word, &text);
    })
}

/// What ends by itself when the budget is used up has this long to do so: reporting, for one.
pub const GRACE: Duration = Duration::from_secs(2);

/// That the budget was used up before there was anything to report.
pub fn out_of_time(whole: Duration, how: &str) -> Error {
    Error::new(ExitCode::Inconclusive, format!("the budget of {} was used up {how}", format::seconds(whole)))
}

/// How all of the time goes into building.
pub const BY_BUILDING: &str = "by building; what was built is kept for the next time";

/// Takes it back that a run was interrupted, if that was only the clock.
pub fn not_by_clock(run: &mut Run) {
    let by_clock = interrupt::by_clock();
    run.interrupted &= !by_clock;
    let of_ratchet = run.ratchet.as_mut().map(|ratchet| &mut ratchet.comparison);
    let of_calls = run.generated.as_mut().and_then(|generated| generated.comparison.as_mut());
    for second in of_ratchet.into_iter().chain(of_calls).flatten() {
        second.interrupted &= !by_clock;
    }
}

/// What to print, where, and what to fail on.
#[derive(Debug, Clone, Default)]
pub struct RunOutput {
    /// The format on stdout.
    pub format: Format,
    /// What that leaves open.
    pub rendering: Rendering,
    /// Reports to write besides.
    pub files: Vec<ReportFile>,
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
        let mut rendering = arguments.rendering(verbose, &settings.deny.value);
        rendering.denied.nothing_measured = settings.no_tests.value == NoTests::Fail;
        Ok(Self { format, rendering, files: files.to_vec() })
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

    /// Returns the conclusion of a run.
    pub fn conclusion(&self, run: &Run) -> Conclusion {
        Conclusion::of(run, self.rendering.denied)
    }

    /// Writes the reports, and returns the exit code of the run.
    pub fn write(&self, run: &Run) -> ExitCode {
        let failed = report_files::write_all(run, &self.files, &self.rendering);
        exit_code::with_reports(self.conclusion(run).into(), failed)
    }
}
