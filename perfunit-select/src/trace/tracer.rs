//! The thread that traces one test, and the breakpoints of its run.
//!
//! A thread of its own, because that gives the kernel three jobs: it shows this thread the events of what it traces and
//! of nothing else; it ends all of that together with this thread, daemons included; and the main thread, which must
//! be the one that starts processes, can wait with a time limit meanwhile.
//!
//! Breakpoints are planted in every process that begins to run the executable, and recognised when hit. Nothing is kept per
//! process: what a thread runs and where it is loaded is asked of the kernel, when it matters.

use super::places::{FileId, Places};
use super::ptrace::{self, Event};
use super::unseen::Unseen;
use nix::errno::Errno;
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// How the tracing of a test ended.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// The process ended before it became the test executable.
    NotStarted,
    /// The system does not let us trace it.
    Refused(Errno),
    /// It came to a breakpoint.
    Hit,
    /// It ended, without a hit, and all of its code was watched. How it ended its parent learns.
    Over,
    /// It ended, without a hit, but might have executed the functions where we could not see it.
    Unseen(Unseen),
}

/// Called in the new process, before exec: waits until it is traced. Allocates nothing.
pub fn introduce(mut line: &UnixStream) -> std::io::Result<()> {
    line.write_all(&std::process::id().to_ne_bytes())?;
    line.read_exact(&mut [0])
}

/// Traces the process that introduces itself at the other end of `line`. Leaves its end for its parent to wait for.
pub fn follow(mut line: UnixStream, breakpoints: &Breakpoints) -> End {
    let mut id = [0; 4];
    if line.read_exact(&mut id).is_err() {
        return End::NotStarted;
    }
    let test = Pid::from_raw(i32::from_ne_bytes(id));
    if let Err(errno) = nix::sys::ptrace::seize(test, ptrace::OPTIONS) {
        return End::Refused(errno);
    }
    if line.write_all(&[1]).is_err() {
        return End::NotStarted;
    }
    drop(line);
    let mut started = false;
    let mut unseen = None;
    loop {
        let (id, event) = match ptrace::wait() {
            Ok(Some(happened)) => happened,
            Ok(None) => return End::Unseen(Unseen::Lost),
            Err(errno) => return End::Unseen(Unseen::Wait(errno as i32)),
        };
        if id == test && event == Event::Ended {
            // Not taken: std waits for it itself, and insists on it if the exec failed.
            return match unseen {
                _ if !started => End::NotStarted,
                Some(why) => End::Unseen(why),
                None => End::Over,
            };
        }
        ptrace::take(id, event);
        match event {
            Event::Signal(libc::SIGTRAP) if breakpoints.hit(id) => return End::Hit,
            Event::Signal(signal) => ptrace::resume(id, signal),
            Event::Stopped => ptrace::leave_stopped(id),
            Event::Exec => {
                let seen = arm(breakpoints, id, !started);
                started = true;
                unseen = unseen.or(seen.err());
                ptrace::resume(id, 0);
            }
            Event::Other => ptrace::resume(id, 0),
            Event::Ended => {}
        }
    }
}

/// Plants the breakpoints after exec, or says why what follows is not seen; the first program must be the executable.
fn arm(breakpoints: &Breakpoints, id: Pid, first: bool) -> Result<(), Unseen> {
    match breakpoints.arm(id)? {
        Became::Sibling(path) => Err(Unseen::Starts(path)),
        Became::Other if first => Err(Unseen::OtherProgram),
        Became::Armed | Became::Other => Ok(()),
    }
}

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
