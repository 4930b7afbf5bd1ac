//! `cargo perfunit merge`.

use super::diff::{DiffOutput, conclude};
use super::report_files;
use crate::error::{ExitCode, Result};
use crate::session::{self, MergeRequest};
use crate::system::term::Terminal;

/// Joins the shards of a run, and prints it as `diff` would have.
pub fn merge(request: &MergeRequest, output: &DiffOutput, terminal: Terminal) -> Result<ExitCode> {
    report_files::check(&output.files)?;
    let run = session::merge(request)?;
    Ok(conclude(&run, output, terminal))
}
