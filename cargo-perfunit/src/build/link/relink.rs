//! The same link again, with more options: other places for the same functions.

use super::record::LinkRecord;
use crate::error::{Error, Result};
use crate::{fs, process};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;

/// Does the link again from the kept files, with `more` behind its options. In words why this linker cannot do that, or
/// that not all inputs are kept.
pub fn relink(link: &Path, output: &Path, more: &[OsString]) -> Result<std::result::Result<(), String>> {
    let record = LinkRecord::load(link)?;
    if let Some(why) = record.incomplete() {
        return Ok(Err(why.to_owned()));
    }
    if let Some(folder) = output.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut command = record.command(output);
    command.args(more).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let ended = process::spawn(&mut command)?
        .wait_with_output()
        .map_err(|error| Error::setup(format!("cannot link {} again: {error}", output.display())))?;
    if ended.status.success() {
        return Ok(Ok(()));
    }
    let message = String::from_utf8_lossy(&ended.stderr);
    let first = message.lines().find(|text| !text.trim().is_empty()).unwrap_or("no message");
    Ok(Err(format!("the linker {} refuses: {}", record.linker, first.trim())))
}
