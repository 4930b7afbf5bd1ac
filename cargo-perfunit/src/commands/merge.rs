//! `cargo perfunit merge`.

use super::diff::{DiffOutput, conclude};
use super::written;
use crate::error::{ExitCode, Result};
use crate::pipeline::{self, MergeRequest};
use crate::term::Terminal;

/// Joins the shards of a run, and prints it as `diff` would have.
pub fn merge(request: &MergeRequest, output: &DiffOutput, terminal: Terminal) -> Result<ExitCode> {
    written::check(&output.files)?;
    let run = pipeline::merge(request)?;
    Ok(conclude(&run, output, terminal))
}
