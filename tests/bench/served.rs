//! This executable as a process that serves a function in lockstep, with active probes.

use super::Result;
use nix::sys::memfd::{MFdFlags, memfd_create};
use perfunit_runtime::page::{ANY_CORE, MAGIC, PAGE_BYTES, Page, SERVE_VARIABLE, SideArea};
use std::fs::File;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::process::Command;

/// Makes a process serve this many batches and write a call tree to this file, which it must inherit.
pub fn run(batches: u32, tree: BorrowedFd<'_>) -> Result<()> {
    let page = shared(PAGE_BYTES)?;
    for (offset, value) in [
        (offset_of!(Page, batches), batches),
        (offset_of!(Page, turns), 1 + batches),
        (offset_of!(Page, core), ANY_CORE),
        (offset_of!(Page, sides) + offset_of!(SideArea, tree), tree.as_raw_fd() as u32),
    ] {
        page.write_all_at(&value.to_ne_bytes(), offset as u64)?;
    }
    // The schedule consists of zeros, so side 0 has all turns.
    page.write_all_at(&1_u64.to_ne_bytes(), offset_of!(Page, repetitions) as u64)?;
    page.write_all_at(&MAGIC.to_ne_bytes(), offset_of!(Page, magic) as u64)?;
    let mut command = Command::new(std::env::current_exe()?);
    let status = command.env(SERVE_VARIABLE, format!("0:{}", page.as_raw_fd())).status()?;
    if status.success() { Ok(()) } else { Err(format!("the measuring process ended with {status}").into()) }
}

/// Creates a memory file that the next process inherits.
pub fn shared(length: usize) -> Result<File> {
    let file = File::from(memfd_create(c"bench", MFdFlags::empty())?);
    file.set_len(length as u64)?;
    Ok(file)
}
