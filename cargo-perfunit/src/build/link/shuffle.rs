//! The same executable with its functions in another order: what its place does to the time of code.

use super::record::LinkRecord;
use crate::error::{Error, Result};
use crate::{fs, process};
use std::path::Path;
use std::process::Stdio;

/// Does the link again from the kept files, with the functions in the order that `seed` draws. False if this linker
/// cannot do that (only lld can) or not all inputs are kept.
pub fn shuffled(link: &Path, seed: u32, output: &Path) -> Result<bool> {
    let record = LinkRecord::load(link)?;
    if record.incomplete().is_some() {
        return Ok(false);
    }
    if let Some(folder) = output.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut command = record.command(output);
    // 0 and 0xffffffff mean something else to lld.
    command.arg(format!("-Wl,--shuffle-sections=.text*={}", seed.clamp(1, u32::MAX - 1)));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let status = process::spawn(&mut command)?
        .wait()
        .map_err(|error| Error::setup(format!("cannot link {} again: {error}", output.display())))?;
    Ok(status.success())
}
