//! The breakpoints of a run: planted in every process that begins to run the executable, recognised when hit.
//!
//! Nothing is kept per process: what a thread runs and where it is loaded is asked of the kernel, when it matters.

use super::places::{FileId, Places};
use super::ptrace;
use super::unseen::Unseen;
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Key of the first instruction's address in the auxiliary vector.
const AT_ENTRY: u64 = libc::AT_ENTRY;

/// What a process became by exec.
#[derive(Debug, PartialEq, Eq)]
pub enum Became {
    /// The test executable; the breakpoints are planted.
    Armed,
    /// Another binary of the same side, whose code may have changed as well.
    Sibling(PathBuf),
    Other,
}

/// Breakpoints in one executable.
#[derive(Debug)]
pub struct Breakpoints {
    addresses: BTreeSet<u64>,
    entry: u64,
    file: FileId,
    folder: Option<PathBuf>,
}

impl Breakpoints {
    /// At these addresses, as linked.
    pub fn new(places: &Places, addresses: BTreeSet<u64>) -> Self {
        Self { addresses, entry: places.entry, file: places.file, folder: places.folder.clone() }
    }

    /// Looks at a process that stopped after exec.
    pub fn arm(&self, id: Pid) -> Result<Became, Unseen> {
        let failed = |what, error: &dyn std::fmt::Display| Unseen::Process { what, why: error.to_string() };
        let link = format!("/proc/{id}/exe");
        let file = FileId::of(Path::new(&link)).map_err(|error| failed("see the program", &error))?;
        if file != self.file {
            let path = std::fs::read_link(&link).map_err(|error| failed("see the program", &error))?;
            let sibling = self.folder.as_ref().is_some_and(|folder| path.starts_with(folder));
            return Ok(if sibling { Became::Sibling(path) } else { Became::Other });
        }
        let shift = self.shift(id).map_err(|error| failed("find the addresses", &error))?;
        for address in &self.addresses {
            ptrace::plant(id, address.wrapping_add(shift)).map_err(|error| failed("change the code", &error))?;
        }
        Ok(Became::Armed)
    }

    /// Whether a thread that is about to get SIGTRAP gets it for one of ours.
    pub fn hit(&self, id: Pid) -> bool {
        let Some(address) = ptrace::trap_address(id) else { return false };
        // After exec another program may have code at the same address.
        let same = FileId::of(Path::new(&format!("/proc/{id}/exe"))).is_ok_and(|file| file == self.file);
        same && self.shift(id).is_ok_and(|shift| self.addresses.contains(&address.wrapping_sub(shift)))
    }

    /// How far the executable is loaded from where it was linked to: nothing, or wherever the kernel put it (PIE).
    fn shift(&self, id: Pid) -> std::io::Result<u64> {
        let vector = std::fs::read(format!("/proc/{id}/auxv"))?;
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        let entry = vector.chunks_exact(16).find(|pair| word(&pair[..8]) == AT_ENTRY).map(|pair| word(&pair[8..]));
        entry.map(|entry| entry.wrapping_sub(self.entry)).ok_or_else(|| std::io::ErrorKind::NotFound.into())
    }
}
