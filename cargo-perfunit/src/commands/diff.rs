//! `cargo perfunit diff`.

use super::gate::{Gate, exit_code};
use super::github;
use super::report_files::{self, ReportFile};
use crate::error::{ExitCode, Result};
use crate::model::Run;
use crate::report::{self, Format, Rendering};
use crate::session::{self, Options};
use crate::system::term::{self, Terminal};

/// What to print and what to fail on.
#[derive(Debug, Clone, Default)]
pub struct DiffOutput {
    /// How the run is told on stdout.
    pub format: Format,
    /// What that leaves open.
    pub rendering: Rendering,
    /// Reports to write beside it.
    pub files: Vec<ReportFile>,
    /// What to fail on.
    pub gate: Gate,
}

/// Runs the comparison and prints it.
pub fn diff(options: &Options, output: &DiffOutput, terminal: Terminal) -> Result<ExitCode> {
    report_files::check(&output.files)?;
    let run = session::diff(options, terminal)?;
    Ok(conclude(&run, output, terminal))
}

/// Prints a run, writes its reports, and says how to end.
pub(super) fn conclude(run: &Run, output: &DiffOutput, terminal: Terminal) -> ExitCode {
    term::print(&report::render(run, output.format, &output.rendering));
    // Of a shard its job need not tell twice: the merged run is told.
    if !run.is_shard() {
        github::publish(run, output.format, &output.rendering, terminal);
    }
    report_files::write_all(run, &output.files, &output.rendering, exit_code(run, output.gate))
}
